"""The catalogue: which models Kazeia knows, their files, hashes and sources."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal, cast

from kazeia_desktop.errors import ModelError, ModelMissingError

Kind = Literal["stt", "vad", "llm", "voice"]
KINDS: Final = ("stt", "vad", "llm", "voice")

# What the catalogue may contain. It is ours, but its values become paths and command arguments.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_COMPONENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # device names on Windows
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_WHEEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.!+_-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a Hugging Face repository."""

    repo: str
    revision: str
    file: str


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A data file inside a wheel: the next piece of a model file."""

    wheel: str  # NAME==VERSION
    member: str  # path inside the zip
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model.

    bytes and sha256 are both given (pinned) or both None (recorded at the first download).
    """

    name: str  # relative, with "/" between folders
    bytes: int | None
    sha256: str | None
    hub: HubFile | None
    wheels: tuple[WheelPart, ...]


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model. The first file is its weights."""

    name: str
    kind: Kind
    title: str
    licence: str
    files: tuple[ModelFile, ...]
    starter: bool = False
    recommended: bool = False
    usable: bool = True  # False: known, but this version cannot run it as it comes
    about_bytes: int | None = None  # roughly, where no file's size is pinned: to be told before a download

    @property
    def pinned(self) -> bool:
        """Whether every file's hash is in the catalogue."""
        return all(file.sha256 is not None for file in self.files)

    @property
    def bytes(self) -> int | None:
        """Size of all files; None while one is not known."""
        sizes = [file.bytes for file in self.files if file.bytes is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None

    @property
    def weights(self) -> ModelFile:
        """The main file: a GGUF, an ONNX graph, Whisper's model.bin."""
        return self.files[0]


class Catalog:
    """The entries by name, in the file's order."""

    def __init__(self, entries: tuple[ModelEntry, ...]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    @classmethod
    def load(cls, path: Path | None = None) -> "Catalog":
        """Read a catalogue.

        Args:
            path: a TOML file; None for Kazeia's own.
        Raises:
            ModelError: the file is not a valid catalogue.
        """
        path = path or Path(__file__).with_name("catalog.toml")
        try:
            tree = tomllib.loads(path.read_text("utf-8"))
            if tree.get("version") != 1:
                raise ValueError(f"version {tree.get('version')!r} is not 1")
            entries = tuple(_entry(table) for table in _tables(tree, "model"))
            if len({entry.name for entry in entries}) != len(entries):
                raise ValueError("a model is listed twice")
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise ModelError(
                "The model catalogue {path} cannot be used: {reason}. Reinstall Kazeia.",
                path=str(path), reason=str(error),
            ) from error  # fmt: skip
        return cls(entries)

    def __iter__(self) -> Iterator[ModelEntry]:
        return iter(self._entries.values())

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def entry(self, name: str) -> ModelEntry:
        """The model called `name`.

        Raises:
            ModelMissingError: the catalogue does not know it.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise ModelMissingError(
                "There is no model {name!r}: `kazeia models list` shows those that Kazeia knows.", name=name
            ) from None

    def of_kind(self, kind: Kind) -> tuple[ModelEntry, ...]:
        """All models of one kind."""
        return tuple(entry for entry in self if entry.kind == kind)


def is_safe_file_name(name: str) -> bool:
    """Whether `name` is a plain relative path that stays inside its folder on every system."""
    components = name.split("/")
    return 0 < len(components) <= 4 and all(
        _COMPONENT.fullmatch(component)
        and not component.endswith((".", ".part"))
        and not _RESERVED.fullmatch(component)
        for component in components
    )


def _tables(tree: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    tables = tree.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError(f"{key} is not a list of tables")
    return tables


def _text(table: Mapping[str, object], key: str, pattern: re.Pattern[str] | None = None) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value or (pattern and not pattern.fullmatch(value)):
        raise ValueError(f"{key} = {value!r} is not valid")
    return value


def _flag(table: Mapping[str, object], key: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise ValueError(f"{key} = {value!r} is not true or false")
    return value


def _size(table: Mapping[str, object]) -> int:
    value = table.get("bytes")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**44:
        raise ValueError(f"bytes = {value!r} is not a size")
    return value


def _about(table: Mapping[str, object]) -> int | None:
    value = table.get("about_mb")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 10**7:
        raise ValueError(f"about_mb = {value!r} is not a size")
    return value * 10**6


def _only(table: Mapping[str, object], *known: str) -> None:
    unknown = set(table) - set(known)
    if unknown:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")


def _entry(table: Mapping[str, object]) -> ModelEntry:
    _only(table, "name", "kind", "title", "licence", "files", "starter", "recommended", "usable", "about_mb")
    name = _text(table, "name", _NAME)
    kind = _text(table, "kind")
    if kind not in KINDS:
        raise ValueError(f"kind = {kind!r} of {name} is not one of {', '.join(KINDS)}")
    if not is_safe_file_name(name):
        raise ValueError(f"name = {name!r} is not valid")
    files = tuple(_file(item) for item in _tables(table, "files"))
    if not files or len({file.name.lower() for file in files}) != len(files):
        raise ValueError(f"{name} has no files, or one twice")
    return ModelEntry(
        name, cast(Kind, kind), _text(table, "title"), _text(table, "licence"), files,
        _flag(table, "starter", False), _flag(table, "recommended", False), _flag(table, "usable", True),
        _about(table),
    )  # fmt: skip


def _file(table: Mapping[str, object]) -> ModelFile:
    _only(table, "name", "bytes", "sha256", "hub", "wheels")
    name = _text(table, "name")
    if not is_safe_file_name(name):
        raise ValueError(f"file name {name!r} is not a plain relative path")
    hub = _hub(table["hub"]) if "hub" in table else None
    wheels = tuple(_part(item) for item in _tables(table, "wheels"))
    if hub is None and not wheels:
        raise ValueError(f"{name} has no source")
    if "sha256" not in table and "bytes" not in table:
        if hub is None or wheels:
            raise ValueError(f"{name} has no sha256: only a file of the hub alone may come without")
        return ModelFile(name, None, None, hub, ())
    size = _size(table)
    if wheels and sum(part.bytes for part in wheels) != size:
        raise ValueError(f"the parts of {name} do not add up to {size} bytes")
    return ModelFile(name, size, _text(table, "sha256", _SHA256), hub, wheels)


def _hub(value: object) -> HubFile:
    if not isinstance(value, dict):
        raise ValueError("hub is not a table")
    _only(value, "repo", "revision", "file")
    file = _text(value, "file")
    if not is_safe_file_name(file):
        raise ValueError(f"hub file {file!r} is not valid")
    return HubFile(_text(value, "repo", _REPOSITORY), _text(value, "revision", _COMPONENT), file)


def _part(table: Mapping[str, object]) -> WheelPart:
    _only(table, "wheel", "member", "bytes", "sha256")
    member = _text(table, "member")
    if PurePosixPath(member).is_absolute() or ".." in member.split("/") or "\\" in member:
        raise ValueError(f"member {member!r} is not a path inside a wheel")
    return WheelPart(_text(table, "wheel", _WHEEL), member, _size(table), _text(table, "sha256", _SHA256))
