"""What must not change the voice: threads, pieces of sound and of text, a stop; and what weight types may change."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kazeia_desktop._native import TalkerModel
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.voice_manifest import CODE_PREDICTOR, TALKER
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_options import SpeechOptions, SpeechStats
from kazeia_desktop.tts.qwen3_text import TextTokenizer
from tests.golden import qwen3_sets as sets
from tests.golden.code_predictor_reference import Shape, _decoder, reference_greedy, reference_logits
from tests.golden.qwen3_sets import Figures, GoldenSet

pytestmark = pytest.mark.golden

ModelOf = Callable[[GoldenSet, str], Path]
SEED = 7
FRAMES = 21
PER_FRAME = 1920
THREE_FRAMES_S = 3 * 0.08


@pytest.fixture(scope="module", params=(sets.EQUAL, sets.PROJECTED), ids=lambda golden: golden.name)
def golden(request: pytest.FixtureRequest) -> GoldenSet:
    found: GoldenSet = request.param
    return found


@pytest.fixture(scope="module")
def figures(golden: GoldenSet) -> Figures:
    return golden.figures()


@pytest.fixture(scope="module")
def tts(golden: GoldenSet, model_of: ModelOf) -> Qwen3Tts:
    return Qwen3Tts.load(model_of(golden, "f32"), threads=2)


def speak(
    tts: Qwen3Tts, text: str | Iterator[str], voice: FloatArray | None, **changes: object
) -> tuple[FloatArray, SpeechStats]:
    """Sound and statistics of at most FRAMES frames."""
    options = SpeechOptions(**{"seed": SEED, "max_frames": FRAMES, **changes})  # type: ignore[arg-type]
    frames = list(tts.synthesize(text, voice, options, CancelToken()))
    assert [frame.end_of_clause for frame in frames] == [False] * (len(frames) - 1) + [True]
    return np.concatenate([frame.samples for frame in frames]), tts.stats


@pytest.fixture(scope="module")
def spoken(tts: Qwen3Tts, figures: Figures) -> tuple[FloatArray, IntArray]:
    """What SENTENCES[1] sounds like, with the x-vector and SEED; all at once."""
    audio, stats = speak(tts, sets.SENTENCES[1], figures["xvector"], stream_frames=0)
    assert (stats.frames, stats.chunks, stats.stop, stats.retries) == (FRAMES, 1, "budget", 0)
    assert len({tuple(row) for row in stats.codes.tolist()}) > FRAMES // 2
    np.testing.assert_allclose(audio, tts.decode_codes(stats.codes), rtol=0, atol=1e-5)
    return audio, stats.codes


@pytest.mark.parametrize("stream_frames", [0, 1, 2, 4, 8])
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_chunks(
    tts: Qwen3Tts, figures: Figures, spoken: tuple[FloatArray, IntArray], stream_frames: int, threads: int
) -> None:
    tts.set_threads(threads, threads)
    audio, stats = speak(tts, sets.SENTENCES[1], figures["xvector"], stream_frames=stream_frames)
    np.testing.assert_array_equal(stats.codes, spoken[1])
    np.testing.assert_allclose(audio, spoken[0], rtol=0, atol=1e-4)


def test_the_seed_decides(tts: Qwen3Tts, figures: Figures, spoken: tuple[FloatArray, IntArray]) -> None:
    _, stats = speak(tts, sets.SENTENCES[1], figures["xvector"], seed=SEED + 1)
    assert not np.array_equal(stats.codes, spoken[1])
    codes = tts.generate_codes(
        sets.SENTENCES[1], figures["xvector"], text_mode="streamed", greedy=False, max_frames=FRAMES, seed=SEED
    )
    np.testing.assert_array_equal(codes, spoken[1])


def cut(text: str, plan: str) -> list[str]:
    """The text in pieces."""
    if plan == "letters":
        return list(text)
    if plan == "words":
        return [" " * (i > 0) + word for i, word in enumerate(text.split(" "))]
    random = np.random.default_rng(len(text))
    cuts = sorted(random.integers(0, len(text) + 1, 5).tolist())
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@pytest.mark.parametrize("plan", ["letters", "words", "random"])
def test_text_in_pieces(tts: Qwen3Tts, figures: Figures, plan: str) -> None:
    whole, stats = speak(tts, sets.SENTENCES[1], figures["xvector"], text_mode="streamed")
    want = stats.codes
    audio, stats = speak(tts, iter(cut(sets.SENTENCES[1], plan)), figures["xvector"], text_mode="streamed")
    np.testing.assert_array_equal(stats.codes, want)
    np.testing.assert_allclose(audio, whole, rtol=0, atol=1e-4)


@pytest.fixture(scope="module")
def tokenizer(model_of: ModelOf) -> TextTokenizer:
    return TextTokenizer(TalkerModel(str(model_of(sets.EQUAL, "f32") / TALKER), True))


@pytest.mark.parametrize("plan", ["letters", "words", "random"])
@pytest.mark.parametrize("text", sets.SENTENCES + sets.NEUTRAL + ("", " ", "\n", "a ", " a", "a  b", "a \n b"))
def test_pieces_become_the_same_tokens(tokenizer: TextTokenizer, text: str, plan: str) -> None:
    assert list(tokenizer.pieces(cut(text, plan))) == tokenizer.text(text).tolist()


@pytest.mark.parametrize("mode", ["whole", "streamed"])
def test_a_text_of_nothing(tts: Qwen3Tts, figures: Figures, mode: str) -> None:
    audio, stats = speak(tts, "", figures["xvector"], text_mode=mode, max_frames=3)
    assert stats.frames == 3 and len(audio) == 3 * PER_FRAME


class Stopwatch:
    """Sets the token, and tells how long ago that was."""

    def __init__(self) -> None:
        self.token = CancelToken()
        self._at = 0.0

    def press(self) -> None:
        self._at = time.monotonic()
        self.token.set()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._at


def clean(tts: Qwen3Tts, voice: FloatArray, spoken: tuple[FloatArray, IntArray]) -> None:
    """The next utterance is what it would have been without the one before."""
    audio, stats = speak(tts, sets.SENTENCES[1], voice, stream_frames=0)
    np.testing.assert_array_equal(stats.codes, spoken[1])
    np.testing.assert_allclose(audio, spoken[0], rtol=0, atol=1e-5)


def test_a_stop_during_the_prompt(
    tts: Qwen3Tts, figures: Figures, spoken: tuple[FloatArray, IntArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, prefill = Stopwatch(), tts._session.prefill

    def pressed(embeds: FloatArray, n_prefix: int = 0) -> tuple[FloatArray, FloatArray]:
        watch.press()
        return prefill(embeds, n_prefix)

    monkeypatch.setattr(tts._session, "prefill", pressed)
    frames = list(tts.synthesize("un deux trois " * 250, figures["xvector"], SpeechOptions(seed=SEED), watch.token))
    assert watch.elapsed_s < THREE_FRAMES_S
    assert frames == [] and tts.stats.stop == "cancel"
    monkeypatch.undo()
    clean(tts, figures["xvector"], spoken)


@pytest.mark.parametrize("after", [1, 2, 5])
def test_a_stop_between_two_pieces_of_sound(
    tts: Qwen3Tts, figures: Figures, spoken: tuple[FloatArray, IntArray], after: int
) -> None:
    watch, heard = Stopwatch(), 0
    for _ in tts.synthesize(sets.SENTENCES[1], figures["xvector"], SpeechOptions(seed=SEED), watch.token):
        heard += 1
        if heard == after:
            watch.press()
    assert watch.elapsed_s < THREE_FRAMES_S
    assert heard == after and tts.stats.stop == "cancel"
    clean(tts, figures["xvector"], spoken)


@pytest.mark.parametrize("stream_frames", [0, 4])
def test_a_stop_during_the_codec(
    tts: Qwen3Tts,
    figures: Figures,
    spoken: tuple[FloatArray, IntArray],
    monkeypatch: pytest.MonkeyPatch,
    stream_frames: int,
) -> None:
    """Nothing is heard of what was under way."""
    watch, push, calls = Stopwatch(), tts._codec_stream.push, [0]

    def pressed(codes: IntArray, cancel: CancelToken | None = None) -> FloatArray:
        calls[0] += 1
        if calls[0] == (3 if stream_frames else 1):
            sound = push(codes, None)
            watch.press()
            return sound
        return push(codes, cancel)

    monkeypatch.setattr(tts._codec_stream, "push", pressed)
    options = SpeechOptions(seed=SEED, stream_frames=stream_frames, max_frames=60)
    frames = list(tts.synthesize(sets.SENTENCES[1], figures["xvector"], options, watch.token))
    assert watch.elapsed_s < THREE_FRAMES_S
    assert [len(frame.samples) // PER_FRAME for frame in frames] == ([1, 2] if stream_frames else [])
    assert tts.stats.stop == "cancel"
    monkeypatch.undo()
    clean(tts, figures["xvector"], spoken)


def test_a_listener_who_leaves(tts: Qwen3Tts, figures: Figures, spoken: tuple[FloatArray, IntArray]) -> None:
    frames = tts.synthesize(sets.SENTENCES[1], figures["xvector"], SpeechOptions(seed=SEED), CancelToken())
    next(frames)
    began = time.monotonic()
    frames.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < THREE_FRAMES_S
    clean(tts, figures["xvector"], spoken)


def test_codes_after_a_stop(tts: Qwen3Tts, figures: Figures) -> None:
    watch = Stopwatch()
    for _ in tts.synthesize(sets.SENTENCES[1], figures["xvector"], SpeechOptions(seed=SEED), watch.token):
        watch.press()
    want = figures["greedy_whole_xvector_0"]
    codes = tts.generate_codes(sets.SENTENCES[0], voice=figures["xvector"], max_frames=len(want))
    np.testing.assert_array_equal(codes, want)


def test_random_stops(tts: Qwen3Tts, figures: Figures, spoken: tuple[FloatArray, IntArray]) -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        watch, wait = Stopwatch(), int(random.integers(0, 8))
        options = SpeechOptions(seed=SEED, stream_frames=int(random.integers(1, 5)), max_frames=40)
        for i, _frame in enumerate(tts.synthesize(sets.SENTENCES[1], figures["xvector"], options, watch.token)):
            if i == wait:
                watch.press()
    clean(tts, figures["xvector"], spoken)


def exact_weights(path: Path) -> dict[str, FloatArray]:
    """The weights, as a model's file holds them."""
    file = GgufFile(path)
    return {name: file.tensor(name).array() for name in file.tensors}


