"""`kazeia talk` on real models and a real sound server: it answers, it is understood, it falls silent."""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from kazeia_desktop.audio.resampler import resample
from kazeia_desktop.audio.wav import read_wav, write_wav
from kazeia_desktop.cli.word_errors import word_error_rate
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings, SttSettings
from kazeia_desktop.settings.store import SettingsStore, Value, with_value
from kazeia_desktop.stt.whisper import WhisperRecognizer
from tests.device.ear import LOUD, ear_at
from tests.device.virtual_audio import VirtualAudio
from tests.realmodels import require_model

pytestmark = pytest.mark.device

QUESTION: Final = Path("/usr/share/asterisk/sounds/fr_CA_f_June/vm-savefolder.wav")
MODELS: Final = Paths.from_environment().models_dir
START_S: Final = 120.0
TURN_S: Final = 90.0


class Talk:
    """A running `kazeia talk --json` and its events."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, name="talk-events")
        self._reader.start()
        self.events: list[dict[str, Any]] = []

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def wait(self, kind: str, timeout_s: float = TURN_S, **values: object) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                event = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"no {kind} {values} within {timeout_s} s; the last events: {self.events[-10:]}")
            assert event is not None, f"kazeia talk ended; the last events: {self.events[-10:]}"
            self.events.append(event)
            if event["event"] == kind and all(event[name] == value for name, value in values.items()):
                return event

    def end(self) -> int:
        self.process.terminate()
        code = self.process.wait(timeout=15)
        self._reader.join(5)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


@contextmanager
def talking(audio: VirtualAudio, home: Path, *words: str, **changes: Value) -> Iterator[Talk]:
    """`kazeia talk` with settings of its own and the real models."""
    with running(audio, home, ["-m", "kazeia_desktop", "talk", "--json", *words], **changes) as talk:
        yield talk


@contextmanager
def running(audio: VirtualAudio, home: Path, program: list[str], **changes: Value) -> Iterator[Talk]:
    """A Python program that tells events, with settings of its own and the real models, once it listens."""
    for name in ("whisper-base", "silero-vad", "qwen2.5-coder-0.5b", "kokoro-82m"):
        require_model(name)
    (home / "data").mkdir(parents=True)
    (home / "data" / "models").symlink_to(MODELS)
    settings = Settings()
    for key, value in {"llm__temperature": 0.0, "audio__duplex": "full", **changes}.items():
        settings = with_value(settings, key.replace("__", "."), value)
    SettingsStore(home / "config" / "settings.toml").save(settings)
    process = subprocess.Popen(
        [sys.executable, *program],
        env={**audio.environment, "KAZEIA_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    talk = Talk(process)
    try:
        talk.wait("state_changed", START_S, state="listening")
        yield talk
    finally:
        talk.end()


def understood(sound: FloatArray, rate_hz: int) -> str:
    """What Whisper hears in a recording."""
    recognizer = WhisperRecognizer(require_model("whisper-base"), SttSettings())
    try:
        return recognizer.transcribe(resample(sound, rate_hz, 16_000), 0, CancelToken()).text
    finally:
        recognizer.close()


def test_spoken_questions_get_spoken_answers(audio: VirtualAudio, tmp_path: Path) -> None:
    asked = {
        QUESTION.with_name("conf-onlyone.wav"): "Il n'y a qu'un seul participant dans cette conférence.",
        QUESTION: "Dans quel dossier souhaitez-vous conserver ce message ?",
    }
    understood_as, replies, heard = [], [], []
    with talking(audio, tmp_path / "home", "--turns", str(len(asked))) as talk:
        for question in asked:
            recording = tmp_path / f"{question.stem}-heard.wav"
            with audio.record(recording):
                audio.play(question).wait(timeout=20)
                understood_as.append(talk.wait("user_text")["text"])
                end = talk.wait("turn_ended")
                time.sleep(0.5)  # the recorder's own buffer
            assert end["reason"] == "done"
            replies.append(end["reply"])
            heard.append(understood(*read_wav(recording)))
            sys.stdout.write(f"reply {end['reply']!r}, heard {heard[-1]!r}; {end['metrics']}\n")
        talk.process.wait(timeout=15)
        assert talk.process.returncode == 0
    assert word_error_rate(list(asked.values()), understood_as) <= 0.2
    errors = word_error_rate(replies, heard)
    sys.stdout.write(f"{100 * errors:.0f} % word errors\n")
    assert errors <= 0.25


@contextmanager
def screen(size: str = "1400x1000x24") -> Iterator[str]:
    """A display of the test's own; its name."""
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-screen", "0", size, "-nolisten", "tcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert server.stdout is not None
    try:
        yield ":" + server.stdout.readline().decode().strip()
    finally:
        server.terminate()
        server.wait(timeout=10)
        server.stdout.close()


