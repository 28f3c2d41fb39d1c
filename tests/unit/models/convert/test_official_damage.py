"""Every tensor's entry of both safetensors files altered in turn: refused by name, never a crash."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource

pytestmark = pytest.mark.unit


def alterations(header: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    """Places and bytes of the same length: another name, dtype, shape, and offsets."""
    at = header.index(f'"{name}":'.encode())
    entry = header[at : header.index(b"}", at)]
    yield at + 1, b"X"
    yield at + entry.index(b"F"), b"G"
    shape = re.search(rb'"shape":\[(\d)', entry)
    assert shape
    yield at + shape.start(1), b"8" if shape[1] != b"8" else b"7"
    offsets = re.search(rb'"data_offsets":\[(\d+),(\d+)\]', entry)
    assert offsets
    for group in (1, 2):
        digit = offsets.start(group)
        yield at + digit, b"9" if entry[digit : digit + 1] != b"9" else b"8"


@pytest.mark.parametrize("file", ["model.safetensors", "speech_tokenizer/model.safetensors"])
def test_every_entry_altered(checkpoint: Path, tmp_path: Path, file: str) -> None:
    work = tmp_path / "source"
    shutil.copytree(checkpoint, work)
    with (work / file).open("rb") as opened:
        header = opened.read(8 + int.from_bytes(opened.read(8), "little"))[:-8]
    names = [name for name in json.loads(header) if name != "__metadata__"]
    assert len(names) > 150
    refused = 0
    with (work / file).open("r+b", buffering=0) as opened:
        for index, name in enumerate(names):
            # Two of the five for each tensor: all five are met by every kind of tensor.
            for place, value in list(alterations(header, name))[index % 3 :: 3]:
                opened.seek(8 + place)
                opened.write(value)
                try:
                    source = OfficialSource(work)
                    if name.startswith("speaker_encoder."):
                        convert(source, tmp_path / "out", "q8_0")
                except ModelCorruptError as error:
                    assert "\n" not in str(error)
                    assert file in str(error)
                    refused += 1
                else:
                    # What the encoder's half of the quantizers has is never read.
                    assert ".input_proj." in name, name
                opened.seek(8 + place)
                opened.write(header[place : place + len(value)])
    assert refused > len(names)
    OfficialSource(work)
    assert not (tmp_path / "out").exists()
