"""How a turn travels; read this page first.

    microphone -> listen -> stt -> llm -> text -> tts -> loudspeaker
              AudioFrame  Utterance  Prompt  TextDelta  Clause  SpeechFrame

This is the only place that names concrete adapters. `build` opens the devices, loads the models and
hands them to a `Conversation`, which gives each stage its thread.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from kazeia_desktop.audio.base import FrameSource, SpeechSink
from kazeia_desktop.audio.capture import Capture
from kazeia_desktop.audio.devices import effective_duplex
from kazeia_desktop.audio.playback import Playback
from kazeia_desktop.errors import AudioDeviceError, KazeiaError, ModelMissingError
from kazeia_desktop.events import Event, Failed, LoadProgress, Notice
from kazeia_desktop.llm.base import ChatSession
from kazeia_desktop.llm.opening import Opened, available_bytes, open_session
from kazeia_desktop.llm.placement import Told
from kazeia_desktop.llm.trial import try_model
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.store import ModelStore, is_path
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.conversation import Conversation
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.pipeline.parts import Makers, Parts
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.runtime.cores import read_cores
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.stt.base import SpeechRecognizer
from kazeia_desktop.stt.whisper import WhisperRecognizer
from kazeia_desktop.tts.base import SpeechSynthesizer
from kazeia_desktop.tts.kokoro import KokoroVoice
from kazeia_desktop.tts.qwen3_tuning_store import TuningStore
from kazeia_desktop.tts.qwen3_voice import Qwen3Voice
from kazeia_desktop.tts.system_voice import SystemVoice
from kazeia_desktop.tts.voice_store import VoiceStore, own_voice_dir
from kazeia_desktop.tts.voices import engine_of
from kazeia_desktop.vad.endpointing import SpeechDetector
from kazeia_desktop.vad.silero import SileroScorer
from kazeia_desktop.vad.webrtc import make_gate

_log = logging.getLogger(__name__)

DeviceT = TypeVar("DeviceT", Capture, Playback)

VAD_MODEL = "silero-vad"
LIGHT_VOICE_MODEL = "kokoro-82m"

_GROWTH: Final = 1.5
"""A loaded voice takes more memory than its files: graphs are made for this machine, and there are buffers."""
_SPARE_BYTES: Final = 300_000_000
"""Stays free for everything else."""


def voices_dir() -> Path:
    """Where the light voice's style vectors and phoneme table are."""
    return Path(__file__).parent.parent / "assets" / "voices"


def make_recognizer(settings: Settings, store: ModelStore) -> SpeechRecognizer:
    """Whisper, from the model that the settings name."""
    return WhisperRecognizer(store.require(settings.stt.model), settings.stt)


def make_session(
    settings: Settings, store: ModelStore, paths: Paths, tell: Callable[[Told], None], share: CoreShare | None = None
) -> Opened:
    """A chat with the model that the settings name, and where it is computed.

    tell: hears why it is not computed where the settings say.
    """
    gguf = store.require_weights(settings.llm.model)
    if is_path(settings.llm.model):
        try_model(gguf, settings.llm, paths)
    return open_session(gguf, settings, paths, tell, share)


def voice_engine(settings: Settings, store: ModelStore, paths: Paths) -> str:
    """Which engine speaks: "qwen3", "kokoro" or "system"; "auto" takes the best that is installed.

    A voice that belongs to an engine brings that engine with it.
    """
    if settings.tts.engine != "auto":
        return settings.tts.engine
    of_voice = engine_of(settings.tts.voice)
    if of_voice == "system":
        return of_voice
    if of_voice is None and own_voice_dir(paths, settings) is not None:
        return "qwen3"
    return "kokoro" if store.state(LIGHT_VOICE_MODEL).present else "system"


def make_synthesizer(
    settings: Settings, store: ModelStore, paths: Paths, share: CoreShare | None = None
) -> SpeechSynthesizer:
    """The voice that the settings name.

    Raises:
        ModelError: its model is missing or damaged. SettingsError: there is no such voice.
        InferenceError: the system has no voice.
    """
    engine = voice_engine(settings, store, paths)
    _log.info("the voice is of the engine %s", engine)
    if engine == "qwen3":
        folder = own_voice_dir(paths, settings)
        if folder is None:
            raise ModelMissingError(
                "Kazeia's own voice is not installed: convert a Qwen3-TTS model with `kazeia models convert`."
            )
        measured = TuningStore.of(paths, read_cores())
        return Qwen3Voice(folder, VoiceStore.of(paths), settings.tts, share, measured)
    if engine == "kokoro":
        return KokoroVoice(store.require_weights(LIGHT_VOICE_MODEL), voices_dir(), settings.tts)
    return SystemVoice(settings.tts)


