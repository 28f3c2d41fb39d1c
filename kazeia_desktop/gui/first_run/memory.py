"""Whether the first steps were taken, and what there is to get. Runs in jobs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.small_files import read_record, write_record
from kazeia_desktop.settings.store import Value

if TYPE_CHECKING:
    from kazeia_desktop.models.catalog import ModelEntry

_FILE = "first_run.json"
_VERSION = 1


def is_done(paths: Paths) -> bool:
    """Whether somebody went through the first steps, or left them for good."""
    return read_record(paths.config_dir / _FILE, _VERSION).get("done") is True


def remember(paths: Paths) -> None:
    """They are not shown by themselves again; where that cannot be written, they are."""
    try:
        write_record(paths.config_dir / _FILE, _VERSION, {"done": True})
    except OSError:
        return


def is_wanted(paths: Paths) -> bool:
    """Whether to show the first steps: they were not taken, and no model is there to hear or to answer with."""
    if is_done(paths):
        return False
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.local import local_language_models
    from kazeia_desktop.models.store import ModelStore

    store = ModelStore(paths.models_dir, Catalog.load())
    own = next(local_language_models(paths.models_dir, store.catalog), None)
    return not store.installed("llm") and not store.installed("stt") and own is None


@dataclass(frozen=True, slots=True)
class ModelSet:
    """Models that make a whole Kazeia.

    Attributes:
        names: of the catalogue, in the order in which they are fetched. titles, licences: of them.
        sizes: bytes of each, rough where `about`. present: those that are here.
        settings: what is set to use them.
    """

    names: tuple[str, ...]
    titles: tuple[str, ...]
    licences: tuple[str, ...]
    sizes: tuple[int, ...]
    about: bool
    present: frozenset[str]
    settings: dict[str, Value]

    @property
    def total(self) -> int:
        """Bytes of all."""
        return sum(self.sizes)

    @property
    def missing(self) -> int:
        """Bytes that are still to be fetched."""
        return sum(size for name, size in zip(self.names, self.sizes, strict=True) if name not in self.present)


@dataclass(frozen=True, slots=True)
class Offer:
    """The two sets, and what is free on the disk."""

    starter: ModelSet
    recommended: ModelSet
    free_bytes: int


def look_up(paths: Paths) -> Offer:
    """What can be fetched, and what is here of it. Without the network."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.disk import free_bytes
    from kazeia_desktop.models.store import ModelStore

    store = ModelStore(paths.models_dir, Catalog.load())
    starter = [entry for entry in store.catalog if entry.starter]
    better = {entry.kind: entry for entry in store.catalog if entry.recommended and entry.usable}

    def made(entries: "list[ModelEntry]") -> ModelSet:
        # Small ones first: Kazeia hears and speaks before the largest one is here.
        entries = sorted(entries, key=lambda entry: entry.bytes or entry.about_bytes or 0)
        return ModelSet(
            tuple(entry.name for entry in entries),
            tuple(entry.title for entry in entries),
            tuple(dict.fromkeys(entry.licence for entry in entries)),
            tuple(entry.bytes or entry.about_bytes or 0 for entry in entries),
            any(entry.bytes is None for entry in entries),
            frozenset(entry.name for entry in entries if store.state(entry.name).present),
            {f"{entry.kind}.model": entry.name for entry in entries if entry.kind in ("stt", "llm")},
        )

    return Offer(
        made(starter), made([better.get(entry.kind, entry) for entry in starter]), free_bytes(paths.models_dir)
    )
