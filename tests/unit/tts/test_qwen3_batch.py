"""Several clauses at once: each as alone, in order, bounded, stopped within a frame. The models are tiny and real."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.errors import Cancelled, InferenceError, SettingsError
from kazeia_desktop.frames import FloatArray, IntArray, SpeechFrame
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.worker import Worker
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_clause import Spoken
from kazeia_desktop.tts.qwen3_options import SpeechOptions, SpeechStats
from tests.fakes.micro_voice import write_checkpoint

pytestmark = pytest.mark.unit

PER_FRAME = 1920
TEXTS = ("Bonjour.", "Il fait beau ce matin, je crois.", "Oui", "Une autre phrase, plus longue que les autres.", "Fin.")
WAIT_S = 10.0


class Loudness:
    """In place of the codec's stream. calls: frames of each call. Waits at `gate` where there is one."""

    def __init__(self, loud: bool = True) -> None:
        self.loud = loud
        self.calls: list[int] = []
        self.gate: threading.Event | None = None
        self.reached = threading.Event()
        self.stopped = threading.Event()

    def reset(self) -> None:
        self.stopped.clear()

    def stop(self) -> None:
        self.stopped.set()
        if self.gate is not None:
            self.gate.set()

    def push(self, codes: IntArray, cancel: CancelToken | None = None) -> FloatArray:
        self.calls.append(len(codes))
        self.reached.set()
        if self.gate is not None:
            assert self.gate.wait(WAIT_S)
        if self.stopped.is_set():
            raise Cancelled
        return np.full(len(codes) * PER_FRAME, 0.5 if self.loud else 0.0, np.float32)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("voice")
    source = OfficialSource(write_checkpoint(base / "c"))
    return {dtype: convert(source, base / dtype, dtype).directory for dtype in ("f32", "q8_0", "q4_0")}


@pytest.fixture(scope="module")
def loaded(models: dict[str, Path]) -> Qwen3Tts:
    return Qwen3Tts.load(models["f32"], 2)


@pytest.fixture
def codec(loaded: Qwen3Tts, monkeypatch: pytest.MonkeyPatch) -> Loudness:
    stream = Loudness()
    monkeypatch.setattr(loaded, "_codec_stream", stream)
    return stream


def clause(number: int, frames: int | None = 6, **changed: object) -> Spoken:
    """The number decides text, seed and length."""
    n = None if frames is None else frames + 3 * number
    options = SpeechOptions(seed=100 + number, max_frames=n, **changed)  # type: ignore[arg-type]
    return Spoken(TEXTS[number % len(TEXTS)], None, options)


def alone(tts: Qwen3Tts, spoken: Spoken) -> SpeechStats:
    for _ in tts.synthesize(spoken.text, spoken.voice, spoken.options, CancelToken()):
        pass
    return tts.stats


def together(tts: Qwen3Tts, frames: Iterator[SpeechFrame]) -> list[SpeechStats]:
    """The statistics of each clause, and that its sound is all of it."""
    found, samples = [], 0
    for frame in frames:
        samples += len(frame.samples)
        if frame.end_of_clause:
            assert tts.stats.retries or samples == tts.stats.frames * PER_FRAME
            found.append(tts.stats)
            samples = 0
    assert samples == 0
    return found


def waiting(*clauses: Spoken) -> "Waiting":
    return Waiting(list(clauses))


class Waiting:
    """Clauses that wait, handed out one at a time. asked: in which thread."""

    def __init__(self, clauses: list[Spoken]) -> None:
        self.clauses = clauses
        self.asked: set[str] = set()

    def __call__(self) -> Spoken | None:
        self.asked.add(threading.current_thread().name)
        return self.clauses.pop(0) if self.clauses else None


