"""Kazeia's own voice against the official implementation: every stage, and all of them end to end.

The figures are those of PyTorch in float32; `qwen3_sets` says what each is. Bounds are what an exact float32 engine
keeps: codes and tokens equal, embeddings 1e-4, hidden states 5e-4, logits 1e-3, audio 2e-4, the x-vector 2e-3.
"""

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop import _native
from kazeia_desktop.errors import InferenceError, SettingsError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from tests.golden import qwen3_sets as sets
from tests.golden.qwen3_sets import Figures, GoldenSet

pytestmark = pytest.mark.golden

BASES = (sets.EQUAL, sets.PROJECTED)
ISAS = ("scalar", "neon" if platform.machine() in ("aarch64", "arm64") else "avx2")


@dataclass(frozen=True, slots=True)
class Case:
    """An engine, and what it must say."""

    golden: GoldenSet
    tts: Qwen3Tts
    figures: Figures


def close(got: FloatArray, want: np.ndarray, bound: float) -> None:
    np.testing.assert_allclose(got, want, rtol=0, atol=bound)


@pytest.fixture(scope="module", params=BASES, ids=lambda golden: golden.name)
def case(request: pytest.FixtureRequest, model_of: Callable[[GoldenSet, str], Path]) -> Case:
    golden: GoldenSet = request.param
    return Case(golden, Qwen3Tts.load(model_of(golden, "f32"), threads=2), golden.figures())


@pytest.fixture(scope="module")
def speakers(model_of: Callable[[GoldenSet, str], Path]) -> Case:
    return Case(sets.SPEAKERS, Qwen3Tts.load(model_of(sets.SPEAKERS, "f32"), threads=2), sets.SPEAKERS.figures())


@pytest.fixture(scope="module")
def on_llama(case: Case, model_of: Callable[[GoldenSet, str], Path]) -> Case:
    return Case(case.golden, Qwen3Tts.load(model_of(case.golden, "f32"), threads=2, talker="llama"), case.figures)


@pytest.fixture(params=ISAS)
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each of this machine's instruction sets."""
    before = _native.cpu_isa()
    assert _native._core.select_isa(request.param) == ""
    assert _native.cpu_isa() == request.param
    yield request.param
    _native._core.select_isa(before)


@pytest.fixture(params=[*ISAS, "llama"])
def talking(request: pytest.FixtureRequest, case: Case, on_llama: Case) -> Iterator[Case]:
    """The talker on our kernels, for each instruction set, and on llama.cpp."""
    if request.param == "llama":
        yield on_llama
        return
    before = _native.cpu_isa()
    assert _native._core.select_isa(request.param) == ""
    yield case
    _native._core.select_isa(before)


@pytest.mark.parametrize("golden", sets.SETS, ids=lambda golden: golden.name)
def test_the_weights_are_those_of_the_figures(golden: GoldenSet, checkpoint_of: Callable[[GoldenSet], Path]) -> None:
    """When this fails, the generator of random weights has changed: run tools/make_tts_goldens.py again."""
    assert sets.digest(checkpoint_of(golden)) == str(golden.figures()["digest"])


@pytest.mark.parametrize("i", range(len(sets.SENTENCES)))
def test_tokens(case: Case, i: int) -> None:
    np.testing.assert_array_equal(case.tts.tokenize(sets.SENTENCES[i]), case.figures[f"tokens_{i}"])


@pytest.mark.parametrize("i", range(len(sets.NEUTRAL)))
def test_what_looks_like_a_special_token_is_text(case: Case, i: int) -> None:
    tokens = case.tts.tokenize(sets.NEUTRAL[i])
    np.testing.assert_array_equal(tokens, case.figures[f"neutral_{i}"])
    assert max(tokens[3:-5]) < 151643


def test_speaker_embedding(case: Case) -> None:
    close(case.tts.speaker_embedding(sets.clip()), case.figures["xvector"], 2e-3)


