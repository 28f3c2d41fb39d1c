"""What the window is connected to: the engine behind the bridge, and what the composition root gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kazeia_desktop.events import Event, Notice
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings

if TYPE_CHECKING:
    from kazeia_desktop.pipeline.errands import Errands
    from kazeia_desktop.pipeline.remembering import Memory


class Engine(Protocol):
    """What the window needs of `pipeline.conversation.Conversation`."""

    def start(self) -> None: ...

    def close(self) -> None: ...

    def send_text(self, text: str) -> None: ...

    def interrupt(self) -> None: ...

    def send_now(self) -> None: ...

    def set_muted(self, muted: bool) -> None: ...

    def regenerate(self) -> None: ...

    def edit(self, turn_id: int, text: str) -> None: ...

    def delete_turn(self, turn_id: int) -> None: ...

    def replay(self, turn_id: int, text: str = "") -> None: ...

    def apply(self, settings: Settings) -> None: ...

    def open_conversation(self, conversation: int) -> None: ...

    def new_conversation(self) -> None: ...

    def delete_conversation(self, conversation: int) -> None: ...

    @property
    def memory(self) -> "Memory | None": ...

    @property
    def errands(self) -> "Errands | None": ...

    @property
    def voice_name(self) -> str: ...

    @property
    def placement(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a setting can take, and how it is shown."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Host:
    """What the window is connected to; each is called in a thread of the bridge and may take its time.

    build: loads the models. Raises KazeiaError.
    save: writes the settings. Raises SettingsError.
    choices: what can be chosen for a `choices_from` of the schema. Raises KazeiaError.
    half_duplex: whether the microphone is closed while Kazeia speaks.
    fetch_models: downloads the models that the settings name; reports (name, 0..1). Raises KazeiaError.
    measured: what was measured of the voice on this machine, where something can be. Raises KazeiaError.
    """

    build: Callable[[Settings, Callable[[Event], None]], Engine]
    save: Callable[[Settings], None]
    choices: Callable[[str], Sequence[Choice]]
    half_duplex: Callable[[Settings], bool]
    fetch_models: Callable[[Settings, Callable[[str, float], None], CancelToken], None]
    measured: Callable[[Settings], Notice | None] = lambda settings: None


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What is running. voice_name is "" when replies are not spoken."""

    voice_name: str
    placement: Mapping[str, str]
    half_duplex: bool
