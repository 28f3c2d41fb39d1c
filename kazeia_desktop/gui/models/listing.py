"""Which models there are, and what each takes. Runs in jobs: it reads the disk, and never the network."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kazeia_desktop.errors import KazeiaError, ModelError
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import Value

if TYPE_CHECKING:
    from kazeia_desktop.models.catalog import ModelEntry
    from kazeia_desktop.models.store import ModelStore

Kind = Literal["stt", "llm", "voice", "vad"]
Origin = Literal["catalogue", "local", "converted"]
_CHECKPOINT = "qwen3-tts-0.6b-base"


@dataclass(frozen=True, slots=True)
class ModelItem:
    """One model.

    Attributes:
        key: its name in the catalogue; for others, the folder's name.
        origin: catalogue; local: a GGUF of the user's own; converted: Kazeia's own voice.
        path: its folder, or the GGUF file.
        source: where it is fetched from.
        size: bytes to fetch, or of a local one; None where nobody knows. about: the size is a rough one.
        used_bytes: on the disk now. partial_bytes: of a download that was stopped.
        usable: this version can run it as it is. convertible: it can be converted to Kazeia's own voice.
        used: the settings name it.
        dtype: of a converted one's weights.
        gguf: the file of a language model that is here.
        problem: why a converted one cannot be used.
    """

    key: str
    kind: Kind
    origin: Origin
    title: str
    path: Path
    licence: str = ""
    source: str = ""
    size: int | None = None
    about: bool = False
    used_bytes: int = 0
    partial_bytes: int = 0
    present: bool = False
    verified: bool = False
    usable: bool = True
    convertible: bool = False
    used: bool = False
    starter: bool = False
    recommended: bool = False
    dtype: str = ""
    problem: KazeiaError | None = None
    gguf: Path | None = None

    @property
    def settings(self) -> dict[str, Value]:
        """What is set to use it; empty where nothing is to be set."""
        match self.kind:
            case "stt":
                return {"stt.model": self.key}
            case "llm":
                return {"llm.model": self.key if self.origin == "catalogue" else str(self.path)}
            case "voice" if self.origin == "converted":
                return {"tts.engine": "qwen3", "tts.model": self.key, "tts.voice": ""}
            case "voice" if self.usable:
                return {"tts.engine": "kokoro", "tts.voice": ""}
            case _:
                return {}


@dataclass(frozen=True, slots=True)
class ModelListing:
    """Every model, by kind. free_bytes: on the disk of the models; used_bytes: of all models."""

    items: tuple[ModelItem, ...]
    models_dir: Path
    free_bytes: int
    used_bytes: int

    def item(self, key: str) -> ModelItem | None:
        """The model of that key."""
        return next((item for item in self.items if item.key == key), None)


def look_up(paths: Paths, settings: Settings) -> ModelListing:
    """The catalogue's models, those converted here, and those taken from files."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.disk import free_bytes, used_bytes
    from kazeia_desktop.models.local import local_language_models
    from kazeia_desktop.models.store import ModelStore

    catalog = Catalog.load()
    store = ModelStore(paths.models_dir, catalog)
    own, engine = _own(paths, settings)
    items = [_of_catalogue(store, entry, settings, engine) for entry in catalog]
    items += own
    for file in local_language_models(paths.models_dir, catalog):
        used = Path(settings.llm.model).expanduser() == file
        size = file.stat().st_size
        items.append(
            ModelItem(file.parent.name, "llm", "local", file.stem, file, size=size, used_bytes=size, present=True,
                      verified=True, used=used, gguf=file)
        )  # fmt: skip
    return ModelListing(tuple(items), paths.models_dir, free_bytes(paths.models_dir), used_bytes(paths.models_dir))


def _of_catalogue(store: "ModelStore", entry: "ModelEntry", settings: Settings, engine: str) -> ModelItem:
    from kazeia_desktop.models.disk import partial_bytes, used_bytes

    state, folder = store.state(entry.name), store.path(entry.name)
    sizes = [store.expected(entry.name, file.name) for file in entry.files]
    known = [size[0] for size in sizes if size is not None]
    size = sum(known) if len(known) == len(sizes) else None
    used = (
        state.present
        and {
            "stt": settings.stt.model == entry.name,
            "llm": settings.llm.model == entry.name,
            "voice": entry.usable and engine == "kokoro",
            "vad": True,
        }[entry.kind]
    )
    hub = entry.weights.hub
    gguf = next((folder / file.name for file in entry.files if file.name.endswith(".gguf")), None)
    return ModelItem(
        entry.name, entry.kind, "catalogue", entry.title, folder, entry.licence,
        f"Hugging Face, {hub.repo}" if hub is not None else f"PyPI, {', '.join(_wheels(entry))}",
        size if size is not None else entry.about_bytes, size is None, used_bytes(folder),
        0 if state.present else partial_bytes(folder), state.present, state.verified, entry.usable,
        entry.name == _CHECKPOINT, used, entry.starter, entry.recommended,
        gguf=gguf if state.present and entry.kind == "llm" else None,
    )  # fmt: skip


def _wheels(entry: "ModelEntry") -> list[str]:
    """The packages that bring the weights, once each and without their parts' numbers."""
    names = [part.wheel.partition("==")[0] for part in entry.weights.wheels]
    return list(dict.fromkeys(re.sub(r"-(part)?\d+$", "", name) for name in names))


def _own(paths: Paths, settings: Settings) -> tuple[list[ModelItem], str]:
    """Kazeia's own voices, and which engine speaks: "qwen3", or "kokoro" for any other."""
    from kazeia_desktop.formats.voice_manifest import load_manifest
    from kazeia_desktop.models.disk import used_bytes
    from kazeia_desktop.tts.voice_store import own_voice_dir, own_voice_dirs
    from kazeia_desktop.tts.voices import engine_of

    try:
        chosen = own_voice_dir(paths, settings)
    except ModelError:
        chosen = None
    speaks = chosen is not None and (
        settings.tts.engine == "qwen3" or (settings.tts.engine == "auto" and engine_of(settings.tts.voice) is None)
    )
    items = []
    for folder in own_voice_dirs(paths):
        taken = used_bytes(folder)
        used = speaks and folder == chosen
        try:
            manifest = load_manifest(folder)
        except ModelError as error:
            items.append(
                ModelItem(folder.name, "voice", "converted", folder.name, folder, used_bytes=taken, used=used,
                          usable=False, problem=error)
            )  # fmt: skip
            continue
        title, dtype = manifest.description.name, manifest.dtype
        items.append(
            ModelItem(folder.name, "voice", "converted", title, folder, size=taken, used_bytes=taken, present=True,
                      verified=True, used=used, dtype=dtype)
        )  # fmt: skip
    return items, "qwen3" if speaks else "kokoro"
