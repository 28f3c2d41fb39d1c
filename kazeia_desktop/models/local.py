"""Models of the user's own, taken into the models' folder: whole or not at all."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.formats import voice_manifest
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.convert.staging import Meter, staged
from kazeia_desktop.models.fetch import ProgressCallback
from kazeia_desktop.models.verify import CHUNK, file_sha256
from kazeia_desktop.runtime.cancel import CancelToken

Kind = Literal["llm", "voice", "checkpoint"]
_LONGEST: Final = 60


def kind_of(path: Path) -> Kind:
    """What a file or folder is: a language model (GGUF), a converted voice, or Qwen3-TTS to be converted.

    Raises:
        ModelMissingError: it is not there. ModelIncompatibleError: it is none of these.
    """
    from kazeia_desktop.models.convert.requantize import is_language_model  # imports onnx; a list needs none of it

    if not path.exists():
        raise ModelMissingError("There is no {path}.", path=str(path))
    if path.is_file():
        if is_language_model(path):
            return "llm"
    elif (path / voice_manifest.FILE).is_file():
        return "voice"
    elif (path / "config.json").is_file() or len(list(path.glob("*.gguf"))) == 2:
        return "checkpoint"
    raise ModelIncompatibleError(
        "{path} is no model that Kazeia can use: choose a GGUF file of a language model, a converted voice, or the "
        "folder of Qwen3-TTS.",
        path=str(path),
    )


def free_name(wanted: str, models_dir: Path) -> str:
    """A name for a new folder of the models: `wanted` with plain letters, and a number where it is taken."""
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted).strip("-.")[:_LONGEST] or "model"
    name, number = clean, 1
    while (models_dir / name).exists():
        number += 1
        name = f"{clean}-{number}"
    return name


def import_language_model(
    source: Path, models_dir: Path, name: str, report: ProgressCallback | None, cancel: CancelToken
) -> Path:
    """Take a GGUF file into `models_dir/name`; on the same disk it takes no more space.

    Returns:
        the file in its new place.
    Raises:
        ModelError: it cannot be read, there is no space, or the disk refuses.
        Cancelled: nothing is left behind.
    """
    size = _size(source)
    with staged(models_dir / name, size) as folder:
        _bring(source, folder / source.name, Meter(name, size, report), cancel)
    return models_dir / name / source.name


def import_voice(
    source: Path, models_dir: Path, name: str, report: ProgressCallback | None, cancel: CancelToken
) -> Path:
    """Take a converted voice into `models_dir/name`, every file checked against its manifest.

    Returns:
        the new folder.
    Raises:
        ModelError: a file is missing or damaged, there is no space, or the disk refuses.
        Cancelled: nothing is left behind.
    """
    manifest = voice_manifest.load_manifest(source)
    total = sum(file.bytes for file in manifest.files.values())
    meter = Meter(name, total, report)
    with staged(models_dir / name, total) as folder:
        for file, record in manifest.files.items():
            meter.file = file
            _bring(source / file, folder / file, meter, cancel)
            if (found := file_sha256(folder / file, cancel)) != record.sha256:
                raise ModelCorruptError(
                    "{file} of the voice model {name} is damaged: its sha256 is {found} instead of {expected}.",
                    file=file, name=manifest.description.name, found=found, expected=record.sha256,
                )  # fmt: skip
        shutil.copyfile(source / voice_manifest.FILE, folder / voice_manifest.FILE)
    return models_dir / name


def local_language_models(models_dir: Path, catalog: Catalog) -> Iterator[Path]:
    """The GGUF files that were taken in, by folder."""
    try:
        folders = sorted(path for path in models_dir.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:
        return
    for folder in folders:
        if folder.name not in catalog and not (folder / voice_manifest.FILE).exists():
            yield from sorted(folder.glob("*.gguf"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error


def _bring(source: Path, target: Path, meter: Meter, cancel: CancelToken, link: Callable[..., None] = os.link) -> None:
    """A hard link where both are on one disk, else a copy."""
    cancel.raise_if_set()
    try:
        link(source.resolve(), target)
    except OSError:
        pass
    else:
        meter.add(_size(target))
        return
    try:
        with source.open("rb") as reading, target.open("wb") as writing:
            while block := reading.read(CHUNK):
                cancel.raise_if_set()
                writing.write(block)
                meter.add(len(block))
    except OSError as error:
        if not os.access(source, os.R_OK):
            raise _unreadable(source, error) from error
        raise  # told by `staged`


def _unreadable(path: Path, error: OSError) -> ModelError:
    return ModelError(
        "The model file {path} cannot be read ({reason}). Check its permissions.",
        path=str(path),
        reason=error.strerror or str(error),
    )