@pytest.mark.parametrize("mode", ["whole", "streamed"])
@pytest.mark.parametrize("voice", ["xvector", "none"])
@pytest.mark.parametrize("i", [0, 1])
def test_prompt(case: Case, mode: str, voice: str, i: int) -> None:
    vector = case.figures["xvector"] if voice == "xvector" else None
    prompt, rows = case.tts.prefill_embeds(sets.SENTENCES[i], voice=vector, language="fr", text_mode=mode)
    close(prompt, case.figures[f"prompt_{mode}_{voice}_{i}"], 1e-4)
    close(rows, case.figures[f"rows_{mode}_{voice}_{i}"], 1e-4)


@pytest.mark.parametrize("language", sets.LANGUAGES)
def test_languages(case: Case, language: str) -> None:
    text = sets.SENTENCES[sets.SHORT]
    prompt, _ = case.tts.prefill_embeds(text, voice=case.figures["xvector"], language=language)
    close(prompt, case.figures[f"prompt_language_{language}"], 1e-4)


@pytest.mark.parametrize(("speaker", "language"), sets.SPOKEN)
def test_the_models_own_speakers(speakers: Case, speaker: str, language: str) -> None:
    """By name in any case; a speaker of a dialect speaks it in Chinese, or when the language is left to the model."""
    prompt, _ = speakers.tts.prefill_embeds(sets.SENTENCES[sets.SHORT], voice=speaker, language=language)
    close(prompt, speakers.figures[f"prompt_speaker_{speaker}_{language}"], 1e-4)


def test_a_speakers_codes(speakers: Case) -> None:
    want = speakers.figures["greedy_whole_vivian_0"]
    got = speakers.tts.generate_codes(sets.SENTENCES[0], voice="vivian", max_frames=len(want))
    np.testing.assert_array_equal(got, want)


def test_a_custom_voice_model_learns_none(speakers: Case) -> None:
    with pytest.raises(InferenceError, match="cannot learn voices"):
        speakers.tts.speaker_embedding(sets.clip())


@pytest.mark.parametrize("change", [-1, 1])
def test_a_voice_of_another_width(case: Case, change: int) -> None:
    voice = np.zeros(case.tts.manifest.description.talker.hidden + change, np.float32)
    with pytest.raises(SettingsError, match=f"has {len(voice)} numbers"):
        case.tts.prefill_embeds("Oui.", voice=voice)


def test_a_voice_that_is_no_number(case: Case) -> None:
    voice = np.full(case.tts.manifest.description.talker.hidden, np.nan, np.float32)
    with pytest.raises(SettingsError):
        case.tts.prefill_embeds("Oui.", voice=voice)


def test_unknown_speaker_and_language(case: Case, speakers: Case) -> None:
    with pytest.raises(SettingsError, match=r"'nobody'.*vivian"):
        speakers.tts.prefill_embeds("Oui.", voice="nobody")
    with pytest.raises(SettingsError, match=r"'breton'.*auto.*french"):
        case.tts.prefill_embeds("Oui.", language="breton")


def test_frame_embeddings(case: Case, isa: str) -> None:
    close(case.tts.frame_embeds(case.figures["forced_codes"].astype(np.int32)), case.figures["frame_embeds"], 1e-4)


def test_talker_all_at_once(talking: Case) -> None:
    prompt = talking.figures["prompt_whole_xvector_0"]
    hidden, logits = talking.tts.talker_forward(np.concatenate([prompt, talking.figures["frame_embeds"]]))
    first = len(prompt) - 1
    close(hidden[first:], talking.figures["talker_hidden"], 5e-4)
    close(logits[first:, :: sets.LOGIT_STRIDE], talking.figures["talker_logits"], 1e-3)


def test_talker_step_by_step(talking: Case) -> None:
    """The five calls of other front ends."""
    session = talking.tts.talker_session()
    prompt = talking.figures["prompt_whole_xvector_0"]
    assert (session.n_embd, session.n_vocab) == (prompt.shape[1], 3072)
    steps = [session.prefill(prompt)] + [session.decode(embed) for embed in talking.figures["frame_embeds"]]
    close(np.stack([hidden for hidden, _ in steps]), talking.figures["talker_hidden"], 5e-4)
    logits = np.stack([logits for _, logits in steps])
    close(logits[:, :: sets.LOGIT_STRIDE], talking.figures["talker_logits"], 1e-3)
    session.reset()
    again = session.prefill(prompt)[0]
    np.testing.assert_array_equal(again, steps[0][0])


