"""The sounds of a text, from espeak-ng in a process of its own (GPL: never linked)."""

import re
import shutil
import subprocess
from typing import Final

from kazeia_desktop.errors import InferenceError

_VOICES: Final = {"fr": "fr-fr", "en": "en-us"}
_TIMEOUT_S: Final = 10.0
_MARKS: Final = re.compile(r"([,.;:!?…—]+)")
_LANGUAGE_SWITCH: Final = re.compile(r"\([a-z-]{2,8}\)")  # "(en)" around words that espeak takes for English


def espeak() -> str:
    """Path of espeak-ng.

    Raises:
        InferenceError: it is not installed.
    """
    found = shutil.which("espeak-ng")
    if found is None:
        raise InferenceError("espeak-ng is missing, which Kazeia's voice needs: install the package espeak-ng.")
    return found


def phonemes(text: str, language: str) -> str:
    """IPA of a text, with its punctuation, on which the voice's melody depends.

    Args:
        text: as spoken: letters and punctuation.
        language: "fr" or "en".
    Raises:
        InferenceError: espeak-ng is missing or fails.
    """
    pieces = [piece.strip() for piece in _MARKS.split(text)]
    words = [piece for piece in pieces if piece and not _MARKS.fullmatch(piece)]
    if not words:
        return ""
    spoken = iter(_run(words, language))
    said = "".join(piece[0] + " " if _MARKS.fullmatch(piece) else " " + next(spoken) for piece in pieces if piece)
    return re.sub(r"\s+", " ", re.sub(r"\s+(?=[,.;:!?…—])", "", said)).strip()


def _run(pieces: list[str], language: str) -> list[str]:
    """IPA of each piece. One line a piece in, one line a piece out: one process for all."""
    command = [espeak(), "-v", _VOICES[language], "--ipa", "-q"]
    try:
        done = subprocess.run(
            command, input="\n".join(pieces) + "\n", capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InferenceError("espeak-ng failed ({reason}): install it again.", reason=str(error)[:120]) from error
    lines = [_LANGUAGE_SWITCH.sub("", line).strip() for line in done.stdout.splitlines() if line.strip()]
    if len(lines) == len(pieces):
        return lines
    # A piece gave several lines or none (a lone sign): one process each keeps them apart.
    if len(pieces) == 1:
        return [" ".join(lines)]
    return [_run([piece], language)[0] for piece in pieces]