def shape_of(tts: Qwen3Tts) -> Shape:
    told = tts.manifest.description
    cp = told.code_predictor
    return Shape(
        cp.hidden, cp.layers, cp.heads, cp.kv_heads, cp.head_dim, cp.ffn, cp.rope_theta, cp.rms_norm_eps, cp.vocab,
        cp.codebooks, told.talker.hidden, told.talker.vocab,
    )  # fmt: skip


def talker_shape_of(tts: Qwen3Tts) -> Shape:
    t = tts.manifest.description.talker
    return Shape(
        t.hidden, t.layers, t.heads, t.kv_heads, t.head_dim, t.ffn, t.rope_theta, t.rms_norm_eps, t.vocab, 0, 0, 0
    )


def relative(got: FloatArray, want: NDArray[np.floating]) -> float:
    """RMSE in units of the RMS wanted."""
    return float(np.sqrt(np.mean(np.square(got - want)) / np.mean(np.square(want))))


KEYS_IN_F16 = 3e-3
"""Of states and logits of order one. The weights are exact; the keys and values of earlier positions are rounded."""
# What quantisation may cost against float32, relative RMSE: embeddings, talker's hidden state, code predictor's logits.
# Random weights have no structure that would hide it; those of a trained model lose less.
LOSSES: dict[str, Sequence[float]] = {
    "f16": (6e-5, 5e-4, 1e-5),
    "q8_0": (6e-5, 0.02, 0.03),
    "q4_0": (6e-5, 0.25, 0.4),
}