def test_talker_with_kept_prefixes(talking: Case) -> None:
    """The states of the constant beginnings, of several voices, serve their prompts, and none of them notices."""
    prompts = [talking.figures[name] for name in ("prompt_whole_xvector_0", "prompt_whole_none_0")]
    prompts.append(talking.figures["prompt_whole_xvector_1"])
    n_prefix = [9, 8, 9]
    np.testing.assert_array_equal(prompts[0][:9], prompts[2][:9])
    fresh = [talking.tts.talker_session().prefill(prompt) for prompt in prompts]
    session = talking.tts.talker_session()
    first = {}
    for i in (0, 1, 2, 0, 1, 2):
        hidden, logits = session.prefill(prompts[i], n_prefix[i])
        close(hidden, fresh[i][0], 1e-4)
        close(logits, fresh[i][1], 1e-4)
        np.testing.assert_array_equal(first.setdefault(i, hidden), hidden, "kept or not, the same bits")
    close(first[0], talking.figures["talker_hidden"][0], 5e-4)


def test_code_predictor_logits(case: Case, isa: str) -> None:
    rows = zip(case.figures["talker_hidden"][:-1], case.figures["forced_codes"].astype(np.int32), strict=True)
    logits = np.stack([case.tts.code_predictor_logits(hidden, codes) for hidden, codes in rows])
    close(logits[:, :, :: sets.CODE_STRIDE], case.figures["predictor_logits"], 1e-3)


def test_code_predictor_greedy(case: Case, isa: str) -> None:
    rows = zip(case.figures["talker_hidden"][:-1], case.figures["forced_codes"], strict=True)
    codes = np.stack([case.tts.code_predictor_greedy(hidden, int(row[0])) for hidden, row in rows])
    np.testing.assert_array_equal(codes, case.figures["predictor_greedy"])


@pytest.mark.parametrize(
    ("mode", "voice", "i"),
    [(mode, *rest) for mode in ("whole", "streamed") for rest in (("xvector", 0), ("xvector", 1), ("none", 0))],
)
def test_greedy_codes_end_to_end(talking: Case, mode: str, voice: str, i: int) -> None:
    want = talking.figures[f"greedy_{mode}_{voice}_{i}"]
    got = talking.tts.generate_codes(
        sets.SENTENCES[i], voice=talking.figures["xvector"] if voice == "xvector" else None, language="french",
        text_mode=mode, greedy=True, max_frames=len(want),
    )  # fmt: skip
    np.testing.assert_array_equal(got, want)


def test_codec_whole(case: Case) -> None:
    audio = case.tts.decode_codes(case.figures["codec_codes"].astype(np.int32))
    assert audio.shape == (sets.CODEC_FRAMES * 1920,)
    close(audio[:: sets.AUDIO_STRIDE], case.figures["codec_audio"], 2e-4)


@pytest.mark.parametrize("plan", ["one", "ramp", "random"])
def test_codec_in_pieces(case: Case, plan: str) -> None:
    """One stream, used twice with a reset between."""
    codes = case.figures["codec_codes"].astype(np.int32)
    sizes = {"one": [1] * 90, "ramp": [1, 2, 4] + [8] * 11, "random": [7, 1, 16, 3, 30, 2, 11, 20]}[plan]
    stream = case.tts.codec_stream()
    stream.push(codes[40:77])
    stream.reset()
    cuts = np.cumsum(sizes)[:-1]
    audio = np.concatenate([stream.push(part) for part in np.split(codes, cuts) if len(part)])
    close(audio[:: sets.AUDIO_STRIDE], case.figures["codec_audio"], 2e-4)
    close(audio, case.tts.decode_codes(codes), 1e-5)
