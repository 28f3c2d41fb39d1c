"""Between the engine's threads and the window's.

Events come from worker threads and leave as Qt signals in the window's thread. Calls of the window
go to two threads: `control` for commands that the engine answers at once, and `engine` for what takes
time (loading, settings that reload a model, listing devices), so that Stop never waits behind it.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal, Slot

from kazeia_desktop.errors import AudioDeviceError, Cancelled, DownloadError, KazeiaError, ModelError, SettingsError
from kazeia_desktop.events import (
    ClauseStarted,
    ConversationOpened,
    Event,
    Failed,
    Level,
    LoadProgress,
    Notice,
    ReplayStarted,
    ReplyDelta,
    SettingChanged,
    State,
    StateChanged,
    TurnEnded,
    TurnsRemoved,
    TurnStarted,
    UserPartial,
    UserText,
    VoiceChanged,
)  # fmt: skip
from kazeia_desktop.gui.engine import Engine, EngineInfo, Host
from kazeia_desktop.gui.lane import Lane
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings

_log = logging.getLogger(__name__)

CLOSE_S: Final = 1.4
"""Closing the window ends every thread within this time, or the process ends without them: two seconds in all."""


class EngineBridge(QObject):
    """Owns the engine and the two threads that call it. Lives in the window's thread."""

    state_changed = Signal(object)  # State
    load_progress = Signal(str, float)
    level_changed = Signal(float)
    turn_started = Signal(int, bool)
    user_partial = Signal(str)
    user_text = Signal(int, str)
    reply_delta = Signal(int, str)
    clause_started = Signal(int, str)
    turn_ended = Signal(object)  # TurnEnded
    notice = Signal(object)  # Notice
    failed = Signal(object)  # Failed
    conversation_opened = Signal(object)  # ConversationOpened
    turns_removed = Signal(object)  # TurnsRemoved
    replay_started = Signal(int, int)  # turn, the turn whose reply it is
    setting_changed = Signal(str, float)  # key, value: by a spoken request
    ready = Signal(object)  # EngineInfo
    choices_ready = Signal(str, object)  # choices_from, tuple[Choice, ...]
    measured_ready = Signal(object)  # Notice or None

    _arrived = Signal(object)

    def __init__(self, host: Host, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self._settings = settings  # the newest; guarded by the lock
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._closing = False
        self._cancel = CancelToken()
        self._level = 0.0
        self._level_waits = False
        self._unsaved = False
        self._unapplied = False
        self._muted = False
        self._held = False  # the window itself records or plays
        self._state = State.LOADING
        self._first_text: str | None = None  # typed before the models were there
        self._control = Lane("control", self._unexpected)
        self._slow = Lane("engine", self._unexpected)
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    @property
    def engine(self) -> Engine | None:
        """The engine that answers now, for a job that asks for something slow; None while there is none."""
        return self._engine

    @property
    def state(self) -> State:
        """What was last told, for who begins to listen later."""
        return self._state

    # What the window calls; each returns at once

    def start(self) -> None:
        """Load the models behind the window."""
        self._control.start()
        self._slow.start()
        self._slow.do(self._build)

    def rebuild(self) -> None:
        """Close the engine and load everything again."""
        self._slow.do(self._build)

    def fetch_models(self) -> None:
        """Download what is missing, then load."""
        self._slow.do(self._fetch_and_build)

    def command(self, call: Callable[[Engine], None]) -> None:
        """Ask the engine for something that it answers at once; nothing happens while there is none."""

        def run() -> None:
            engine = self._engine
            if engine is not None:
                call(engine)

        self._control.do(run)

    def send_text(self, text: str) -> None:
        """A typed turn; said as soon as the models are there."""
        self._control.do(lambda: self._send(text))

    def interrupt(self) -> None:
        """Stop thinking and speaking."""
        self.command(lambda engine: engine.interrupt())

    def send_now(self) -> None:
        """End the utterance that is being spoken."""
        self.command(lambda engine: engine.send_now())

    def set_muted(self, muted: bool) -> None:
        """Close or open the microphone; also of the engine that is still loading."""
        self._muted = muted
        self._tell_muted()

    def hold_microphone(self, held: bool) -> None:
        """Close it for a while, whatever the user wants meanwhile; then it is as the user wants it."""
        self._held = held
        self._tell_muted()

    def _tell_muted(self) -> None:
        muted = self._muted or self._held
        self.command(lambda engine: engine.set_muted(muted))

    def apply(self, settings: Settings) -> None:
        """Save the settings and let the engine take them over. Of several in a row the last one counts."""
        with self._lock:
            self._settings = settings
            save, self._unsaved = not self._unsaved, True
            take_over, self._unapplied = not self._unapplied, True
        if save:
            self._control.do(self._save)
        if take_over:
            self._slow.do(self._apply)

    def request_choices(self, kind: str) -> None:
        """Look up what can be chosen; `choices_ready` tells."""
        self._slow.do(lambda: self._look_up(kind))

    def request_measured(self) -> None:
        """Look up what was measured of the voice; `measured_ready` tells."""
        self._slow.do(self._look_up_measured)

    def close(self, timeout_s: float = CLOSE_S) -> bool:
        """Save, stop everything and wait. Returns whether every thread has ended."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            self._closing = True
        self._cancel.set()
        self._slow.finish(lambda: None)
        self._control.finish(self._close_down)
        ended = [self._control.join(deadline), self._slow.join(deadline)]
        if self._unsaved:  # a command before it does not come back
            self._save()
        return all(ended)

    # In the thread `control`

    def _send(self, text: str) -> None:
        engine = self._engine
        if engine is not None:
            engine.send_text(text)
        else:
            self._first_text = text

    def _save(self) -> None:
        with self._lock:
            settings, self._unsaved = self._settings, False
        try:
            self._host.save(settings)
        except KazeiaError as error:
            self._emit(Failed(error.template, error.values, "", fatal=False))

    def _close_down(self) -> None:
        if self._unsaved:
            self._save()
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    # In the thread `engine`

    def _build(self) -> None:
        with self._lock:
            old, self._engine = self._engine, None
            settings, self._unapplied = self._settings, False
        self._emit(StateChanged(State.LOADING))
        if old is not None:
            old.close()
        try:
            engine = self._host.build(settings, self._emit_or_stop)
        except Cancelled:
            return
        except KazeiaError as error:
            self._cannot_start(Failed(error.template, error.values, _action_for(error), fatal=True))
            return
        except Exception as error:  # noqa: BLE001 - a start that fails in any way leaves a window that says so
            _log.error("loading failed", exc_info=True)
            self._cannot_start(
                Failed(
                    "Kazeia could not start ({reason}). Try again; the log says more.",
                    _reason(error),
                    "retry",
                    fatal=True,
                )
            )
            return
        with self._lock:
            too_late = self._closing
            if not too_late:
                self._engine = engine
        if too_late:
            engine.close()
            return
        engine.start()
        if self._muted or self._held:
            engine.set_muted(True)
        self._tell_info(engine)
        self._control.do(self._send_first)

    def _send_first(self) -> None:
        text, self._first_text = self._first_text, None
        if text is not None and self._engine is not None:
            self._engine.send_text(text)

    def _cannot_start(self, failed: Failed) -> None:
        self._emit(StateChanged(State.ERROR))
        self._emit(failed)

    def _fetch_and_build(self) -> None:
        self._emit(StateChanged(State.LOADING))
        try:
            self._host.fetch_models(
                self._settings, lambda name, done: self._emit(LoadProgress(f"fetch:{name}", done)), self._cancel
            )
        except Cancelled:
            return
        except KazeiaError as error:
            self._cannot_start(Failed(error.template, error.values, _action_for(error), fatal=True))
            return
        self._build()

    def _apply(self) -> None:
        with self._lock:
            settings, self._unapplied = self._settings, False
        engine = self._engine
        if engine is None:
            return
        try:
            engine.apply(settings)
        except KazeiaError as error:
            self._emit(Failed(error.template, error.values, "settings", fatal=False))
        self._tell_info(engine)

    def _look_up(self, kind: str) -> None:
        try:
            found = tuple(self._host.choices(kind))
        except KazeiaError as error:
            _log.info("nothing to choose for %s: %s", kind, error)
            found = ()
        self._post(("choices", kind, found))

    def _look_up_measured(self) -> None:
        try:
            found = self._host.measured(self._settings)
        except KazeiaError as error:
            _log.info("nothing is known of the voice: %s", error)
            found = None
        self._post(("measured", found))

    def _tell_info(self, engine: Engine) -> None:
        self._post(EngineInfo(engine.voice_name, dict(engine.placement), self._host.half_duplex(self._settings)))

    def _tell_info_again(self) -> None:
        engine = self._engine
        if engine is not None:
            self._tell_info(engine)

    # From any thread

    def _emit_or_stop(self, event: Event) -> None:
        """The engine's listener. Closing the window stops a build at its next part; nothing else is ever stopped."""
        if self._closing and isinstance(event, LoadProgress):
            raise Cancelled
        self._emit(event)

    def _emit(self, event: Event) -> None:
        if isinstance(event, Level):
            with self._lock:
                self._level = event.rms
                if self._level_waits:
                    return  # only the newest level is worth drawing
                self._level_waits = True
        self._post(event)

    def _post(self, item: object) -> None:
        if not self._closing:
            self._arrived.emit(item)

    def tell_unexpected(self, error: BaseException) -> None:
        """Show a fault that nobody caught."""
        self._emit(
            Failed(
                "Something unexpected went wrong ({reason}). Kazeia goes on; the log says more.",
                _reason(error), "", fatal=False,
            )
        )  # fmt: skip

    def _unexpected(self, error: Exception) -> None:
        _log.error("a command failed", exc_info=error)
        self.tell_unexpected(error)

    # In the window's thread

    @Slot(object)
    def _deliver(self, item: object) -> None:
        if self._closing:
            return
        match item:
            case Level():
                with self._lock:
                    rms, self._level_waits = self._level, False
                self.level_changed.emit(rms)
            case StateChanged(state):
                self._state = state
                self.state_changed.emit(state)
            case ReplyDelta(turn_id, text):
                self.reply_delta.emit(turn_id, text)
            case ClauseStarted(turn_id, _, text):
                self.clause_started.emit(turn_id, text)
            case UserPartial(text):
                self.user_partial.emit(text)
            case UserText(turn_id, text, _):
                self.user_text.emit(turn_id, text)
            case TurnStarted(turn_id, typed):
                self.turn_started.emit(turn_id, typed)
            case TurnEnded():
                self.turn_ended.emit(item)
            case LoadProgress(part, fraction):
                self.load_progress.emit(part, fraction)
            case Notice():
                self.notice.emit(item)
            case Failed():
                self.failed.emit(item)
            case ConversationOpened():
                self.conversation_opened.emit(item)
                self._slow.do(self._tell_info_again)  # what runs where is seen again
            case TurnsRemoved():
                self.turns_removed.emit(item)
            case ReplayStarted(turn_id, of):
                self.replay_started.emit(turn_id, of)
            case SettingChanged(key, value):
                self.setting_changed.emit(key, value)
            case VoiceChanged():
                self.command(self._tell_info)
            case EngineInfo():
                self.ready.emit(item)
            case ("choices", str(kind), tuple(found)):
                self.choices_ready.emit(kind, found)
            case ("measured", notice):
                self.measured_ready.emit(notice)


def _reason(error: BaseException) -> dict[str, object]:
    text = str(error)
    return {"reason": f"{type(error).__name__}: {text}" if text else type(error).__name__}


def _action_for(error: KazeiaError) -> str:
    match error:
        case ModelError():
            return "models"
        case DownloadError():
            return "models"
        case AudioDeviceError():
            return "devices"
        case SettingsError():
            return "settings"
        case _:
            return "retry"