def room_for_two(settings: Settings, store: ModelStore, paths: Paths) -> bool:
    """Whether the voice of these settings fits into memory beside what is loaded already."""
    engine = voice_engine(settings, store, paths)
    if engine == "system":
        return True
    try:
        if engine == "qwen3":
            folder = own_voice_dir(paths, settings)
            size = 0 if folder is None else sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        else:
            size = store.require_weights(LIGHT_VOICE_MODEL).stat().st_size
    except OSError:
        return False  # whoever loads it tells why it cannot
    free = available_bytes()
    if free is None:  # a system that does not tell; the light voice takes little
        return engine == "kokoro"
    return free > _GROWTH * size + _SPARE_BYTES


def build(
    settings: Settings,
    paths: Paths,
    emit: Callable[[Event], None],
    source: FrameSource | None = None,
    sink: SpeechSink | None = None,
) -> Conversation:
    """Open the devices and load the models. Takes seconds; emits LoadProgress.

    A missing microphone or loudspeaker is told and left out: what remains works as text.

    Args:
        source, sink: used instead of the devices that the settings name.
    Raises:
        ModelError: a model is missing or broken.
    """
    store = ModelStore(paths.models_dir, Catalog.load())
    share = CoreShare(os.cpu_count() or 1)
    placement = {"stt": "", "llm": "", "tts": ""}

    def open_recognizer(changed: Settings) -> SpeechRecognizer:
        made = make_recognizer(changed, store)
        placement["stt"] = f"{Path(changed.stt.model).name}, {changed.stt.precision}, CPU"
        return made

    def open_chat(changed: Settings) -> ChatSession:
        chat = make_session(changed, store, paths, lambda told: emit(Notice(told.template, dict(told.values))), share)
        placement["llm"] = f"{Path(changed.llm.model).name}, {chat.where}"
        return chat.session

    makers = Makers(
        open_recognizer,
        open_chat,
        lambda changed: make_synthesizer(changed, store, paths, share),
        lambda changed: voice_engine(changed, store, paths),
        lambda changed: room_for_two(changed, store, paths),
    )
    lasts = source is None  # not one turn from a file: alarms may ring
    opened: list[Callable[[], None]] = []
    try:
        emit(LoadProgress("audio", 0.0))
        if source is None:
            source = _opened(Capture(settings.audio, emit), emit)
        else:
            source.start()
        if source is not None:
            opened.append(source.stop)
        if sink is None:
            sink = _opened(Playback(settings.audio, emit), emit)
        else:
            sink.start()
        if sink is not None:
            opened.append(sink.stop)
        emit(LoadProgress("vad", 0.05))
        scorer = SileroScorer(store.require_weights(VAD_MODEL))
        detector = SpeechDetector(make_gate(), scorer, settings.vad)
        emit(LoadProgress("stt", 0.1))
        recognizer = open_recognizer(settings)
        opened.append(recognizer.close)
        emit(LoadProgress("llm", 0.4))
        session = open_chat(settings)
        opened.append(session.close)
        emit(LoadProgress("tts", 0.7))
        synthesizer = _voice(settings, store, paths, share, emit)
    except BaseException:
        for release in reversed(opened):
            release()
        raise
    emit(LoadProgress("ready", 1.0))
    placement["tts"] = synthesizer.name if synthesizer is not None else ""
    parts = Parts(
        source,
        detector,
        recognizer,
        session,
        synthesizer,
        sink,
        lambda audio: effective_duplex(audio) == "half",
        placement,
        makers,
        Memory(paths, settings.privacy, emit),
        Errands(paths.alarms_file if lasts else None, settings),
    )
    return Conversation(parts, settings, emit)


def _opened(device: DeviceT, emit: Callable[[Event], None]) -> DeviceT | None:
    """The started device, or None with the reason told."""
    try:
        device.start()
    except AudioDeviceError as error:
        _log.info("%s", error)
        emit(Notice(error.template, error.values))
        return None
    return device


def _voice(
    settings: Settings, store: ModelStore, paths: Paths, share: CoreShare, emit: Callable[[Event], None]
) -> SpeechSynthesizer | None:
    """The voice; where it cannot be had, the light one; where that cannot either, None: replies are text only.

    Each step down is told.
    """
    light = settings.model_copy(update={"tts": settings.tts.model_copy(update={"engine": "kokoro", "voice": ""})})
    for attempt in (settings, light):
        try:
            return make_synthesizer(attempt, store, paths, share)
        except KazeiaError as error:
            emit(Failed(error.template, error.values, "models", fatal=False))
            if not store.state(LIGHT_VOICE_MODEL).present:
                return None
    return None
