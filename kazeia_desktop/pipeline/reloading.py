"""When a stage's model has to be loaded anew, and with which settings: always the newest."""

from collections.abc import Callable
from typing import Generic

from kazeia_desktop.pipeline.items import PartT, Reload
from kazeia_desktop.settings.schema import Apply, Section, Settings, shown_of


class Reloader(Generic[PartT]):
    """Knows what a stage's model was loaded with.

    Of several changes in a row the last one counts: a reload that comes to its turn when nothing is left to change is
    none. What changes while a model is loaded is applied to it afterwards.

    Args:
        make: loads the model for given settings. Raises KazeiaError.
        settings: with which the one that is there was loaded.
        newest: the settings as they are now.
        differs: whether one loaded for the first settings does not do for the second.
        settle: applies settings to a loaded model.
    """

    def __init__(
        self,
        make: Callable[[Settings], PartT],
        settings: Settings,
        newest: Callable[[], Settings],
        differs: Callable[[Settings, Settings], bool],
        settle: Callable[[PartT, Settings], None],
    ) -> None:
        self._make = make
        self._loaded = settings
        self._newest = newest
        self._differs = differs
        self._settle = settle

    def reload(self) -> Reload[PartT]:
        """To be done in the stage's own thread."""
        return Reload(self.made, lambda: self._make(self._loaded), self.is_needed, self._settled)

    def is_needed(self) -> bool:
        """Whether what is loaded does not do for the settings as they are now."""
        return self._differs(self._loaded, self._newest())

    def made(self) -> PartT:
        """A model for the settings as they are now. Raises KazeiaError."""
        wanted = self._newest()
        part = self._make(wanted)
        self._loaded = wanted
        return part

    def _settled(self, part: PartT) -> None:
        self._settle(part, self._newest())


def needs_reload(old: Section, new: Section) -> bool:
    """Whether a field that needs a reload differs."""
    fields = type(new).model_fields
    return any(
        getattr(old, name) != getattr(new, name) and shown_of(field).apply is Apply.RELOAD
        for name, field in fields.items()
    )
