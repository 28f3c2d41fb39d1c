"""Which voices there are, and whether their files are what they should be."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.errors import ModelCorruptError, ModelMissingError
from kazeia_desktop.frames import FloatArray

STYLES: Final = 510
STYLE_WIDTH: Final = 256
"""A Kokoro voice: a style of 256 numbers for each length of text, 0 to 509 phonemes."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice that can be chosen. language: the one it was recorded in."""

    name: str
    engine: str
    language: str
    licence: str
    source: str


BUILT_IN: Final = (
    Voice("ff_siwis", "kokoro", "fr", "Apache-2.0, CC BY", "Kokoro-82M; speaker of the SIWIS corpus"),
    Voice("espeak-ng", "system", "fr", "GPL-3.0", "the system's voice, as a last resort"),
)


def load_style(folder: Path, name: str) -> FloatArray:
    """The style table of a Kokoro voice.

    Returns:
        (510, 256) float32.
    Raises:
        ModelMissingError: there is no such voice; says which there are.
        ModelCorruptError: the file has another size, or holds values that are not numbers.
    """
    path = folder / f"{name}.bin"
    there = sorted(file.stem for file in folder.glob("*.bin"))
    if name not in there:
        raise ModelMissingError("There is no voice {name!r}: choose {there}.", name=name, there=", ".join(there))
    style = np.fromfile(path, np.float32)
    if style.size != STYLES * STYLE_WIDTH or not np.isfinite(style).all():
        raise ModelCorruptError("The voice file {file} is damaged: install Kazeia again.", file=str(path))
    return style.reshape(STYLES, STYLE_WIDTH)


def load_phoneme_ids(folder: Path) -> dict[str, int]:
    """Phoneme symbol -> id of Kokoro.

    Raises:
        ModelCorruptError: the table is missing or damaged.
    """
    path = folder / "kokoro_vocab.json"
    try:
        table = json.loads(path.read_bytes())
        return {str(symbol): int(number) for symbol, number in table.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ModelCorruptError("The voice file {file} is damaged: install Kazeia again.", file=str(path)) from error
