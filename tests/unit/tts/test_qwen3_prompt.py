"""The talker's input, on a table whose rows say which they are: one bit of a text row, one of a codec row."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.formats.lazy_tensor import LazyTensor
from kazeia_desktop.formats.voice_description import CODEC_IDS, VoiceDescription
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.qwen3_prompt import LANGUAGES, PromptBuilder

pytestmark = pytest.mark.unit

N_TEXT = 1000
TEXT = {"tts_pad": 901, "tts_bos": 902, "tts_eos": 903}
CODEC = {name: 10 + i for i, name in enumerate(CODEC_IDS)}
ROLE: IntArray = np.array([1, 2, 3], np.int32)
THINK, THINK_BOS, THINK_EOS, NOTHINK = (
    CODEC[f"codec_{name}"] for name in ("think", "think_bos", "think_eos", "nothink")
)
FRENCH, CHINESE, BEIJING, VIVIAN, DYLAN = 61, 55, 74, 100, 101


class Table:
    """Row r of text: (r, 0); of the codec: (0, r)."""

    def rows(self, start: int, stop: int) -> FloatArray:
        rows = [(r, 0) if r < N_TEXT else (0, r - N_TEXT) for r in range(start, stop)]
        return np.array(rows, np.float32)


@pytest.fixture
def prompts() -> PromptBuilder:
    told = SimpleNamespace(
        name="m",
        ids={**TEXT, **CODEC},
        talker=SimpleNamespace(text_vocab=N_TEXT, hidden=2),
        languages={"french": FRENCH, "chinese": CHINESE, "beijing_dialect": BEIJING},
        speakers={"vivian": VIVIAN, "dylan": DYLAN},
        speaker_dialects={"dylan": "beijing_dialect"},
    )
    return PromptBuilder(cast(VoiceDescription, told), cast(LazyTensor, Table()))


def rows(prompt: FloatArray) -> list[tuple[int, int]]:
    """Each position as (text row, codec row)."""
    return [(int(a), int(b)) for a, b in prompt]


def codec_rows(prefix: FloatArray) -> list[int]:
    """Of the positions between the role and the last, which all add the pad."""
    inner = rows(prefix)[len(ROLE) : -1]
    assert {text for text, _ in inner} == {TEXT["tts_pad"]}
    return [code for _, code in inner]


def test_the_prefix_of_no_voice(prompts: PromptBuilder) -> None:
    prefix = prompts.prefix(ROLE, None, "french")
    assert rows(prefix)[:3] == [(1, 0), (2, 0), (3, 0)]
    assert codec_rows(prefix) == [THINK, THINK_BOS, FRENCH, THINK_EOS]
    assert rows(prefix)[-1] == (TEXT["tts_bos"], CODEC["codec_pad"])


def test_left_to_the_model(prompts: PromptBuilder) -> None:
    assert codec_rows(prompts.prefix(ROLE, None, "auto")) == [NOTHINK, THINK_BOS, THINK_EOS]


def test_an_x_vector_takes_the_place_of_a_codec_row(prompts: PromptBuilder) -> None:
    prefix = prompts.prefix(ROLE, np.array([0, 777], np.float32), "fr")
    assert codec_rows(prefix) == [THINK, THINK_BOS, FRENCH, THINK_EOS, 777]


@pytest.mark.parametrize(
    ("speaker", "language", "want"),
    [
        ("vivian", "french", [THINK, THINK_BOS, FRENCH, THINK_EOS, VIVIAN]),
        ("Vivian", "zh", [THINK, THINK_BOS, CHINESE, THINK_EOS, VIVIAN]),
        ("vivian", "auto", [NOTHINK, THINK_BOS, THINK_EOS, VIVIAN]),
        ("dylan", "french", [THINK, THINK_BOS, FRENCH, THINK_EOS, DYLAN]),
        ("DYLAN", "Chinese", [THINK, THINK_BOS, BEIJING, THINK_EOS, DYLAN]),
        ("dylan", "auto", [THINK, THINK_BOS, BEIJING, THINK_EOS, DYLAN]),
    ],
)
def test_the_models_own_speakers(prompts: PromptBuilder, speaker: str, language: str, want: list[int]) -> None:
    assert codec_rows(prompts.prefix(ROLE, speaker, language)) == want


def test_the_whole_text_comes_before_speech(prompts: PromptBuilder) -> None:
    prefix = prompts.prefix(ROLE, None, "french")
    prompt = rows(prompts.whole(prefix, np.array([50, 51], np.int32)))
    pad = CODEC["codec_pad"]
    assert prompt[: len(prefix)] == rows(prefix)
    assert prompt[len(prefix) :] == [
        (50, pad), (51, pad), (TEXT["tts_eos"], pad), (TEXT["tts_pad"], CODEC["codec_bos"]),
    ]  # fmt: skip


def test_a_streamed_text_begins_with_its_first_token(prompts: PromptBuilder) -> None:
    prefix = prompts.prefix(ROLE, None, "french")
    bos = CODEC["codec_bos"]
    assert rows(prompts.streamed(prefix, 50)) == [*rows(prefix), (50, bos)]
    assert rows(prompts.streamed(prefix, None))[-1] == (TEXT["tts_eos"], bos)


def test_what_frames_add_after_the_text(prompts: PromptBuilder) -> None:
    assert rows(np.stack([prompts.end, prompts.pad])) == [(TEXT["tts_eos"], 0), (TEXT["tts_pad"], 0)]


@pytest.mark.parametrize("voice", [np.zeros(3), np.zeros((1, 2)), np.array([1, np.nan]), np.array([np.inf, 0])])
def test_a_voice_that_does_not_fit(prompts: PromptBuilder, voice: FloatArray) -> None:
    with pytest.raises(SettingsError, match=f"has {voice.size} numbers and the model m needs 2"):
        prompts.prefix(ROLE, voice, "french")


def test_a_speaker_who_is_not_there(prompts: PromptBuilder) -> None:
    with pytest.raises(SettingsError, match="'nobody': choose vivian, dylan"):
        prompts.prefix(ROLE, "nobody", "french")


@pytest.mark.parametrize("language", ["breton", "", "french "])
def test_a_language_that_is_not_spoken(prompts: PromptBuilder, language: str) -> None:
    with pytest.raises(SettingsError) as told:
        prompts.prefix(ROLE, None, language)
    assert f"{language!r}" in str(told.value) and "auto, french" in str(told.value)
    assert "ne parle pas" in told.value.told_in("fr")


def test_every_language_of_the_settings_has_a_name() -> None:
    for tag in TtsSettings.model_fields["language"].annotation.__args__:  # type: ignore[union-attr]
        assert tag in LANGUAGES
    assert len(set(LANGUAGES.values())) == len(LANGUAGES) == 10