@pytest.mark.parametrize("dtype", list(LOSSES))
def test_weight_types(golden: GoldenSet, figures: Figures, model_of: ModelOf, dtype: str) -> None:
    """Each stage computes exactly with the weights that it has; those are as near to float32 as their type allows."""
    tts = Qwen3Tts.load(model_of(golden, dtype), threads=2)
    weights, shape = exact_weights(model_of(golden, dtype) / CODE_PREDICTOR), shape_of(tts)
    hidden, codes = figures["talker_hidden"][:-1], figures["forced_codes"].astype(np.int32)

    embeds = tts.frame_embeds(codes)
    exact = sum(weights[f"codec_embd.{book}.weight"][codes[:, book]] for book in range(16))
    _, pad = tts.prefill_embeds("Oui.", text_mode="whole")
    np.testing.assert_allclose(embeds, exact + pad, rtol=0, atol=1e-5)
    assert relative(embeds, figures["frame_embeds"]) <= LOSSES[dtype][0]

    logits = np.stack([tts.code_predictor_logits(state, row) for state, row in zip(hidden, codes, strict=True)])
    np.testing.assert_allclose(logits, reference_logits(shape, weights, hidden, codes), rtol=0, atol=1e-3)
    assert relative(logits[:, :, :: sets.CODE_STRIDE], figures["predictor_logits"]) <= LOSSES[dtype][2]
    greedy = np.stack([tts.code_predictor_greedy(s, int(row[0])) for s, row in zip(hidden, codes, strict=True)])
    np.testing.assert_array_equal(greedy, reference_greedy(shape, weights, hidden, codes[:, 0]))

    prompt = figures["prompt_whole_xvector_0"]
    embeds = np.concatenate([prompt, figures["frame_embeds"]])
    states, logits = tts.talker_forward(embeds)
    weights, shape = exact_weights(model_of(golden, dtype) / TALKER), talker_shape_of(tts)
    exact_states = _decoder(shape, weights, embeds[None].astype(np.float64))[0]
    np.testing.assert_allclose(states, exact_states, rtol=0, atol=KEYS_IN_F16)
    np.testing.assert_allclose(logits, exact_states @ weights["output.weight"].T, rtol=0, atol=KEYS_IN_F16)
    assert relative(states[len(prompt) - 1 :], figures["talker_hidden"]) <= LOSSES[dtype][1]

    audio = tts.decode_codes(figures["codec_codes"].astype(np.int32))
    np.testing.assert_allclose(audio[:: sets.AUDIO_STRIDE], figures["codec_audio"], rtol=0, atol=2e-4)
