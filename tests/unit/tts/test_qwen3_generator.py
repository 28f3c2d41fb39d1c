"""Frames from a scripted talker: what may be drawn, what each frame adds, and why the speech ends."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from kazeia_desktop.errors import Cancelled, InferenceError
from kazeia_desktop.formats.voice_description import Sampling
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3_generator import FrameGenerator, Speech
from kazeia_desktop.tts.qwen3_guard import LONGEST_PERIOD, LOOP_FRAMES, frame_budget
from tests.unit.tts.qwen3_fakes import EOS, N_POSITIONS, PAD, VOCAB, FakePredictor, FakeTalker, generator, wanting

pytestmark = pytest.mark.unit

GREEDY = Sampling(0.0, 0, 1.0)
VARIED = [int(code) for code in np.random.default_rng(2).integers(0, 2048, 500)]


def speech(rows: Iterable[float] = (), n_bytes: int = 4, prompt: int = 3) -> Speech:
    return Speech(np.zeros((prompt, 1), np.float32), 2, (np.array([row], np.float32) for row in rows), [n_bytes])


def run(
    frames: FrameGenerator,
    said: Speech | None = None,
    *,
    sampling: Sampling = GREEDY,
    window: int = 0,
    max_frames: int | None = None,
    seed: int = 0,
    cancel: CancelToken | None = None,
    silent: CancelToken | None = None,
    each: Callable[[int], object] = lambda n: None,
) -> list[int]:
    """Codebook 0 of all frames. each: called with a frame's number, between two frames."""
    codes = []
    for n, frame in enumerate(
        frames.frames(
            said or speech(), seed, sampling, GREEDY, window, max_frames, cancel or CancelToken(),
            silent or CancelToken(),
        )
    ):  # fmt: skip
        assert frame.shape == (16,) and frame.dtype == np.int32
        np.testing.assert_array_equal(frame[1:], n)
        codes.append(int(frame[0]))
        each(n)
    return codes


def setting(token: CancelToken, after: int) -> Callable[[int], None]:
    """Sets the token after a frame."""

    def each(n: int) -> None:
        if n == after:
            token.set()

    return each


def script(*codes: int) -> FakeTalker:
    return FakeTalker(lambda step: wanting(codes[min(step, len(codes) - 1)], second=7))


def test_it_ends_when_the_talker_does() -> None:
    talker = script(4, 5, 6, EOS)
    frames = generator(talker)
    assert run(frames) == [4, 5, 6]
    assert frames.stop == "eos"
    assert talker.n_prefix == 2 and len(talker.prompt) == 3


def test_the_first_two_frames_are_never_the_end() -> None:
    frames = generator(script(EOS))
    assert run(frames) == [7, 7]
    assert frames.stop == "eos"


@pytest.mark.parametrize("code", [2048, 2149, 2151, 3071])
def test_what_is_no_sound_is_not_drawn(code: int) -> None:
    assert run(generator(script(code, code, code, EOS))) == [7, 7, 7]


def test_each_frame_adds_its_row_of_text_then_the_pad() -> None:
    talker = script(4, 5, 6, 7, EOS)
    run(generator(talker), speech(rows=[10, 20]))
    assert [float(embed[0]) for embed in talker.embeds] == [4 + 10, 5 + 20, 6 + PAD[0], 7 + PAD[0]]


def test_a_text_has_its_budget() -> None:
    frames = generator(script(*VARIED))
    assert run(frames, speech(n_bytes=10)) == VARIED[: frame_budget(10)]
    assert frames.stop == "budget"


def test_a_text_that_grows_has_a_budget_that_grows() -> None:
    said = speech(n_bytes=1)
    frames = generator(script(*VARIED))

    def grow(n: int) -> None:
        if n == 20:
            said.text_bytes[0] = 30

    assert len(run(frames, said, each=grow)) == frame_budget(30)


@pytest.mark.parametrize("n", [0, 1, 100])
def test_a_bound_of_frames_is_exact(n: int) -> None:
    frames = generator(script(*VARIED))
    assert run(frames, max_frames=n) == VARIED[:n]
    assert frames.stop == "budget"


def test_no_more_than_the_talker_can_hold() -> None:
    frames = generator(script(*VARIED))
    assert len(run(frames, speech(prompt=N_POSITIONS - 12), max_frames=300)) == 12
    assert frames.stop == "budget"


def test_a_loop_is_stopped() -> None:
    frames = generator(FakeTalker(lambda step: wanting((3, 1, 2)[step % 3])))
    assert len(run(frames, speech(n_bytes=100))) == LOOP_FRAMES + LONGEST_PERIOD
    assert frames.stop == "loop"


def test_with_a_bound_of_frames_a_loop_goes_on() -> None:
    frames = generator(FakeTalker(lambda step: wanting(3)))
    silent = CancelToken()
    silent.set()
    assert run(frames, max_frames=60, silent=silent) == [3] * 60
    assert frames.stop == "budget"


