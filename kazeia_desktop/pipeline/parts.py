"""What a conversation is made of, as the builder hands it over."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kazeia_desktop.audio.base import FrameSource, SpeechSink
from kazeia_desktop.llm.base import ChatSession
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.settings.schema import AudioSettings, Settings
from kazeia_desktop.stt.base import SpeechRecognizer
from kazeia_desktop.tts.base import SpeechSynthesizer
from kazeia_desktop.vad.endpointing import SpeechDetector


@dataclass(frozen=True, slots=True)
class Makers:
    """Loads a stage's model for given settings; raises a KazeiaError where it cannot.

    engine: which engine speaks with given settings. room_for_two: whether the voice of these settings can be loaded
    while another one speaks.
    """

    recognizer: Callable[[Settings], SpeechRecognizer]
    session: Callable[[Settings], ChatSession]
    synthesizer: Callable[[Settings], SpeechSynthesizer]
    engine: Callable[[Settings], str] = lambda settings: settings.tts.engine
    room_for_two: Callable[[Settings], bool] = lambda settings: True


@dataclass(frozen=True, slots=True)
class Parts:
    """What a conversation is made of.

    source None: no microphone, text only. sink or synthesizer None: replies are not spoken.
    half_duplex: whether the microphone is closed while Kazeia speaks.
    placement: part -> what runs where, as shown to the user.
    """

    source: FrameSource | None
    detector: SpeechDetector | None
    recognizer: SpeechRecognizer
    session: ChatSession
    synthesizer: SpeechSynthesizer | None
    sink: SpeechSink | None
    half_duplex: Callable[[AudioSettings], bool]
    placement: Mapping[str, str]
    makers: Makers
    memory: Memory | None = None
    errands: Errands | None = None
