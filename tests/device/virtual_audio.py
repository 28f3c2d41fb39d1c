"""A private PulseAudio server with a microphone and a loudspeaker, without hardware, also as root.

The microphone (`virtmic`, the default source) hears what `play` plays; the loudspeaker (`spk`, the default
sink) is recorded by `record`.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_MODULES = (
    "module-native-protocol-unix",
    "module-null-sink sink_name=mic_in rate=48000",
    "module-null-sink sink_name=spk rate=48000",
    "module-remap-source master=mic_in.monitor source_name=virtmic",
)
_START_S = 10.0


PLUGGED = ("plugged_mic", "plugged_speaker")
"""Names under which ALSA, and so PortAudio, lists devices that a test may plug into the server and pull out."""


class VirtualAudio:
    """The server. environment: variables with which a program uses it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        run, home = root / "run", root / "home"
        for folder in (run, home):
            folder.mkdir(mode=0o700)
        names = "".join(f"pcm.{name} {{ type pulse\n device {name} }}\n" for name in PLUGGED)
        (home / ".asoundrc").write_text("pcm.!default { type pulse }\nctl.!default { type pulse }\n" + names)
        self.environment: Mapping[str, str] = {**os.environ, "XDG_RUNTIME_DIR": str(run), "HOME": str(home)}
        command = ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--disallow-exit=no", "-v"]
        for module in _MODULES:
            command += ["-L", module]
        with (root / "pulse.log").open("wb") as log:
            self._server = subprocess.Popen(command, env=dict(self.environment), stdout=log, stderr=log)
        deadline = time.monotonic() + _START_S
        while self._pactl("info").returncode:
            assert self._server.poll() is None and time.monotonic() < deadline, (root / "pulse.log").read_text()
            time.sleep(0.05)
        self._pactl("set-default-source", "virtmic", check=True)
        self._pactl("set-default-sink", "spk", check=True)

    def _pactl(self, *words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["pactl", *words], env=dict(self.environment), capture_output=True, text=True, timeout=10, check=check
        )

    def load(self, *words: str) -> str:
        """Plug something in: `load("module-null-sink", "sink_name=x")`. Returns the module's number."""
        return self._pactl("load-module", *words, check=True).stdout.strip()

    def unload(self, number: str) -> None:
        """Unplug it."""
        self._pactl("unload-module", number, check=True)

    def play(self, wav: Path, sink: str = "mic_in") -> subprocess.Popen[bytes]:
        """Speak a WAV file into the microphone, or play it on another sink; returns at once."""
        return subprocess.Popen(
            ["paplay", "--latency-msec=20", f"--device={sink}", str(wav)], env=dict(self.environment)
        )

    @contextmanager
    def record(self, wav: Path, device: str = "spk.monitor") -> Iterator[None]:
        """Record what the loudspeaker plays (48 kHz, stereo, 16 bits)."""
        command = ["parecord", "--latency-msec=20", f"--device={device}", "--rate=48000", "--channels=2"]
        process = subprocess.Popen([*command, "--file-format=wav", str(wav)], env=dict(self.environment))
        deadline = time.monotonic() + 5
        while not (wav.exists() and wav.stat().st_size > 44):
            assert time.monotonic() < deadline, "parecord records nothing"
            time.sleep(0.01)
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=10)

    def stop(self) -> None:
        """End the server."""
        self._server.terminate()
        self._server.wait(timeout=10)


@contextmanager
def virtual_audio() -> Iterator[VirtualAudio]:
    """A server for a `with` block, in a folder of its own."""
    # A short path: the server's socket lies in it, and such a path has at most 107 characters.
    root = Path(tempfile.mkdtemp(prefix="kva-"))
    try:
        audio = VirtualAudio(root)
        try:
            yield audio
        finally:
            audio.stop()
    finally:
        shutil.rmtree(root, ignore_errors=True)
