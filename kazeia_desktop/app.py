"""The composition root of the window: what `kazeia` without a subcommand runs."""

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FrameType, TracebackType
from typing import Final

from PySide6.QtCore import QObject, QSocketNotifier, QTimer
from PySide6.QtWidgets import QApplication

from kazeia_desktop import __version__, log
from kazeia_desktop.errors import KazeiaError, NotRunningError, StorageError
from kazeia_desktop.events import Event, Failed, Notice, State
from kazeia_desktop.gui import geometry
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.engine import Choice, Engine, Host
from kazeia_desktop.gui.instance import InstanceServer
from kazeia_desktop.gui.main_window import MainWindow
from kazeia_desktop.gui.motion import system_reduces_motion
from kazeia_desktop.gui.pages.registry import PAGES
from kazeia_desktop.gui.qt_words import QtWords
from kazeia_desktop.gui.words import resolve_language
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.leaving import leave, skip_destructors, still_running
from kazeia_desktop.runtime.preload import preload
from kazeia_desktop.runtime.single_instance import Place, SingleInstance, ask
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import SettingsStore
from kazeia_desktop.translations import system_language, translate

_log = logging.getLogger(__name__)

_CLAIMS: Final = 20
_SWITCH_S: Final = 0.0005
"""How long a thread that computes in Python keeps the interpreter when another wants it. The window's thread asks for
it anew after every call of Qt: at Python's own 5 ms a picture of twenty such calls takes 100 ms.
"""


def main(background: bool = False) -> int:
    """Open the window and stay until it is closed. Returns the exit code.

    Where Kazeia runs already, its window is shown and this one ends.

    Args:
        background: the window stays hidden where there is a tray.
    """
    if not has_display():
        sys.stderr.write(
            translate("kazeia: there is no display; see `kazeia --help` for what works without one.", system_language())
            + "\n"
        )
        return 1
    paths = Paths.from_environment()
    _log_to(paths)
    try:
        instance = claim(Place.of(paths), show=not background)
    except KazeiaError as error:
        sys.stderr.write(f"kazeia: {error.told_in(system_language())}\n")
        return 1
    if instance is None:
        return 0
    try:
        code = _run(paths, instance, background)
    finally:
        instance.close()
    left = still_running()
    if left:
        # A model that is being loaded cannot be stopped half-way. Settings are saved, nothing is lost.
        _log.warning("still at work when the window was closed: %s", ", ".join(left))
        leave(code)
    return code


def _run(paths: Paths, instance: SingleInstance, background: bool) -> int:
    sys.setswitchinterval(_SWITCH_S)
    app = QApplication([sys.argv[0]])
    skip_destructors()
    app.setApplicationName("kazeia")
    app.setApplicationDisplayName("Kazeia")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("kazeia")
    app.setStyle("Fusion")
    app.setQuitOnLastWindowClosed(False)  # the window says when: it may be hidden
    store = SettingsStore(paths.settings_file)
    settings = store.load()
    qt_words = QtWords(app)
    qt_words.use(resolve_language(settings.appearance.language))
    bridge = EngineBridge(host(paths, store), settings)
    _spare_collections(bridge)
    window = MainWindow(bridge, settings, paths)
    _import_pages(bridge, window)
    window.ended.connect(app.quit)
    window.language_changed.connect(qt_words.use)
    server = InstanceServer(instance, window.desktop.serve, app)
    with _faults_shown(bridge), _interrupts(app, window.quit):
        window.desktop.appear(geometry.load(paths.window_file), hidden=background)
        # The window is drawn first; nothing heavy is imported before.
        QTimer.singleShot(0, window.start)
        window.jobs.run("first-steps", lambda *_: _first_steps_wanted(paths), partial(_offer_first_steps, window))
        window.jobs.run("motion", lambda _token, _report: system_reduces_motion(), window.set_system_still)
        if store.problem is not None:
            bridge.failed.emit(Failed(store.problem.template, store.problem.values, "settings", fatal=False))
        with _watched_loop():
            code = app.exec()
    server.close()
    return code


def _first_steps_wanted(paths: Paths) -> bool:
    from kazeia_desktop.gui.first_run.memory import is_wanted

    return is_wanted(paths)


def _offer_first_steps(window: MainWindow, wanted: bool) -> None:
    if wanted and window.page is None:
        window.show_page("first-run")


