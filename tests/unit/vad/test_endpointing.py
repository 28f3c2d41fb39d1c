"""When an utterance begins and ends, by the rules alone."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, AudioFrame, FloatArray
from kazeia_desktop.settings.schema import VadSettings
from kazeia_desktop.vad.endpointing import (
    FRAME_MS,
    PAUSE_FRAMES,
    SpeechDetector,
    SpeechDiscarded,
    SpeechHeard,
    SpeechSoFar,
    UtteranceEnded,
    VadEvent,
)

pytestmark = pytest.mark.unit

FRAME_S = FRAME_MS / 1000


class Gate:
    """Open for every frame that is not silent."""

    def is_open(self, samples: FloatArray) -> bool:
        return bool(samples.any())


class Scorer:
    """The probability of a frame is the value of its samples; counts what it is asked."""

    def __init__(self) -> None:
        self.heard: list[float] = []
        self.n_resets = 0

    def probability(self, samples: FloatArray) -> float:
        self.heard.append(float(samples[0]))
        return float(samples[0])

    def reset(self) -> None:
        self.n_resets += 1
        self.heard.clear()


class Rig:
    """A detector and the frames that were pushed into it."""

    def __init__(self, **changes: float) -> None:
        self.scorer = Scorer()
        self.detector = SpeechDetector(Gate(), self.scorer, VadSettings().model_copy(update=changes))
        self.time_s = 0.0
        self.n_frames = 0

    def push(self, *levels: float) -> list[VadEvent]:
        events = []
        for level in levels:
            self.time_s += FRAME_S
            self.n_frames += 1
            samples = np.full(CAPTURE_FRAME_SAMPLES, level, np.float32)
            events += self.detector.push(AudioFrame(samples, self.time_s))
        return events


def speak(n: int) -> Sequence[float]:
    return [0.9] * n


def silence(n: int) -> Sequence[float]:
    return [0.0] * n


def only(events: list[VadEvent], kind: type[VadEvent]) -> list[VadEvent]:
    return [event for event in events if isinstance(event, kind)]


def ended(events: list[VadEvent]) -> UtteranceEnded:
    (event,) = only(events, UtteranceEnded)
    assert isinstance(event, UtteranceEnded)
    return event


def test_an_utterance_has_its_pre_roll_its_speech_and_its_hangover() -> None:
    rig = Rig()
    events = rig.push(*silence(40), *speak(20), *silence(30))
    assert [type(event) for event in events] == [SpeechHeard, SpeechSoFar, SpeechSoFar, UtteranceEnded]
    said = ended(events)
    n_pre, n_hangover = math.ceil(500 / FRAME_MS), math.ceil(600 / FRAME_MS)
    assert len(said.samples) == (n_pre + 20 + n_hangover) * CAPTURE_FRAME_SAMPLES
    assert np.flatnonzero(said.samples)[0] == n_pre * CAPTURE_FRAME_SAMPLES
    assert said.reason == "silence"
    assert said.speech_end_s == pytest.approx(60 * FRAME_S)
    assert said.ended_s == pytest.approx((60 + n_hangover) * FRAME_S)


def test_the_light_comes_on_after_three_frames_and_once() -> None:
    rig = Rig()
    assert rig.push(0.9, 0.9) == []
    (heard,) = rig.push(0.9)
    assert heard == SpeechHeard(pytest.approx(3 * FRAME_S))  # type: ignore[arg-type]
    assert only(rig.push(*speak(50)), SpeechHeard) == []


def test_the_light_needs_the_barge_in_threshold_three_times_in_a_row() -> None:
    rig = Rig()
    assert rig.push(0.9, 0.9, 0.55, 0.9, 0.9, 0.55) == []
    assert len(rig.push(0.6, 0.6, 0.6)) == 1


def test_speech_is_shown_after_two_frames_and_a_click_is_not() -> None:
    rig = Rig()
    rig.push(*silence(5), 0.9, *silence(1), 0.2)
    assert not rig.detector.seems_speech
    rig.push(0.4, 0.36)  # likely, not yet sure
    assert rig.detector.seems_speech
    rig.push(0.1)
    assert rig.detector.seems_speech  # it does not flicker
    rig.push(*silence(40))
    assert not rig.detector.seems_speech
    assert Rig().push(0.9, 0.9) == []  # showing interrupts nothing


def test_a_click_is_discarded() -> None:
    rig = Rig()
    events = rig.push(*silence(5), 0.9, *silence(40))
    assert [type(event) for event in events] == [SpeechDiscarded]


@pytest.mark.parametrize(("n", "kind"), [(7, SpeechDiscarded), (8, UtteranceEnded)])
def test_250_ms_of_speech_are_needed(n: int, kind: type[VadEvent]) -> None:
    events = Rig().push(*silence(20), *speak(n), *silence(30))
    assert isinstance(events[-1], kind)


def test_between_the_thresholds_speech_goes_on_but_does_not_begin() -> None:
    rig = Rig()
    assert rig.push(*[0.4] * 100) == []
    events = rig.push(*speak(10), *[0.4] * 100)
    assert only(events, UtteranceEnded) == []
    assert ended(rig.push(*[0.3] * 19)).reason == "silence"


def test_a_hesitation_shorter_than_the_hangover_does_not_end_it() -> None:
    rig = Rig()
    events = rig.push(*speak(10), *silence(18), *speak(10), *silence(18), *speak(10), *silence(19))
    assert len(only(events, UtteranceEnded)) == 1


def test_the_longest_turn_ends_by_itself_and_what_follows_is_another() -> None:
    rig = Rig(max_turn_s=5)
    events = rig.push(*silence(20), *speak(400), *silence(30))
    said = [event for event in events if isinstance(event, UtteranceEnded)]
    assert [event.reason for event in said] == ["max_turn", "max_turn", "silence"]
    assert all(len(event.samples) <= 5 * 16_000 + CAPTURE_FRAME_SAMPLES for event in said)
    assert sum(np.count_nonzero(event.samples) for event in said) == 400 * CAPTURE_FRAME_SAMPLES  # nothing is lost


def test_send_now_ends_what_is_being_said() -> None:
    rig = Rig()
    assert rig.detector.send_now() == []
    rig.push(*silence(20), *speak(10))
    said = ended(rig.detector.send_now())
    assert said.reason == "sent"
    assert said.ended_s == pytest.approx(30 * FRAME_S)
    assert rig.detector.send_now() == []
    assert rig.push(*silence(40)) == []


def test_speech_at_once_after_an_end_has_the_silence_between_as_pre_roll() -> None:
    rig = Rig()
    rig.push(*speak(10), *silence(19))
    said = ended(rig.push(*speak(10), *silence(19)))
    assert np.flatnonzero(said.samples)[0] == 16 * CAPTURE_FRAME_SAMPLES


def test_speech_that_begins_with_the_first_frame_is_whole() -> None:
    said = ended(Rig().push(*speak(20), *silence(19)))
    assert np.flatnonzero(said.samples)[0] == 0


def test_settings_are_taken_over_in_the_middle() -> None:
    rig = Rig()
    rig.push(*speak(10), *silence(10))
    rig.detector.apply(VadSettings(hangover_ms=350))
    assert ended(rig.push(0.0)).reason == "silence"


def test_without_pre_roll_the_sound_begins_close_to_the_speech() -> None:
    said = ended(Rig(pre_roll_ms=0).push(*silence(40), *speak(20), *silence(19)))
    assert np.flatnonzero(said.samples)[0] <= 2 * CAPTURE_FRAME_SAMPLES


def test_reset_forgets_what_is_being_said() -> None:
    rig = Rig()
    rig.push(*silence(10), *speak(10))
    rig.detector.reset()
    assert rig.detector.probability == 0.0
    assert rig.push(*silence(40)) == []
    said = ended(rig.push(*speak(10), *silence(19)))
    assert np.count_nonzero(said.samples) == 10 * CAPTURE_FRAME_SAMPLES


def test_the_scorer_rests_in_silence_and_hears_what_led_to_the_speech() -> None:
    rig = Rig()
    rig.push(*silence(200))
    assert rig.scorer.heard == []
    rig.push(0.2)
    assert rig.scorer.heard == [0.0] * 16 + [pytest.approx(0.2)]
    assert rig.scorer.n_resets == 1
    rig.push(*silence(100))
    assert len(rig.scorer.heard) < 60  # a little longer than the gate was open


def test_the_scorer_is_asked_all_through_an_utterance() -> None:
    rig = Rig(hangover_ms=3000)
    rig.push(*speak(10), *silence(60))
    assert len(rig.scorer.heard) == 70


def test_a_score_that_is_no_number_is_silence() -> None:
    rig = Rig()
    assert rig.push(*speak(10))
    rig.scorer.probability = lambda samples: math.nan  # type: ignore[method-assign]
    assert ended(rig.push(*speak(19))).reason == "silence"
    assert rig.detector.probability == 0.0


def test_an_hour_of_silence_or_noise_takes_no_memory() -> None:
    rig = Rig()
    rig.push(*silence(1000), *[0.3] * 1000)
    assert len(rig.detector._before) <= 17
    assert rig.detector._frames == []


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.4, 0.55, 0.9]), st.integers(1, 60)), max_size=40),
    st.integers(5, 30),
    st.integers(0, 2000),
)
def test_whatever_is_heard_the_rules_hold(runs: list[tuple[float, int]], max_turn_s: int, pre_roll_ms: int) -> None:
    rig = Rig(max_turn_s=max_turn_s, pre_roll_ms=pre_roll_ms)
    events = []
    for level, n in runs:
        events += rig.push(*[level] * n)
    last_s = 0.0
    for event in events:
        if isinstance(event, UtteranceEnded):
            assert 0 < len(event.samples) <= max_turn_s * 16_000 + CAPTURE_FRAME_SAMPLES
            assert last_s < event.speech_end_s <= event.ended_s <= rig.time_s
            assert np.count_nonzero(event.samples >= 0.5) > 0
            last_s = event.ended_s
    assert rig.detector._silent_frames * FRAME_MS < 600
    # After it is quiet for long enough nothing is left open.
    rig.push(*silence(25))
    assert rig.detector.send_now() == []


def so_far(events: list[VadEvent]) -> list[SpeechSoFar]:
    return [event for event in events if isinstance(event, SpeechSoFar)]


def test_a_pause_passes_on_all_speech_once_and_the_end_then_brings_nothing_new() -> None:
    rig = Rig()
    (paused,) = so_far(rig.push(*silence(40), *speak(10), *silence(PAUSE_FRAMES)))
    assert paused.paused and paused.speech_end_s == pytest.approx(50 * FRAME_S)
    said = ended(rig.push(*silence(30)))
    assert said.nothing_new
    n = len(paused.samples)
    assert (said.samples[:n] == paused.samples).all() and not said.samples[n:].any()


def test_speech_after_the_pause_is_new_until_the_next_one() -> None:
    rig = Rig()
    first, second = so_far(rig.push(*speak(10), *silence(8), *speak(4), *silence(8)))
    assert first.paused and second.paused
    assert len(second.samples) == len(first.samples) + (2 + 4 + PAUSE_FRAMES) * CAPTURE_FRAME_SAMPLES
    assert ended(rig.push(*silence(30))).nothing_new
    rig.push(*speak(10), *silence(8), *speak(1))
    (sent,) = rig.detector.send_now()
    assert isinstance(sent, UtteranceEnded) and not sent.nothing_new


def test_who_goes_on_speaking_is_passed_on_about_once_a_second() -> None:
    goes_on = so_far(Rig().push(*silence(40), *speak(200)))
    assert [event.paused for event in goes_on] == [False] * 6
    assert {len(b.samples) - len(a.samples) for a, b in itertools.pairwise(goes_on)} == {32 * CAPTURE_FRAME_SAMPLES}


def test_what_is_too_short_to_count_is_not_passed_on() -> None:
    assert so_far(Rig().push(*silence(40), *speak(5), *silence(30))) == []


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 30)), min_size=1, max_size=6))
def test_an_end_without_news_was_passed_on_whole(parts: list[tuple[int, int]]) -> None:
    rig = Rig()
    last: SpeechSoFar | None = None
    for event in [e for n, m in parts for e in rig.push(*speak(n), *silence(m))]:
        if isinstance(event, SpeechSoFar):
            last = event
        elif isinstance(event, UtteranceEnded):
            assert not event.nothing_new or (last is not None and not event.samples[len(last.samples) :].any())
            assert event.reason != "silence" or event.nothing_new  # a silence was a pause before
