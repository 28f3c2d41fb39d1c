"""What the page of models does in jobs."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kazeia_desktop.errors import ModelError
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings

if TYPE_CHECKING:
    from kazeia_desktop.models.store import ModelStore

Report = Callable[[object], None]


def store_of(paths: Paths) -> "ModelStore":
    """The models of this installation; tests bring their own."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore

    return ModelStore(paths.models_dir, Catalog.load())


def get(paths: Paths, name: str, cancel: CancelToken, report: Report) -> Path:
    """Download a model. The only use of the network. Raises KazeiaError, Cancelled; what was fetched is kept."""
    return store_of(paths).get(name, report, cancel)


def discard(paths: Paths, name: str, cancel: CancelToken) -> None:
    """Delete what a stopped download left. Raises ModelError."""
    from kazeia_desktop.models.disk import discard_partial

    discard_partial(store_of(paths).path(name), cancel)


def verify(paths: Paths, name: str, cancel: CancelToken) -> None:
    """Hash a model's files again. Raises the first ModelError that is found."""
    store = store_of(paths)
    if name in store.catalog:
        problems = store.verify(name, cancel)
        if problems:
            raise problems[0]
        return
    from kazeia_desktop.formats.voice_manifest import load_manifest
    from kazeia_desktop.models.verify import file_sha256

    folder = paths.models_dir / name
    for file, record in load_manifest(folder).files.items():
        if (found := file_sha256(folder / file, cancel)) != record.sha256:
            raise ModelError(
                "{file} of the model {name} is damaged: its sha256 is {found} instead of {expected}. Delete the model "
                "and convert it again.",
                file=file, name=name, found=found, expected=record.sha256,
            )  # fmt: skip


def delete(path: Path, cancel: CancelToken) -> None:
    """Delete a model's folder; of a GGUF file, the folder that it was taken into. Raises ModelError."""
    from kazeia_desktop.models.disk import remove_model

    remove_model(path.parent if path.is_file() else path, cancel)


def look_at(paths: Paths, path: Path) -> tuple[str, str]:
    """What a file or folder of the user's is ("llm", "voice" or "checkpoint"), and a name for it. Raises ModelError."""
    from kazeia_desktop.models.local import free_name, kind_of

    kind = kind_of(path)
    return kind, free_name(path.stem if path.is_file() else path.resolve().name, paths.models_dir)


def free_name(paths: Paths, wanted: str) -> str:
    """A name that no model has yet."""
    from kazeia_desktop.models import local

    return local.free_name(wanted, paths.models_dir)


def take_in(
    paths: Paths, settings: Settings, source: Path, kind: str, name: str, cancel: CancelToken, report: Report
) -> Path:
    """Take a model of the user's own. A language model is first tried in a process of its own.

    Raises:
        ModelError: it cannot be used, or not be taken. Cancelled: nothing is left behind.
    """
    from kazeia_desktop.models.local import import_language_model, import_voice

    if kind == "voice":
        return import_voice(source, paths.models_dir, name, report, cancel)
    from kazeia_desktop.llm.trial import try_model

    try_model(source, settings.llm, paths, cancel)
    cancel.raise_if_set()
    return import_language_model(source, paths.models_dir, name, report, cancel)


def sizes(source: Path, dtype: str, pure: bool, cancel: CancelToken) -> tuple[int, int]:
    """Bytes of a language model's file now, and with other weights. Raises ModelError, Cancelled."""
    from kazeia_desktop.models.convert.requantize import requantized_bytes

    return source.stat().st_size, requantized_bytes(source, dtype, pure=pure, cancel=cancel)


def requantize(
    paths: Paths, source: Path, name: str, dtype: str, pure: bool, cancel: CancelToken, report: Report
) -> Path:
    """Write a language model with other weights. Raises ModelError; Cancelled: nothing is left behind."""
    from kazeia_desktop.models.convert.requantize import requantize as run

    folder = paths.models_dir / name
    try:
        return run(source, folder / f"{name}.gguf", dtype, pure=pure, report=report, cancel=cancel).path
    finally:
        with contextlib.suppress(OSError):  # it is empty only where nothing was made
            folder.rmdir()


def convert(paths: Paths, source: Path, name: str, dtype: str, cancel: CancelToken, report: Report) -> Path:
    """Make Kazeia's own voice of a Qwen3-TTS folder. Raises ModelError; Cancelled: nothing is left behind."""
    from kazeia_desktop.models.convert.convert import convert as run
    from kazeia_desktop.models.convert.detect import open_source

    return run(open_source([source]), paths.models_dir / name, dtype, report=report, cancel=cancel).directory