def claim(place: Place, show: bool) -> SingleInstance | None:
    """The place of the one app; None: another has it, and shows its window if `show`.

    Raises:
        StorageError: another one has it but does not answer, or the place cannot be used.
    """
    for _ in range(_CLAIMS):
        instance = SingleInstance.claim(place)
        if instance is not None:
            return instance
        try:
            ask(place, "show" if show else "state")
        except NotRunningError:
            continue  # it ended just now, or somebody only looked whether one runs
        return None
    raise StorageError("Kazeia runs but does not answer: try again, or end it and start it anew.")


def has_display() -> bool:
    """Whether Qt will find a screen; asked before Qt, which would abort."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def host(paths: Paths, store: SettingsStore) -> Host:
    """What the window is connected to. Stages are imported when they are needed, in the bridge's threads."""
    return Host(
        build=lambda settings, emit: _build(settings, paths, emit),
        save=store.save,
        choices=lambda kind: _choices(kind, paths),
        half_duplex=_half_duplex,
        fetch_models=lambda settings, report, cancel: _fetch_models(settings, paths, report, cancel),
        measured=lambda settings: _measured(settings, paths),
    )


def _build(settings: Settings, paths: Paths, emit: Callable[[Event], None]) -> Engine:
    preload()
    from kazeia_desktop.pipeline.builder import build

    try:
        return build(settings, paths, emit)
    finally:
        skip_destructors()  # of what was loaded now


def _half_duplex(settings: Settings) -> bool:
    from kazeia_desktop.audio.devices import effective_duplex

    return effective_duplex(settings.audio) == "half"


def _choices(kind: str, paths: Paths) -> Sequence[Choice]:
    match kind:
        case "inputs" | "outputs":
            return _devices(kind)
        case "stt_models" | "llm_models":
            from kazeia_desktop.models.catalog import Catalog
            from kazeia_desktop.models.store import ModelStore

            models = ModelStore(paths.models_dir, Catalog.load()).installed("stt" if kind == "stt_models" else "llm")
            return [Choice(model.name, model.name) for model in models]
        case "compute_devices":
            return _compute_devices(paths)
        case "voices":
            return _voices(paths)
        case "tts_models":
            from kazeia_desktop.tts.voice_store import own_voice_dirs

            return [Choice(folder.name, folder.name) for folder in own_voice_dirs(paths)]
        case _:
            return []


def _measured(settings: Settings, paths: Paths) -> Notice | None:
    from kazeia_desktop.tts.qwen3_advice import told
    from kazeia_desktop.tts.qwen3_tuning_store import measured_voice

    found = measured_voice(paths, settings)
    return None if found is None else told(found[1])


def _devices(kind: str) -> Sequence[Choice]:
    from kazeia_desktop.audio import present

    return [Choice(name, name) for name in present.names("input" if kind == "inputs" else "output")]


def _compute_devices(paths: Paths) -> Sequence[Choice]:
    """The processor, and what llama.cpp's drivers offer now; asked in a process of its own."""
    from kazeia_desktop.llm.devices import DEVICES

    language = system_language()
    fixed = [Choice("cpu", translate("Processor", language)), Choice("auto", translate("Automatic", language))]
    offer = DEVICES.list(SettingsStore(paths.settings_file).load().backends, refresh=True)
    others = [device for device in offer.devices if not device.is_cpu]
    return fixed + [Choice(device.name, f"{device.name} ({device.description})") for device in others]


def _voices(paths: Paths) -> Sequence[Choice]:
    """The light voice's, the speakers of the own voice's models, and the added ones."""
    from kazeia_desktop.formats.voice_manifest import load_manifest
    from kazeia_desktop.pipeline.builder import voices_dir
    from kazeia_desktop.tts.voice_store import VoiceStore, own_voice_dirs

    found = {style.stem: _voice_title(style.stem) for style in sorted(voices_dir().glob("*.bin"))}
    for folder in own_voice_dirs(paths):
        with contextlib.suppress(KazeiaError):  # the window tells of a damaged model when it is loaded
            found |= {speaker: speaker.capitalize() for speaker in load_manifest(folder).description.speakers}
    added, _ = VoiceStore.of(paths).list()
    found |= {voice.name: voice.name for voice in added}
    return [Choice(name, title) for name, title in found.items()]


def _voice_title(name: str) -> str:
    """ff_siwis is Siwis: Kokoro's names begin with language and gender."""
    return name.partition("_")[2].capitalize() or name


