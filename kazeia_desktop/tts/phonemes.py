"""The sounds of a text, from espeak-ng in a process of its own (GPL: never linked).

Kokoro was trained on espeak's IPA with the signs of the text kept and with the affricates and the
English diphthongs as one symbol each; the same is done here.
Source: misaki 0.9, espeak.py (Apache-2.0), described, not copied.
"""

import os
import re
import shutil
import sys
import unicodedata
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.process import ProgramFailed, run_program

ESPEAK_VOICES: Final = {"fr": "fr-fr", "en": "en-us"}
TIMEOUT_S: Final = 20.0

_MARK: Final = re.compile(r"\s*([,.;:!?…]+)(?=\s|$)|\s*(—)")  # not the point of 3.14 nor the colon of 14:30
_TIE: Final = "^"
_LANGUAGE_SWITCH: Final = re.compile(r"\([a-z^-]{2,16}\)")  # "(en)" around words that espeak takes for English
_NOT_TEXT: Final = re.compile(r"[\[\]{}()<>«»“”\"^_*~|\\\x00-\x1f\x7f]")  # [[...]] would be espeak's own phonemes
_ONE_SYMBOL: Final = (
    ("a^ɪ", "I"), ("a^ʊ", "W"), ("d^z", "ʣ"), ("d^ʒ", "ʤ"), ("e^ɪ", "A"), ("o^ʊ", "O"), ("ə^ʊ", "Q"),
    ("t^s", "ʦ"), ("t^ʃ", "ʧ"), ("ɔ^ɪ", "Y"),
)  # fmt: skip
_ENGLISH: Final = (
    ("ə^l", "ᵊl"), ("ʔ", "t"), ("ɚ", "əɹ"), ("ɜːɹ", "ɜɹ"), ("ɜː", "ɜɹ"), ("ɪə", "iə"), ("ɐ", "ə"), ("r", "ɹ"),
    ("x", "k"), ("ç", "k"), ("ɬ", "l"), ("ː", ""),
)  # fmt: skip


def find_espeak() -> str | None:
    """Path of espeak-ng, or None where it is not installed."""
    found = shutil.which("espeak-ng")
    if found is None and sys.platform == "win32":  # its installer does not touch the PATH
        there = Path(os.environ.get("PROGRAMFILES", r"C:\Program Files"), "eSpeak NG", "espeak-ng.exe")
        return str(there) if there.is_file() else None
    return found


def espeak() -> str:
    """Path of espeak-ng.

    Raises:
        InferenceError: it is not installed.
    """
    found = find_espeak()
    if found is None:
        raise InferenceError("Kazeia's voice needs espeak-ng, which is missing: run `sudo apt install espeak-ng`.")
    return found


def phonemes(text: str, language: str, cancel: CancelToken | None = None) -> str:
    """IPA of a text in Kokoro's symbols, with its punctuation, on which the voice's melody depends.

    espeak drops punctuation, so it gets the text between the signs, a line each, in one process.

    Args:
        text: as spoken: letters and punctuation; scripts other than Latin and Greek are left out.
        language: "fr" or "en".
    Returns:
        For example "bɔ̃ʒˈuʁ, ʒə mapˈɛl kazɛˈa."; empty when there is nothing to say, or when cancelled.
    Raises:
        InferenceError: espeak-ng is missing or fails.
    """
    parts: list[tuple[str, str]] = []  # words and the sign behind them
    at = 0
    text = _readable(text)
    for found in _MARK.finditer(text):
        parts.append((text[at : found.start()].strip(), _one_mark(found[1] or found[2])))
        at = found.end()
    parts.append((text[at:].strip(), ""))
    words = [word for word, _ in parts if any(c.isalnum() for c in word)]
    if not words:
        return ""
    spoken = iter(_ipa(words, language, cancel or CancelToken()))
    said = ""
    for word, mark in parts:
        if any(c.isalnum() for c in word):
            ipa = next(spoken, "")
            said += f" {ipa}" if said else ipa
        if said and said[-1] not in ",.;:!?…—":
            said += mark
    return said


def _readable(text: str) -> str:
    """Letters, digits and signs that espeak reads as words: it would spell out "Chinese letter" otherwise."""
    kept = (c if _is_readable(c) else " " for c in unicodedata.normalize("NFC", _NOT_TEXT.sub(" ", text)))
    return " ".join("".join(kept).split())


def _is_readable(c: str) -> bool:
    if c.isascii() or not c.isalnum():
        return unicodedata.category(c)[0] in "LNPSZM"
    return unicodedata.name(c, "").startswith(("LATIN", "GREEK", "SUPERSCRIPT", "VULGAR", "FEMININE", "MASCULINE"))


def _one_mark(marks: str) -> str:
    """The sign that decides the melody of several: "?!" asks, "..." hesitates."""
    for mark in "?!…":
        if mark in marks:
            return mark
    return "…" if ".." in marks else marks[-1]


def _ipa(pieces: list[str], language: str, cancel: CancelToken) -> list[str]:
    """IPA of each piece, one process for all. Nothing when cancelled."""
    command = [espeak(), "-v", ESPEAK_VOICES[language], "--ipa", f"--tie={_TIE}", "-q", "-b", "1"]
    try:
        out = run_program(command, ("\n".join(pieces) + "\n").encode(), cancel, TIMEOUT_S)
    except ProgramFailed as error:
        raise InferenceError("espeak-ng failed ({reason}): install it again.", reason=str(error)) from error
    if out is None:
        return []
    lines = [line for line in out.decode("utf-8", "replace").splitlines() if line.strip()]
    if len(lines) == len(pieces):
        return [_kokoro_symbols(line, language) for line in lines]
    if len(pieces) == 1:
        return [_kokoro_symbols(" ".join(lines), language)]
    # A piece gave several lines or none: one process each keeps them apart.
    return [ipa for piece in pieces for ipa in _ipa([piece], language, cancel)]


def _kokoro_symbols(ipa: str, language: str) -> str:
    ipa = _LANGUAGE_SWITCH.sub("", ipa)
    for old, new in (*_ONE_SYMBOL, *(_ENGLISH if language == "en" else ())):
        ipa = ipa.replace(old, new)
    return " ".join(ipa.replace(_TIE, "").replace("-", "").split())
