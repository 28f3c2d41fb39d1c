"""Which voices there are, and whether their files are what they should be."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.errors import ModelCorruptError, SettingsError
from kazeia_desktop.frames import FloatArray

STYLES: Final = 510
STYLE_WIDTH: Final = 256
"""A Kokoro voice: a style of 256 numbers for each length of text, 0 to 509 phonemes."""
_LONGEST_STYLE_VALUE: Final = 100.0
"""Real ones stay below 3; far beyond, the bytes are not a voice."""
_VOCABULARY_FILE: Final = "kokoro_vocab.json"
_N_EMBEDDINGS: Final = 178
"""Rows of Kokoro's phoneme table: a larger id would read outside it."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice that can be chosen.

    language: the one it was recorded in. languages: those it speaks, that one first; in another it keeps
    an accent. engine: "kokoro" or "system".
    """

    name: str
    engine: str
    language: str
    languages: tuple[str, ...]
    licence: str
    source: str


DEFAULT_VOICE: Final = "ff_siwis"
"""Of the light voice."""
SYSTEM_VOICE: Final = "espeak-ng"

BUILT_IN: Final = (
    Voice(DEFAULT_VOICE, "kokoro", "fr", ("fr", "en"), "Apache-2.0, CC BY", "Kokoro-82M; speaker of the SIWIS corpus"),
    Voice(SYSTEM_VOICE, "system", "fr", ("fr", "en"), "GPL-3.0", "the system's voice, as a last resort"),
)


def engine_of(name: str) -> str | None:
    """The engine of a built-in voice, or None for a name that is not one."""
    return next((voice.engine for voice in BUILT_IN if voice.name == name), None)


def voice_file(folder: Path, voice: Voice) -> Path | None:
    """Where the voice's own file is; None for one that has none."""
    return folder / f"{voice.name}.bin" if voice.engine == "kokoro" else None


def load_style(folder: Path, name: str) -> FloatArray:
    """The style table of a Kokoro voice.

    Returns:
        (510, 256) float32.
    Raises:
        SettingsError: there is no such voice; says which there are.
        ModelCorruptError: the file has another size, or holds values that are no style.
    """
    path = folder / f"{name}.bin"
    there = sorted(file.stem for file in folder.glob("*.bin"))
    if name not in there:
        raise SettingsError("There is no voice {name!r}: choose {there}.", name=name, there=", ".join(there) or "-")
    damaged = ModelCorruptError("The voice file {file} is damaged: install Kazeia again.", file=str(path))
    try:
        if path.stat().st_size != STYLES * STYLE_WIDTH * 4:
            raise damaged
        style = np.fromfile(path, "<f4").astype(np.float32, copy=False)
    except OSError as error:
        raise damaged from error
    if style.size != STYLES * STYLE_WIDTH or not np.isfinite(style).all():
        raise damaged
    if float(np.abs(style).max()) > _LONGEST_STYLE_VALUE:
        raise damaged
    return style.reshape(STYLES, STYLE_WIDTH)


def load_phoneme_ids(folder: Path) -> dict[str, int]:
    """Phoneme symbol (one character) -> id of Kokoro, 1 to 177.

    Raises:
        ModelCorruptError: the table is missing or damaged.
    """
    path = folder / _VOCABULARY_FILE
    damaged = ModelCorruptError("The voice file {file} is damaged: install Kazeia again.", file=str(path))
    try:
        table = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise damaged from error
    if not isinstance(table, dict) or not table:
        raise damaged
    for symbol, number in table.items():
        if len(symbol) != 1 or type(number) is not int or not 0 < number < _N_EMBEDDINGS:
            raise damaged
    return table