def test_the_window_answers_a_spoken_question(
    audio: VirtualAudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, picture = tmp_path / "heard.wav", tmp_path / "speaking.png"
    driver = str(Path(__file__).with_name("window_driver.py"))
    question = QUESTION.with_name("conf-onlyone.wav")
    with screen() as display:
        monkeypatch.setitem(audio.environment, "DISPLAY", display)  # type: ignore[arg-type]
        monkeypatch.setitem(audio.environment, "QT_QPA_PLATFORM", "xcb")  # type: ignore[arg-type]
        with running(audio, tmp_path / "home", [driver, str(picture)]) as window, audio.record(heard):
            audio.play(question).wait(timeout=20)
            said = window.wait("user_text")
            window.wait("picture")
            end = window.wait("turn_ended")
            time.sleep(0.5)  # the recorder's own buffer
            closing_s = time.monotonic()
            assert window.end() == 0
            closing_s = time.monotonic() - closing_s
    assert word_error_rate(["Il n'y a qu'un seul participant dans cette conférence."], [said["text"]]) <= 0.2
    assert end["reason"] == "done"
    got = understood(*read_wav(heard))
    errors = word_error_rate([end["reply"]], [got])
    sys.stdout.write(f"reply {end['reply']!r}, heard {got!r}: {100 * errors:.0f} %; closed in {closing_s:.1f} s\n")
    assert errors <= 0.25
    assert picture.stat().st_size > 10_000
    assert closing_s < 3 * 2.0


def test_speaking_over_it_silences_it(audio: VirtualAudio, tmp_path: Path) -> None:
    samples, rate_hz = read_wav(QUESTION)
    begin = int(np.flatnonzero(np.abs(samples) > LOUD)[0])
    write_wav(tmp_path / "over.wav", samples[begin:], rate_hz)
    long_answer = (
        "Récite toujours, en toutes lettres et en français, les nombres de un à cinquante, séparés par des virgules."
    )
    with (
        talking(audio, tmp_path / "home", llm__persona=long_answer) as talk,
        ear_at(audio.environment, "spk.monitor") as loudspeaker,
        ear_at(audio.environment, "mic_in.monitor") as microphone,
    ):
        audio.play(QUESTION).wait(timeout=20)
        talk.wait("state_changed", state="speaking")
        time.sleep(1.0)
        over_s = time.monotonic()
        player = audio.play(tmp_path / "over.wav")
        end = talk.wait("turn_ended", 20)
        time.sleep(1.0)
        player.wait(20)
    assert end["reason"] == "interrupted"
    assert end["reply"].endswith("…") or end["reply"] == ""
    spoke = loudspeaker.loud_samples_s(over_s - 1.0)
    first_over_s = microphone.loud_samples_s(over_s)[0]
    assert any(t < first_over_s for t in spoke), "it was not speaking any more"
    silent_after_s = max(t for t in spoke if t < first_over_s + 3.0) - first_over_s
    sys.stdout.write(f"silent {1000 * silent_after_s:.0f} ms after the first sample of speech\n")
    assert silent_after_s < 3 * 0.3  # three times what is promised: fails where it hangs, not where a machine is busy


def test_without_a_microphone_it_says_so_in_one_line(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    (home / "data" / "models").symlink_to(MODELS)
    nowhere = {
        "XDG_RUNTIME_DIR": str(tmp_path),
        "HOME": str(tmp_path),
        "KAZEIA_HOME": str(home),
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        [sys.executable, "-m", "kazeia_desktop", "talk"], env=nowhere, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("kazeia: There is no microphone")
