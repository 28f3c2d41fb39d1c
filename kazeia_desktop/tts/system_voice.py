"""The last resort: the voice that the system has, in a process of its own.

Linux: espeak-ng. Windows: System.Speech through PowerShell; written after its documentation and not
yet run on a Windows machine.
"""

import base64
import io
import os
import shutil
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import Clause, FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.phonemes import ESPEAK_VOICES, find_espeak
from kazeia_desktop.tts.process import ProgramFailed, run_program

RATE_HZ: Final = 22_050
"""espeak-ng's rate, and the one asked of Windows."""
_TIMEOUT_S: Final = 60.0
_WORDS_PER_MINUTE: Final = 165
_FRAME_S: Final = 0.5
_CULTURES: Final = {"fr": "fr-FR", "en": "en-US"}

# Values come by the environment and the text in base64: nothing that a person writes is parsed as a script.
_WINDOWS_SCRIPT: Final = """
$ErrorActionPreference = 'Stop'
Add-Type -AssemblyName System.Speech
$text = [Text.Encoding]::UTF8.GetString([Convert]::FromBase64String([Console]::In.ReadToEnd().Trim()))
$voice = New-Object System.Speech.Synthesis.SpeechSynthesizer
$culture = [Globalization.CultureInfo]::GetCultureInfo($env:KAZEIA_SPOKEN_CULTURE)
try { $voice.SelectVoiceByHints('NotSet', 'NotSet', 0, $culture) } catch { }
$voice.Rate = [int]$env:KAZEIA_SPOKEN_RATE
$format = New-Object System.Speech.AudioFormat.SpeechAudioFormatInfo(22050, 'Sixteen', 'Mono')
$voice.SetOutputToWaveFile($env:KAZEIA_SPOKEN_FILE, $format)
$voice.Speak($text)
$voice.Dispose()
"""


class SystemVoice:
    """SpeechSynthesizer on espeak-ng (Linux) or Windows' own voices.

    Raises:
        InferenceError: the system has none.
    """

    sample_rate_hz = RATE_HZ
    figures = None

    def __init__(self, settings: TtsSettings) -> None:
        self._settings = settings
        self._program = find_system_voice()
        if self._program is None:
            raise InferenceError("This system has no voice: run `sudo apt install espeak-ng`.")

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
        """See SpeechSynthesizer. The program renders the clause far faster than it is heard."""
        if clause.spoken.strip():
            sound = self._speak(clause.spoken, cancel)
            if sound is None:
                return
            step = int(_FRAME_S * RATE_HZ)
            for at in range(0, len(sound), step):
                if cancel.is_set():
                    return
                yield SpeechFrame(clause.turn_id, clause.index, sound[at : at + step], RATE_HZ)
        if not cancel.is_set():
            yield SpeechFrame(clause.turn_id, clause.index, np.zeros(0, np.float32), RATE_HZ, end_of_clause=True)

    def _speak(self, text: str, cancel: CancelToken) -> FloatArray | None:
        """(n,) sound at 22.05 kHz, or None when cancelled."""
        settings = self._settings
        try:
            wav = (self._windows if sys.platform == "win32" else self._espeak)(text, settings, cancel)
            return None if wav is None else _samples(wav)
        except (ProgramFailed, OSError, ValueError) as error:
            raise InferenceError("The system's voice failed ({reason}).", reason=str(error)[:120]) from error

    def _espeak(self, text: str, settings: TtsSettings, cancel: CancelToken) -> bytes | None:
        speed = str(round(_WORDS_PER_MINUTE * settings.speed))
        command = [str(self._program), "-v", ESPEAK_VOICES[settings.language], "-s", speed, "-b", "1", "--stdout"]
        return run_program([*command, "--stdin"], text.replace("[[", " ").encode(), cancel, _TIMEOUT_S)

    def _windows(self, text: str, settings: TtsSettings, cancel: CancelToken) -> bytes | None:
        with tempfile.TemporaryDirectory(prefix="kazeia-") as folder:
            target = Path(folder) / "spoken.wav"
            environment = os.environ | {
                "KAZEIA_SPOKEN_FILE": str(target),
                "KAZEIA_SPOKEN_RATE": str(max(-10, min(10, round(10 * (settings.speed - 1))))),
                "KAZEIA_SPOKEN_CULTURE": _CULTURES[settings.language],
            }
            script = base64.b64encode(_WINDOWS_SCRIPT.encode("utf-16-le")).decode("ascii")
            command = [str(self._program), "-NoProfile", "-NonInteractive", "-EncodedCommand", script]
            done = run_program(command, base64.b64encode(text.encode()), cancel, _TIMEOUT_S, environment)
            return None if done is None else target.read_bytes()


def find_system_voice() -> str | None:
    """The program that speaks, or None where there is none."""
    return shutil.which("powershell") if sys.platform == "win32" else find_espeak()


def _samples(wav: bytes) -> FloatArray:
    """(n,) float32 of a 16-bit mono WAV at 22.05 kHz; a program that writes to a pipe leaves the lengths open.

    Raises:
        ValueError: something else.
    """
    file = io.BytesIO(wav)
    head = file.read(12)
    if head[:4] != b"RIFF" or head[8:] != b"WAVE":
        raise ValueError("its sound is not a WAV file")
    while len(head := file.read(8)) == 8:
        name, length = struct.unpack("<4sI", head)
        if name == b"data":
            pcm = wav[file.tell() : file.tell() + length]
            return np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2").astype(np.float32) / np.float32(32768.0)
        form = file.read(length + (length & 1))
        if name == b"fmt " and struct.unpack("<HHIIHH", form[:16])[:3] != (1, 1, RATE_HZ):
            raise ValueError("its sound is not mono at 22050 Hz")
    raise ValueError("its sound is missing")
