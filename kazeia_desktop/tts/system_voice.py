"""The last resort: the voice that the system has, in a process of its own."""

import shutil
import subprocess
import sys
import tempfile
import time
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import Clause, FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings

_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.01
_WORDS_PER_MINUTE: Final = 165
_WINDOWS_SCRIPT: Final = (
    "Add-Type -AssemblyName System.Speech;"
    "$v=New-Object System.Speech.Synthesis.SpeechSynthesizer;"
    "$v.SetOutputToWaveFile($args[0]);$v.Rate=[int]$args[1];"
    "$v.SelectVoiceByHints('NotSet','NotSet',0,[Globalization.CultureInfo]$args[2]);"
    "$v.Speak([Console]::In.ReadToEnd());$v.Dispose()"
)


class SystemVoice:
    """SpeechSynthesizer on espeak-ng (Linux) or Windows' own voices.

    Raises:
        InferenceError: the system has none.
    """

    sample_rate_hz = 22_050

    def __init__(self, settings: TtsSettings) -> None:
        self._settings = settings
        self._program = shutil.which("powershell" if sys.platform == "win32" else "espeak-ng")
        if self._program is None:
            raise InferenceError("The system has no voice: install the package espeak-ng.")

    @property
    def name(self) -> str:
        """See SpeechSynthesizer."""
        return "Windows" if sys.platform == "win32" else "espeak-ng"

    def apply(self, settings: TtsSettings) -> None:
        """See SpeechSynthesizer."""
        self._settings = settings

    def close(self) -> None:
        """Nothing is held between clauses."""

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        """See SpeechSynthesizer. The whole clause is one frame."""
        if clause.spoken:
            sound = self._speak(clause.spoken, cancel)
            if sound is None:
                return
            yield SpeechFrame(clause.turn_id, clause.index, sound, self.sample_rate_hz)
        if not cancel.is_set():
            empty = np.zeros(0, np.float32)
            yield SpeechFrame(clause.turn_id, clause.index, empty, self.sample_rate_hz, end_of_clause=True)

    def _command(self, target: Path) -> list[str]:
        assert self._program is not None
        speed, language = self._settings.speed, self._settings.language
        if sys.platform == "win32":
            rate = str(round(10 * (speed - 1)))
            culture = {"fr": "fr-FR", "en": "en-US"}[language]
            return [self._program, "-NoProfile", "-Command", f"& {{{_WINDOWS_SCRIPT}}}", str(target), rate, culture]
        voice = {"fr": "fr-fr", "en": "en-us"}[language]
        return [self._program, "-v", voice, "-s", str(round(_WORDS_PER_MINUTE * speed)), "-w", str(target), "--stdin"]

    def _speak(self, text: str, cancel: CancelToken) -> FloatArray | None:
        """The sound at 22.05 kHz, or None when cancelled: the process is then killed."""
        with tempfile.TemporaryDirectory(prefix="kazeia-") as folder:
            target = Path(folder) / "said.wav"
            try:
                process = subprocess.Popen(
                    self._command(target), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            except OSError as error:
                raise InferenceError("The system's voice failed ({reason}).", reason=str(error)) from error
            with process:
                assert process.stdin is not None
                process.stdin.write(text.encode("utf-8"))
                process.stdin.close()
                deadline = time.monotonic() + _TIMEOUT_S
                while process.poll() is None:
                    if cancel.wait(_POLL_S) or time.monotonic() > deadline:
                        process.kill()
            if cancel.is_set():
                return None
            return self._read(target, process.returncode)

    def _read(self, target: Path, code: int) -> FloatArray:
        try:
            with wave.open(str(target), "rb") as wav:
                pcm = np.frombuffer(wav.readframes(wav.getnframes()), "<i2")
                rate_hz = wav.getframerate()
        except (OSError, EOFError, wave.Error) as error:
            raise InferenceError("The system's voice failed ({reason}).", reason=f"exit {code}") from error
        self.sample_rate_hz = rate_hz
        return pcm.astype(np.float32) / 32768.0
