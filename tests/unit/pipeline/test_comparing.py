"""Two voices are made one after the other, measured alike, and never both in memory."""

from collections.abc import Iterator

import numpy as np
import pytest

from kazeia_desktop.errors import Cancelled, InferenceError
from kazeia_desktop.frames import Clause, IntArray, SpeechFrame
from kazeia_desktop.pipeline.comparing import Spoken, Voices, compare, equal_codes
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings, TtsSettings
from kazeia_desktop.settings.store import with_value

pytestmark = pytest.mark.unit

A, B = with_value(Settings(), "tts.speed", 0.5), with_value(Settings(), "tts.speed", 2.0)


class Stats:
    def __init__(self, codes: IntArray) -> None:
        self.codes = codes


class Voice:
    """Says as many tenths of a second as the clause has letters, over the speed."""

    sample_rate_hz = 1000
    figures = None

    def __init__(self, settings: Settings, codes: IntArray | None = None) -> None:
        self.name = f"speed {settings.tts.speed}"
        self.speed = settings.tts.speed
        self.closed = False
        self.said: list[str] = []
        if codes is not None:
            self.stats = Stats(codes)

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        self.said.append(clause.spoken)
        for letter in clause.spoken:
            if cancel.is_set():
                return
            yield SpeechFrame(1, 0, np.full(round(100 / self.speed), ord(letter) / 1000, np.float32), 1000)
        yield SpeechFrame(1, 0, np.zeros(0, np.float32), 1000, end_of_clause=True)

    def apply(self, settings: TtsSettings) -> None:
        self.speed, self.name = settings.speed, f"speed {settings.speed}"

    def close(self) -> None:
        self.closed = True


class Shop:
    def __init__(self, shared: bool = False, room: bool = True) -> None:
        self.made: list[Voice] = []
        self.open_when_made: list[int] = []
        self.waited = 0
        self.voices = Voices(self._make, lambda a, b: shared, lambda s: room, self._quiet)

    def _make(self, settings: Settings) -> Voice:
        self.open_when_made.append(sum(not voice.closed for voice in self.made))
        self.made.append(Voice(settings))
        return self.made[-1]

    def _quiet(self, cancel: CancelToken) -> None:
        self.waited += 1


def run(shop: Shop, text: str = "Bonjour.", cancel: CancelToken | None = None) -> tuple[Spoken, Spoken]:
    return compare(text, (A, B), shop.voices, cancel or CancelToken(), lambda at, seconds: None)


def test_two_models_are_never_both_in_memory() -> None:
    shop = Shop()
    one, other = run(shop)
    assert shop.open_when_made == [0, 0] and all(voice.closed for voice in shop.made)
    assert (one.voice, other.voice) == ("speed 0.5", "speed 2.0")
    assert one.seconds == pytest.approx(1.6) and other.seconds == pytest.approx(0.4)
    assert one.load_ms is not None and other.load_ms is not None
    assert [voice.said for voice in shop.made] == [["Oui.", "Bonjour."]] * 2


def test_a_model_that_serves_both_is_loaded_once() -> None:
    shop = Shop(shared=True)
    one, other = run(shop)
    assert len(shop.made) == 1 and shop.made[0].closed
    assert one.load_ms is not None and other.load_ms is None
    assert one.seconds == pytest.approx(1.6) and other.seconds == pytest.approx(0.4)


def test_the_conversation_may_go_first_between_all_pieces() -> None:
    shop = Shop()
    run(shop)
    assert shop.waited >= 2 + 2 * len("Bonjour.")


def test_what_is_told_on_the_way() -> None:
    told: list[tuple[int, float]] = []
    compare("Oui.", (A, B), Shop().voices, CancelToken(), lambda at, seconds: told.append((at, round(seconds, 2))))
    assert told[0] == (0, 0.0) and told[4] == (0, 0.8) and told[-1] == (1, 0.2)


def test_too_little_memory_is_told_before_anything_is_loaded() -> None:
    shop = Shop(room=False)
    with pytest.raises(InferenceError, match="not enough memory"):
        run(shop)
    assert not shop.made


def test_nothing_to_say() -> None:
    shop = Shop()
    with pytest.raises(InferenceError, match="nothing that can be said"):
        run(shop, "***")
    assert shop.made[0].closed


def test_cancelling_closes_what_was_loaded() -> None:
    shop, token = Shop(), CancelToken()
    seen: list[float] = []

    def report(at: int, seconds: float) -> None:
        seen.append(seconds)
        if at == 1 and seconds:
            token.set()

    with pytest.raises(Cancelled):
        compare("Bonjour.", (A, B), shop.voices, token, report)
    assert len(shop.made) == 2 and all(voice.closed for voice in shop.made)
    assert len(seen) == 1 + 8 + 1 + 1


def coded(codes: IntArray | None) -> Spoken:
    return Spoken("x", np.ones(10, np.float32), 1000, None, 1.0, 1.0, None, codes)


def test_the_share_of_equal_codes_is_of_the_longer() -> None:
    codes = np.arange(64, dtype=np.int32).reshape(4, 16)
    other = codes.copy()
    other[3] += 1
    assert equal_codes(coded(codes), coded(codes)) == 1.0
    assert equal_codes(coded(codes), coded(other)) == 0.75
    assert equal_codes(coded(codes), coded(codes[:2])) == 0.5
    assert equal_codes(coded(codes), coded(None)) is None


def test_codes_are_those_of_a_voice_that_has_some() -> None:
    codes = np.zeros((3, 16), np.int32)
    voices = Voices(lambda s: Voice(s, codes), lambda a, b: False, lambda s: True, lambda token: None)
    one, other = compare("Oui.", (A, B), voices, CancelToken(), lambda at, seconds: None)
    assert equal_codes(one, other) == 1.0
