"""Which microphone or loudspeaker: the list that is really there, kept in the settings."""

from typing import Literal

from PySide6.QtCore import Signal

from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor
from kazeia_desktop.runtime.cancel import CancelToken

Kind = Literal["input", "output"]


class DeviceChoice(ChoiceEditor):
    """Sets audio.input_device or audio.output_device."""

    chosen = Signal()

    def __init__(self, kind: Kind, context: PageContext) -> None:
        super().__init__()
        self._kind: Kind = kind
        self._context = context
        self._key = f"audio.{kind}_device"
        self._names: tuple[str, ...] = ()
        self.edited.connect(self._choose)
        self.take()

    def look_up(self) -> None:
        """List the devices anew."""
        self._context.jobs.run(f"list-{self._kind}s", self._list, done=self._listed)

    def _list(self, _cancel: CancelToken, _report: object) -> tuple[str, ...]:
        from kazeia_desktop.audio import devices

        devices.refresh()
        found = devices.list_inputs() if self._kind == "input" else devices.list_outputs()
        return tuple(dict.fromkeys(device.name for device in found))

    def _listed(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.take()

    @property
    def names(self) -> tuple[str, ...]:
        """The devices that are there; empty until they were listed."""
        return self._names

    def take(self) -> None:
        """Show what the settings say, in the current language."""
        tr = self._context.words.tr
        self.combo.setAccessibleName(tr("Microphone") if self._kind == "input" else tr("Loudspeaker"))
        audio = self._context.settings().audio
        self.set_choices([Choice("", tr("The system's choice")), *(Choice(name, name) for name in self._names)])
        self.show_value(audio.input_device if self._kind == "input" else audio.output_device)

    def _choose(self) -> None:
        self._context.change(self._key, self.value())
        self.chosen.emit()