def test_when_nothing_is_heard_any_more() -> None:
    silent = CancelToken()
    frames = generator(script(*VARIED))
    assert len(run(frames, silent=silent, each=setting(silent, 5))) == 6
    assert frames.stop == "silence"


def test_a_stop_between_frames() -> None:
    cancel = CancelToken()
    talker = script(*VARIED)
    frames = generator(talker)
    assert len(run(frames, cancel=cancel, each=setting(cancel, 2))) == 3
    assert frames.stop == "cancel"
    assert len(talker.embeds) == 2  # nothing is computed after it


@pytest.mark.parametrize("step", [0, 3])
def test_a_stop_within_the_talker(step: int) -> None:
    """The token is set while llama.cpp computes, which then gives up."""
    cancel = CancelToken()

    def logits(now: int) -> FloatArray:
        return wanting(VARIED[now])

    talker = FakeTalker(logits, fails_at=step)
    frames = generator(talker)
    decode, prefill = talker.decode, talker.prefill

    def failing_decode(embed: FloatArray) -> tuple[FloatArray, FloatArray]:
        if len(talker.embeds) + 1 == step:
            cancel.set()
        return decode(embed)

    def failing_prefill(embeds: FloatArray, n_prefix: int = 0) -> tuple[FloatArray, FloatArray]:
        if step == 0:
            cancel.set()
        return prefill(embeds, n_prefix)

    talker.decode, talker.prefill = failing_decode, failing_prefill  # type: ignore[method-assign]
    assert len(run(frames, cancel=cancel)) == step
    assert frames.stop == "cancel"


def test_a_text_that_is_cancelled_while_it_comes() -> None:
    def rows() -> Iterable[float]:
        yield 1.0
        raise Cancelled

    frames = generator(script(*VARIED))
    assert len(run(frames, speech(rows=rows()))) == 2
    assert frames.stop == "cancel"


def test_a_talker_that_fails() -> None:
    with pytest.raises(InferenceError, match=r"The voice failed \(cancelled\)"):
        run(generator(FakeTalker(lambda step: wanting(1), fails_at=2)))


def test_a_code_predictor_that_fails() -> None:
    with pytest.raises(InferenceError, match="not finite"):
        run(generator(script(*VARIED), FakePredictor(fails_at=1)))


@pytest.mark.parametrize("figure", [np.nan, np.inf])
def test_figures_that_are_none(figure: float) -> None:
    logits = wanting(1)
    logits[9] = figure
    with pytest.raises(InferenceError, match="figures are not finite"):
        run(generator(FakeTalker(lambda step: logits)))


@pytest.mark.parametrize(
    ("window", "want"), [(0, [10, 11, 12, 13, 14]), (1, [10, 11, 10, 11, 10]), (2, [10, 11, 12, 10, 11])]
)
def test_the_repetition_penalty_sees_its_window(window: int, want: list[int]) -> None:
    talker = FakeTalker(lambda step: wanting(10, 11, 12, 13, 14, second=15))
    got = run(generator(talker), sampling=Sampling(0.0, 0, 1.0, 3.0), window=window, max_frames=5)
    assert got == want


def test_the_seed_decides_and_nothing_else() -> None:
    flat = np.zeros(VOCAB, np.float32)
    sampling = Sampling(1.0, 0, 1.0)

    def draw(seed: int) -> list[int]:
        frames = generator(FakeTalker(lambda step: flat))
        return run(frames, sampling=sampling, max_frames=30, seed=seed)

    first = draw(5)
    assert draw(5) == first != draw(6)
    assert len(set(first)) > 20 and max(first) < 2048


def test_the_code_predictors_options_do_not_shift_the_talkers_draws() -> None:
    flat = np.zeros(VOCAB, np.float32)

    class Drawing(FakePredictor):
        def predict(self, hidden: FloatArray, code0: int, options: object, random: object) -> IntArray:
            random.next()  # type: ignore[attr-defined]
            return super().predict(hidden, code0, options, random)  # type: ignore[arg-type]

    def draw(predictor: FakePredictor) -> list[int]:
        frames = generator(FakeTalker(lambda step: flat), predictor)
        return run(frames, sampling=Sampling(1.0, 0, 1.0), max_frames=10)

    assert draw(FakePredictor()) == draw(Drawing())


def test_the_time_of_each_stage_is_kept() -> None:
    frames = generator(script(1, 2, 3, EOS))
    run(frames)
    times = frames.times
    assert (times.layers, times.heads, times.code_predictor_sampling) == (0.001, 0.002, 0.003)
    assert times.talker_head == 0.005
    parts = times.prefill + times.talker + times.talker_sampling + times.code_predictor + times.waiting
    assert 0 < parts <= times.total