def _fetch_models(settings: Settings, paths: Paths, report: Callable[[str, float], None], cancel: CancelToken) -> None:
    """Download what the settings name and is not there. Raises DownloadError, ModelError, Cancelled."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.fetch import Progress
    from kazeia_desktop.models.store import ModelStore, is_path
    from kazeia_desktop.pipeline.builder import LIGHT_VOICE_MODEL, VAD_MODEL

    def told(progress: Progress) -> None:
        report(progress.model, progress.done_bytes / progress.total_bytes if progress.total_bytes else 0.0)

    store = ModelStore(paths.models_dir, Catalog.load())
    for name in (VAD_MODEL, settings.stt.model, settings.llm.model, LIGHT_VOICE_MODEL):
        if not is_path(name):
            report(name, 0.0)
            store.get(name, told, cancel)


def _log_to(paths: Paths) -> None:
    """To the log file, or to the terminal only where no file can be written. Libraries are heard from WARNING on."""
    try:
        log.set_up(paths.log_dir)
    except OSError as error:
        log.set_up(None)
        _log.warning("there is no log file in %s: %s", paths.log_dir, error.strerror or error)
    if logging.getLogger().level == logging.WARNING:
        logging.getLogger("kazeia_desktop").setLevel(logging.INFO)


def _spare_collections(bridge: EngineBridge) -> None:
    """No full garbage collection looks at what stays: with all modules loaded one takes 45 ms, in any thread."""
    gc.disable()

    def loaded(state: State) -> None:
        if state is not State.LOADING:
            bridge.state_changed.disconnect(loaded)
            gc.freeze()
            gc.enable()

    bridge.state_changed.connect(loaded)


def _import_pages(bridge: EngineBridge, window: MainWindow) -> None:
    """As soon as nothing is loaded any more, so that the first look at a page waits for its widgets only."""

    def load(*_: object) -> None:
        for page in PAGES:
            page.load()

    def loaded(state: State) -> None:
        if state is not State.LOADING:
            bridge.state_changed.disconnect(loaded)
            window.jobs.run("import-pages", load)

    bridge.state_changed.connect(loaded)


@contextlib.contextmanager
def _watched_loop() -> Iterator[None]:
    """With KAZEIA_WATCHDOG=1 the log says what kept the window's thread for more than 50 ms."""
    if os.environ.get("KAZEIA_WATCHDOG", "") in ("", "0"):
        yield
        return
    from kazeia_desktop.gui.loop_watchdog import LoopWatchdog

    watchdog = LoopWatchdog()
    try:
        yield
    finally:
        watchdog.stop()


@contextlib.contextmanager
def _faults_shown(bridge: EngineBridge) -> Iterator[None]:
    """What nobody caught, in any thread, goes to the log and to the window."""
    before, before_threads = sys.excepthook, threading.excepthook

    def caught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            before(kind, error, trace)
            return
        _log.critical("not caught", exc_info=(kind, error, trace))
        bridge.tell_unexpected(error)

    def caught_in_thread(told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None:
            caught(told.exc_type, told.exc_value, told.exc_traceback)

    sys.excepthook, threading.excepthook = caught, caught_in_thread
    try:
        yield
    finally:
        sys.excepthook, threading.excepthook = before, before_threads


@contextlib.contextmanager
def _interrupts(parent: QObject, close: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C in the terminal and the system's request to end close the window.

    Python runs signal handlers between two of its instructions, and an idle Qt loop runs none: the
    signal's byte in a socket wakes it. No timer polls.
    """
    reading, writing = socket.socketpair()
    for end in (reading, writing):
        end.setblocking(False)
    notifier = QSocketNotifier(reading.fileno(), QSocketNotifier.Type.Read, parent)

    def woken() -> None:
        with contextlib.suppress(BlockingIOError):
            reading.recv(64)
        close()

    def noted(_signal: int, _frame: FrameType | None) -> None:
        """The byte in the socket does the work."""

    notifier.activated.connect(woken)
    old_fd = signal.set_wakeup_fd(writing.fileno())
    kinds = (signal.SIGINT, signal.SIGTERM)
    old = [signal.signal(kind, noted) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, old, strict=True):
            signal.signal(kind, handler)
        signal.set_wakeup_fd(old_fd)
        notifier.setEnabled(False)
        reading.close()
        writing.close()
