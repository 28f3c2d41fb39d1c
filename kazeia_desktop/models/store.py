"""The models on this machine: where they are, whether they can be trusted, and getting them."""

import os
from dataclasses import dataclass
from pathlib import Path

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelMissingError
from kazeia_desktop.models.catalog import Catalog, Kind, ModelEntry
from kazeia_desktop.models.fetch import Progress, ProgressCallback, Tools, cannot_write, fetch_files
from kazeia_desktop.models.hub import Hub
from kazeia_desktop.models.lock import exclusive
from kazeia_desktop.models.verify import Verifier
from kazeia_desktop.models.wheels import Pip
from kazeia_desktop.runtime.cancel import CancelToken


@dataclass(frozen=True, slots=True)
class State:
    """A model on this machine, without reading its content."""

    present: bool  # every file is there with its size
    verified: bool  # every file passed its check and was not touched since


class ModelStore:
    """Models below one folder, each in a folder of its name. Safe to use from several threads and processes.

    Nothing here uses the network but `get`.

    Args:
        models_dir: may not exist yet.
        catalog: what is known.
        tools: how `get` downloads; None for the real hub and pip.
    """

    def __init__(self, models_dir: Path, catalog: Catalog, tools: Tools | None = None) -> None:
        self._models_dir = models_dir
        self._catalog = catalog
        self._tools = tools or Tools(Hub(), Pip())
        self._verifiers = {entry.name: Verifier(entry, models_dir / entry.name) for entry in catalog}

    @property
    def models_dir(self) -> Path:
        return self._models_dir

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    def path(self, name: str) -> Path:
        """The folder of a model, there or not. Raises ModelMissingError for an unknown name."""
        return self._models_dir / self._catalog.entry(name).name

    def file(self, name: str, file: str) -> Path:
        """A file of a model, there or not. Raises ModelMissingError for an unknown model or file."""
        for known in self._catalog.entry(name).files:
            if known.name == file:
                return self._verifiers[name].path(known)
        raise ModelMissingError("The model {name} has no file {file!r}.", name=name, file=file)

    def expected(self, name: str, file: str) -> tuple[int, str] | None:
        """(bytes, sha256) that a file must have; None while a file that is not pinned was never downloaded."""
        entry = self._catalog.entry(name)
        return next((self._verifiers[name].expected(known) for known in entry.files if known.name == file), None)

    def state(self, name: str) -> State:
        """What is on disk, from sizes and the record of checks: instant."""
        entry, verifier = self._catalog.entry(name), self._verifiers[name]
        return State(
            all(verifier.is_present(file) for file in entry.files),
            all(verifier.is_verified(file) for file in entry.files),
        )

    def installed(self, kind: Kind) -> tuple[ModelEntry, ...]:
        """Models of a kind that are complete on this machine and that this version can run."""
        return tuple(entry for entry in self._catalog.of_kind(kind) if entry.usable and self.state(entry.name).present)

    def require(self, name: str, cancel: CancelToken | None = None) -> Path:
        """The folder of a model whose files are all there and right; checked now unless on record.

        A path instead of a name is the user's own model, a file or a folder, and is given back when
        it can be read.

        Raises:
            ModelMissingError, ModelCorruptError: with what to do.
            Cancelled: `cancel` was set while hashing.
        """
        if is_path(name):
            return _own(name)
        entry, verifier = self._catalog.entry(name), self._verifiers[name]
        for file in entry.files:
            if not verifier.is_verified(file):
                verifier.check(file, cancel)
        return self.path(name)

    def require_weights(self, name: str, cancel: CancelToken | None = None) -> Path:
        """As `require`, but the model's main file (its GGUF, its ONNX graph); a path stays as it is."""
        folder = self.require(name, cancel)
        return folder if is_path(name) else self._verifiers[name].path(self._catalog.entry(name).weights)

    def verify(self, name: str, cancel: CancelToken | None = None) -> list[ModelError]:
        """Hash every file again.

        Returns:
            one error for each file that is missing, damaged or unreadable; empty when all is well.
        """
        problems: list[ModelError] = []
        for file in self._catalog.entry(name).files:
            try:
                self._verifiers[name].check(file, cancel)
            except ModelError as error:
                problems.append(error)
        return problems

    def get(self, name: str, progress: ProgressCallback | None = None, cancel: CancelToken | None = None) -> Path:
        """Download what is missing or damaged of a model, and check it.

        Waits while another process downloads the same model. Files that are there are checked, not
        downloaded again.

        Args:
            progress: called a few times a second, in this thread.
            cancel: stops it; what was fetched is kept for the next call.
        Returns:
            the model's folder.
        Raises:
            DownloadError, ModelError, Cancelled.
        """
        entry, verifier = self._catalog.entry(name), self._verifiers[name]
        cancel = cancel or CancelToken()
        directory = self.path(name)
        if all(verifier.is_verified(file) for file in entry.files):
            return directory

        def waiting() -> None:
            if progress is not None:
                progress(Progress(name, "", 0, entry.bytes, None, None, waiting=True))

        try:
            directory.mkdir(parents=True, exist_ok=True)
            lock = exclusive(directory / ".lock", cancel, waiting)
            with lock:
                self._get_locked(entry, progress, cancel)
        except OSError as error:
            raise cannot_write(name, directory, error) from error
        return directory

    def _get_locked(self, entry: ModelEntry, progress: ProgressCallback | None, cancel: CancelToken) -> None:
        verifier, missing = self._verifiers[entry.name], []
        for file in entry.files:
            if verifier.is_verified(file):
                continue
            try:
                verifier.check(file, cancel)
            except ModelCorruptError:
                verifier.path(file).unlink()
                missing.append(file)
            except ModelMissingError:
                if verifier.path(file).exists():
                    # Put there by hand, and nothing known to compare with: the download checks it as what it has
                    # already fetched.
                    verifier.path(file).replace(verifier.path(file).with_name(Path(file.name).name + ".part"))
                missing.append(file)
        if missing:
            fetch_files(entry, missing, self.path(entry.name), verifier, self._tools, progress, cancel)


def is_path(name: str) -> bool:
    """Whether a model setting is a path of the user's own rather than a catalogue name."""
    return name.startswith("~") or "/" in name or os.sep in name or name.lower().endswith(".gguf")


def _own(name: str) -> Path:
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path's raises for an unknown user
    try:
        readable = path.is_dir() or (path.is_file() and os.access(path, os.R_OK))
    except (OSError, ValueError):  # a NUL character is a ValueError
        readable = False
    if not readable:
        raise ModelMissingError(
            "The model file {path} is not there or cannot be read. Check the path, or choose one of "
            "`kazeia models list`.",
            path=str(path),
        )
    return path