@pytest.mark.parametrize("dtype", ["f32", "q8_0", "q4_0"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_clause_gets_the_codes_it_gets_alone(
    models: dict[str, Path], dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tts = Qwen3Tts.load(models[dtype], threads)
    monkeypatch.setattr(tts, "_codec_stream", Loudness())
    clauses = [clause(i) for i in range(5)]
    clauses[2] = clause(2, text_mode="whole", penalty_window=3)
    want = [alone(tts, spoken) for spoken in clauses]
    for given in (1, 2, 4, 5):
        found = together(tts, tts.synthesize_all(clauses[:given], CancelToken(), waiting(*clauses[given:])))
        assert [stats.frames for stats in found] == [6, 9, 12, 15, 18]
        for one, other in zip(found, want, strict=True):
            assert np.array_equal(one.codes, other.codes)
            assert (one.stop, one.seed, one.retries) == (other.stop, other.seed, 0)


def test_real_sound_is_the_sound_of_alone(loaded: Qwen3Tts) -> None:
    clauses = [clause(i) for i in range(3)]
    want = [loaded.decode_codes(alone(loaded, spoken).codes) for spoken in clauses]
    sounds: list[list[FloatArray]] = [[]]
    for frame in loaded.synthesize_all(clauses, CancelToken()):
        sounds[-1].append(frame.samples)
        if frame.end_of_clause:
            sounds.append([])
    assert not sounds.pop()
    for sound, expected in zip(sounds, want, strict=True):
        np.testing.assert_allclose(np.concatenate(sound), expected, atol=1e-5)


def test_the_first_is_generated_before_others_join(loaded: Qwen3Tts, codec: Loudness) -> None:
    codec.gate = threading.Event()
    others = waiting(clause(1), clause(2))
    sounds = loaded.synthesize_all([clause(0, 40)], CancelToken(), others)
    seen: list[SpeechStats] = []
    reader = threading.Thread(target=lambda: seen.extend(together(loaded, sounds)))
    reader.start()
    assert codec.reached.wait(WAIT_S)
    # 16 frames wait for the codec, which stands still: the first is not generated, nobody was asked for more.
    assert not others.asked
    codec.gate.set()
    reader.join(WAIT_S)
    assert others.asked == {"tts-generator"}
    assert [stats.frames for stats in seen] == [40, 9, 12]


def test_four_are_begun_at_most(loaded: Qwen3Tts, codec: Loudness) -> None:
    """Clauses that nobody hears do not pile up: a fifth begins when the first is over."""
    others = waiting(*(clause(i) for i in range(1, 10)))
    most = 0
    sounds = loaded.synthesize_all([clause(0)], CancelToken(), others)
    for heard, frame in enumerate(f for f in sounds if f.end_of_clause):
        assert frame.end_of_clause
        begun = 10 - len(others.clauses)
        most = max(most, begun - heard)
    assert not others.clauses
    assert 2 <= most <= 4


def test_nothing_to_say(loaded: Qwen3Tts) -> None:
    assert list(loaded.synthesize_all([], CancelToken())) == []


def test_what_waits_already_goes_to_the_codec_at_once(loaded: Qwen3Tts, codec: Loudness) -> None:
    together(loaded, loaded.synthesize_all([clause(0, 16), clause(1, 30, stream_frames=2)], CancelToken()))
    assert codec.calls[0] == 1
    assert max(codec.calls) <= 8
    codec.calls.clear()
    together(
        loaded, loaded.synthesize_all([clause(0, 16, stream_frames=0), clause(1, 30, stream_frames=0)], CancelToken())
    )
    assert codec.calls == [16, 33]


def test_a_stop_ends_all(loaded: Qwen3Tts, codec: Loudness) -> None:
    cancel = CancelToken()
    sounds = loaded.synthesize_all([clause(i, 40) for i in range(3)], cancel)
    next(sounds)
    cancel.set()
    assert list(sounds) == []
    assert loaded.stats.stop == "cancel"
    assert not [t for t in threading.enumerate() if t.name == "tts-generator"]
    # And what comes next is not disturbed.
    assert alone(loaded, clause(0)).frames == 6


def test_a_stop_ends_the_codecs_call(loaded: Qwen3Tts, codec: Loudness) -> None:
    codec.gate = threading.Event()
    cancel = CancelToken()
    found: list[SpeechFrame] = []
    sounds = loaded.synthesize_all([clause(0)], cancel)
    reader = threading.Thread(target=lambda: found.extend(sounds))
    reader.start()
    assert codec.reached.wait(WAIT_S)
    cancel.set()
    reader.join(WAIT_S)
    assert not reader.is_alive()
    assert codec.stopped.is_set() and found == []


def test_a_caller_that_turns_away_ends_it(loaded: Qwen3Tts, codec: Loudness) -> None:
    with contextlib.closing(loaded.synthesize_all([clause(0, 90), clause(1, 90)], CancelToken())) as sounds:
        next(sounds)
    assert not [t for t in threading.enumerate() if t.name == "tts-generator"]


def test_what_is_silent_is_begun_once_more(loaded: Qwen3Tts, codec: Loudness) -> None:
    """As alone: with the next seed, once, and in its place."""
    codec.loud = False
    spoken = [clause(i, None) for i in (3, 1)]
    found = together(loaded, loaded.synthesize_all(spoken, CancelToken()))
    assert len(found) == 2
    for stats, one in zip(found, spoken, strict=True):
        assert one.options.seed is not None
        if stats.stop != "eos":
            assert (stats.retries, stats.seed) == (1, one.options.seed + 1)
    assert any(stats.retries for stats in found)


def test_times_add_up(loaded: Qwen3Tts, codec: Loudness) -> None:
    import time

    began = time.perf_counter()
    found = together(loaded, loaded.synthesize_all([clause(i) for i in range(4)], CancelToken()))
    passed_s = time.perf_counter() - began
    assert 0.5 * passed_s < sum(stats.elapsed_s for stats in found) <= passed_s
    for stats in found:
        assert min(stats.talker_ms, stats.code_predictor_ms, stats.codec_ms, stats.prefill_ms, stats.elapsed_s) > 0
        assert stats.ttfa_ms is not None and stats.profile["code_predictor"]["compute"] > 0
    models_s = sum((s.talker_ms + s.code_predictor_ms) * s.frames / 1000 for s in found)
    assert models_s < passed_s


def test_a_failure_is_told(loaded: Qwen3Tts, codec: Loudness, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Spoken("Bonjour.", "nobody", SpeechOptions(max_frames=4))
    with pytest.raises(SettingsError, match="nobody"):
        list(loaded.synthesize_all([clause(0), wrong], CancelToken()))
    monkeypatch.setattr(loaded._prompts, "pad", np.full_like(loaded._prompts.pad, np.nan))
    generator = loaded._generator
    monkeypatch.setattr(generator, "_pad", loaded._prompts.pad)
    with pytest.raises(InferenceError, match="not finite"):
        list(loaded.synthesize_all([clause(0, 60)], CancelToken()))


TOO_LONG = Spoken("mot " * 1100, None, SpeechOptions(text_mode="whole", max_frames=4))


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (TOO_LONG, InferenceError, "longer than"),
        (Spoken("Bonjour.", "nobody", SpeechOptions(max_frames=4)), SettingsError, "nobody"),
        (Spoken("Bonjour.", None, SpeechOptions(language="volapük", max_frames=4)), SettingsError, "volapük"),
    ],
)
@pytest.mark.parametrize("given", [1, 4])
def test_what_cannot_be_spoken_leaves_what_is_before_it(
    loaded: Qwen3Tts, codec: Loudness, wrong: Spoken, error: type[Exception], said: str, given: int
) -> None:
    clauses = [clause(0), clause(1), wrong, clause(3)]
    ends: list[int] = []
    with pytest.raises(error, match=said):
        for frame in loaded.synthesize_all(clauses[:given], CancelToken(), waiting(*clauses[given:])):
            if frame.end_of_clause:
                ends.append(loaded.stats.frames)  # noqa: PERF401 - kept although the loop ends with an error
    assert ends == [6, 9]
    assert alone(loaded, clause(0)).frames == 6


@pytest.mark.parametrize("in_turn", [False, True])
def test_pieces_may_be_longer_than_what_may_wait(
    loaded: Qwen3Tts, codec: Loudness, monkeypatch: pytest.MonkeyPatch, in_turn: bool
) -> None:
    monkeypatch.setattr(loaded, "_in_turn", lambda: in_turn)
    cancel = CancelToken()
    rescue = threading.Timer(WAIT_S, cancel.set)
    rescue.start()
    found = together(loaded, loaded.synthesize_all([clause(0, 60, stream_frames=100, ramp=(20, 100))], cancel))
    rescue.cancel()
    assert [stats.frames for stats in found] == [60]
    assert sum(codec.calls) == 60 and codec.calls[0] == 20


@pytest.mark.parametrize("together_", [False, True])
def test_an_interrupt_while_the_thread_begins_ends_it(
    loaded: Qwen3Tts, codec: Loudness, monkeypatch: pytest.MonkeyPatch, together_: bool
) -> None:
    start = Worker.start

    def interrupted(worker: Worker) -> None:
        start(worker)
        raise KeyboardInterrupt

    spoken = clause(0, 40)
    with monkeypatch.context() as patch:
        patch.setattr(Worker, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            if together_:
                list(loaded.synthesize_all([spoken], CancelToken()))
            else:
                list(loaded.synthesize(spoken.text, None, spoken.options, CancelToken()))
    left = [thread for thread in threading.enumerate() if thread.name == "tts-generator"]
    assert not left
    assert alone(loaded, clause(0)).frames == 6


def test_llamas_talker_makes_one_after_the_other(models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    tts = Qwen3Tts.load(models["f32"], 1, talker="llama")
    monkeypatch.setattr(tts, "_codec_stream", Loudness())
    others = waiting(clause(2))
    found = together(tts, tts.synthesize_all([clause(0), clause(1)], CancelToken(), others))
    assert [stats.frames for stats in found] == [6, 9, 12]
