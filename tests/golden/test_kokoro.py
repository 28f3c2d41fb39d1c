"""The light voice on its real weights: what it says is heard by Whisper, word for word or nearly."""

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.audio.resampler import Resampler
from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.frames import CAPTURE_RATE_HZ, Clause, FloatArray
from kazeia_desktop.pipeline.builder import LIGHT_VOICE_MODEL, voices_dir
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import SttSettings, TtsSettings
from kazeia_desktop.stt.whisper import WhisperRecognizer
from kazeia_desktop.tts.kokoro import RATE_HZ, KokoroVoice
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

FRENCH = (
    "Quel temps fera-t-il demain matin à Lyon ?",
    "Bonjour, je peux vous aider à préparer votre voyage.",
    "Je voudrais réserver une table pour deux personnes ce soir.",
    "La gare est à dix minutes d'ici, au bout de la rue.",
    "Les enfants jouent dans le jardin depuis ce matin.",
    "Il faut acheter du pain, du lait et des pommes.",
    "Combien coûte un billet de train pour Marseille ?",
    "Nous avons passé de très bonnes vacances à la montagne.",
    "Attention, la route est glissante après la pluie !",
    "Ma sœur travaille dans un hôpital près de Bordeaux.",
    "Le musée ouvre à neuf heures ; il ferme à six heures.",
    "Merci beaucoup, et à bientôt.",
)
ENGLISH = (
    "Could you tell me what time the museum opens tomorrow?",
    "The weather is nice today, so we could walk to the station.",
    "I would like two tickets for the train to London, please.",
)
MAX_WORD_ERROR = 0.25


@pytest.fixture(scope="module")
def voice() -> Iterator[KokoroVoice]:
    (model,) = require_model(LIGHT_VOICE_MODEL).glob("*.onnx")
    made = KokoroVoice(model, voices_dir(), TtsSettings())
    yield made
    made.close()


@pytest.fixture(scope="module")
def recognizer() -> Iterator[WhisperRecognizer]:
    made = WhisperRecognizer(require_model("whisper-base"), SttSettings())
    yield made
    made.close()


def say(voice: KokoroVoice, text: str) -> FloatArray:
    frames = list(voice.synthesize(Clause(1, 0, text, text), CancelToken()))
    assert [frame.end_of_clause for frame in frames] == [False] * (len(frames) - 1) + [True]
    return np.concatenate([frame.samples for frame in frames])


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower().replace("œ", "oe"))


def errors(said: list[str], heard: list[str]) -> int:
    """Levenshtein distance in words."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        before, row = row, [i]
        for j, other in enumerate(heard, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word != other)))
    return row[-1]


def heard(recognizer: WhisperRecognizer, sound: FloatArray) -> str:
    resampler = Resampler(RATE_HZ, CAPTURE_RATE_HZ)
    at_16k = np.concatenate([resampler.push(sound), resampler.flush()])
    return recognizer.transcribe(at_16k, 1, CancelToken()).text


def word_error(voice: KokoroVoice, recognizer: WhisperRecognizer, texts: tuple[str, ...]) -> float:
    wrong = total = 0
    for text in texts:
        understood = heard(recognizer, say(voice, text))
        wrong += errors(words(text), words(understood))
        total += len(words(text))
        print(f"{text!r} -> {understood!r}")  # noqa: T201 - shown when the test fails
    return wrong / total


def test_french_is_understood(voice: KokoroVoice, recognizer: WhisperRecognizer) -> None:
    assert word_error(voice, recognizer, FRENCH) <= MAX_WORD_ERROR


def test_english_is_understood(voice: KokoroVoice, recognizer: WhisperRecognizer) -> None:
    voice.apply(TtsSettings(language="en"))
    recognizer.apply(SttSettings(language="en"))
    try:
        assert word_error(voice, recognizer, ENGLISH) <= MAX_WORD_ERROR
    finally:
        voice.apply(TtsSettings())
        recognizer.apply(SttSettings())


def test_loudness_and_silence_are_those_of_speech(voice: KokoroVoice) -> None:
    for text in FRENCH[:3]:
        sound = say(voice, text)
        assert 0.04 < float(np.sqrt(np.mean(np.square(sound)))) < 0.3, text
        assert float(np.abs(sound).max()) <= 1.0, text
        assert float(np.mean(np.abs(sound) < 0.003)) < 0.45, text
        loud = np.flatnonzero(np.abs(sound) > 0.003)
        assert loud[0] <= 0.031 * RATE_HZ, "the model's padding delays the first sound"
        assert len(sound) - loud[-1] <= 0.4 * RATE_HZ, text


def test_the_same_text_gives_the_same_sound(voice: KokoroVoice) -> None:
    assert np.array_equal(say(voice, FRENCH[1]), say(voice, FRENCH[1]))


def test_speed(voice: KokoroVoice) -> None:
    normal = len(say(voice, FRENCH[0]))
    voice.apply(TtsSettings(speed=1.5))
    try:
        assert normal / 1.7 < len(say(voice, FRENCH[0])) < normal / 1.25
    finally:
        voice.apply(TtsSettings())


def test_cancelled_in_the_middle_of_a_run(voice: KokoroVoice) -> None:
    text = "une très longue phrase sans aucune virgule qui continue encore et encore jusque dans la nuit"
    voice.apply(TtsSettings(speed=0.5))
    cancel = CancelToken()
    asked: list[float] = []

    def stop() -> None:
        time.sleep(0.4)
        asked.append(time.monotonic())
        cancel.set()

    stopper = threading.Thread(target=stop)
    stopper.start()
    try:
        frames = list(voice.synthesize(Clause(1, 0, text, text), cancel))
        ended = time.monotonic()
    finally:
        stopper.join()
        voice.apply(TtsSettings())
    assert not frames, "the run was over before it was cancelled"
    assert ended - asked[0] < 0.3


@pytest.mark.parametrize("text", ["", "  ", "...", "?! — …", "[]{}«»", "你好", "😀"])
def test_nothing_to_say_is_one_empty_frame(voice: KokoroVoice, text: str) -> None:
    (frame,) = voice.synthesize(Clause(7, 3, text, text), CancelToken())
    assert (frame.turn_id, frame.clause_index, len(frame.samples), frame.end_of_clause) == (7, 3, 0, True)


def test_a_clause_of_3000_characters_starts_soon_and_can_be_stopped(voice: KokoroVoice) -> None:
    text = ("Il était une fois, dans un pays lointain, une petite fille. " * 51)[:3000]
    cancel = CancelToken()
    seconds = []
    for frame in voice.synthesize(Clause(1, 0, text, text), cancel):
        assert np.isfinite(frame.samples).all()
        seconds.append(len(frame.samples) / RATE_HZ)
        if len(seconds) == 3:
            cancel.set()
    assert len(seconds) == 3 and max(seconds) < 12.0


def test_a_cut_model_is_refused(tmp_path: Path) -> None:
    (model,) = require_model(LIGHT_VOICE_MODEL).glob("*.onnx")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(model.read_bytes()[:5_000_000])
    with pytest.raises(ModelCorruptError, match="models get kokoro-82m"):
        KokoroVoice(broken, voices_dir(), TtsSettings())
