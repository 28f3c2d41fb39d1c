"""How long Kazeia's process is still there after it was asked to end, in each state: real processes and models."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest.mock import patch

from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.single_instance import Place
from kazeia_desktop.runtime.single_instance import ask as request
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import SettingsStore, Value, with_value
from tests.device.virtual_audio import VirtualAudio

DRIVER: Final = Path(__file__).with_name("ending_driver.py")
WAYS: Final = ("quit", "terminate", "close")
_THERE_S: Final = 120.0
_GONE_S: Final = 30.0


@dataclass(frozen=True)
class Ended:
    """seconds: from the request until the process was gone; code: its exit code; left: its children then."""

    seconds: float
    code: int
    left: tuple[int, ...]


def prepare(home: Path, models: Path) -> None:
    """A home with the real models and with settings under which a small model answers at once."""
    (home / "data" / "models").mkdir(parents=True)
    (home / "config").mkdir()
    for model in models.iterdir():
        (home / "data" / "models" / model.name).symlink_to(model.resolve())
    settings = Settings()
    values: dict[str, Value] = {"llm.threads": 1, "llm.model": "smollm2-135m", "privacy.keep_conversations": True}
    for key, value in values.items():
        settings = with_value(settings, key, value)
    SettingsStore(home / "config" / "settings.toml").save(settings)


def end(state: str, way: str, home: Path, audio: VirtualAudio, said: Path | None = None) -> Ended:
    """Start Kazeia, wait for the state, ask it to end in a way of WAYS, and wait until it is gone.

    Args:
        said: played into the microphone for the state "hearing".
    """
    environment = {**audio.environment, "KAZEIA_HOME": str(home)}
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, str(DRIVER), state], env=environment, stdin=pipe, stdout=pipe)
    player = None
    try:
        assert process.stdout is not None and process.stdin is not None
        deadline = time.monotonic() + _THERE_S
        for line in process.stdout:
            if line == b"there\n":
                break
            if line == b"listens\n" and said is not None and player is None:
                player = audio.play(said)
            assert time.monotonic() < deadline, f"{state} is not reached"
        else:
            raise AssertionError(f"it ended before {state} was reached: {process.wait(10)}")
        children = children_of(process.pid)
        began_s = ask(process, way, environment)
        code = process.wait(_GONE_S)
        took_s = time.monotonic() - began_s
        return Ended(took_s, code, tuple(child for child in children if not ends(child)))
    finally:
        for one in (process, player):
            if one is not None and one.poll() is None:
                one.kill()
                one.wait(10)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def ask(process: "subprocess.Popen[bytes]", way: str, environment: Mapping[str, str]) -> float:
    """Ask it to end. Returns when that was."""
    began_s = time.monotonic()
    match way:
        case "terminate":
            process.send_signal(signal.SIGTERM)
        case "close":
            assert process.stdin is not None
            os.write(process.stdin.fileno(), b"close\n")
        case _:
            with patch.dict(os.environ, environment):
                request(Place.of(Paths.from_environment()), "quit")  # what `kazeia quit` does
    return began_s


def ends(pid: int) -> bool:
    """Whether a process is gone, within a second: one that was killed takes a moment."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 1.0)[0])
    finally:
        os.close(handle)


def children_of(pid: int) -> list[int]:
    """All below a process, by number."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # the thread ended just now
            for child in (task / "children").read_text().split():
                found += [int(child), *children_of(int(child))]
    return found


@contextmanager
def busy(n: int) -> Iterator[None]:
    """So many processes that only compute, beside."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait(10)
