"""The voice as the conversation has it: which speaker, which options, what the window is told."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.formats.voice_description import Sampling
from kazeia_desktop.frames import Clause, FloatArray, IntArray, SpeechFrame
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_options import SpeechOptions
from kazeia_desktop.tts.qwen3_voice import NO_VOICE_SEED, Qwen3Voice
from kazeia_desktop.tts.voice_store import VoiceStore
from tests.fakes.micro_voice import write_checkpoint
from tests.fakes.speaker_network import voice_like

pytestmark = pytest.mark.unit

CLAUSE = Clause(3, 2, "Bon.", "bon")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A Base and a CustomVoice model."""
    base = tmp_path_factory.mktemp("voices")
    return {
        kind: convert(OfficialSource(write_checkpoint(base / f"{kind}-c", kind=kind)), base / kind, "f32").directory
        for kind in ("base", "custom_voice")
    }


@pytest.fixture
def store(tmp_path: Path) -> VoiceStore:
    return VoiceStore(tmp_path / "voix à moi")


class Call:
    """What the engine was asked; it says `frames` pieces of 80 ms."""

    def __init__(self, voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch, frames: int = 2, stop: str = "eos") -> None:
        self.asked: list[tuple[str, object, SpeechOptions]] = []
        self.threads: list[tuple[int, int]] = []
        assert voice._tts is not None
        engine = voice._tts

        def synthesize(text: str, given: object, options: SpeechOptions, cancel: CancelToken) -> Iterator[SpeechFrame]:
            self.asked.append((text, given, options))
            engine.stats.frames, engine.stats.elapsed_s, engine.stats.retries = frames, 0.04 * frames, 1
            engine.stats.stop = stop  # type: ignore[assignment]
            for _ in range(frames):
                yield SpeechFrame(0, 0, np.ones(1920, np.float32), 24_000)
            yield SpeechFrame(0, 0, np.zeros(0, np.float32), 24_000, end_of_clause=True)

        monkeypatch.setattr(engine, "synthesize", synthesize)
        monkeypatch.setattr(engine, "set_threads", lambda *threads: self.threads.append(threads))


def settings(**changes: object) -> TtsSettings:
    return TtsSettings(engine="qwen3", talker_threads=1, code_predictor_threads=1, codec_threads=1).model_copy(
        update=changes
    )


@pytest.fixture
def voice(models: dict[str, Path], store: VoiceStore) -> Iterator[Qwen3Voice]:
    made = Qwen3Voice(models["base"], store, settings())
    yield made
    made.close()


def said(voice: Qwen3Voice, clause: Clause = CLAUSE) -> list[SpeechFrame]:
    return list(voice.synthesize(clause, CancelToken()))


def add(voice: Qwen3Voice, store: VoiceStore) -> FloatArray:
    """Adds the voice Marie; returns its x-vector."""
    engine = voice._tts
    assert engine is not None and engine.speaker_encoder is not None
    name = engine.manifest.description.name
    added = store.add("Marie", voice_like(3.2), "Marie, 3 mai, par écrit", engine.speaker_encoder, name)
    return store.xvector_for(added, name, 64, engine.speaker_encoder)


def test_frames_carry_their_clause(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(voice, monkeypatch)
    frames = said(voice)
    assert {(frame.turn_id, frame.clause_index, frame.sample_rate_hz) for frame in frames} == {(3, 2, 24_000)}
    assert [frame.end_of_clause for frame in frames] == [False, False, True]
    assert [text for text, *_ in call.asked] == ["bon"]


def test_the_figures_of_a_clause(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    Call(voice, monkeypatch)
    assert voice.figures is None
    said(voice)
    figures = voice.figures
    assert figures is not None
    assert (figures.frames, figures.rtf, figures.retries) == (2, pytest.approx(0.5), 1)


def test_an_empty_clause_asks_nothing(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(voice, monkeypatch)
    said(voice)
    frames = said(voice, Clause(4, 0, "", "", last=True))
    assert [(f.turn_id, f.clause_index, len(f.samples), f.end_of_clause) for f in frames] == [(4, 0, 0, True)]
    assert len(call.asked) == 1 and voice.figures is None


def test_a_cancelled_clause_asks_nothing(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(voice, monkeypatch)
    cancel = CancelToken()
    cancel.set()
    assert list(voice.synthesize(CLAUSE, cancel)) == []
    assert call.asked == []


def test_a_closed_voice_says_nothing(voice: Qwen3Voice) -> None:
    voice.close()
    voice.close()
    voice.apply(settings(voice="nobody"))
    assert said(voice) == []
    assert "seed" in voice.name


def test_without_a_voice_every_clause_has_the_same_speaker(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(voice, monkeypatch)
    said(voice)
    voice.apply(settings(seed=9))
    said(voice)
    assert [(given, options.seed) for _, given, options in call.asked] == [(None, NO_VOICE_SEED), (None, 9)]


def test_an_added_voice(voice: Qwen3Voice, store: VoiceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    vector = add(voice, store)
    call = Call(voice, monkeypatch)
    voice.apply(settings(voice="Marie"))
    said(voice)
    ((_, given, options),) = call.asked
    np.testing.assert_array_equal(np.asarray(given), vector)
    assert options.seed is None
    assert voice.name.endswith(", Marie")


def test_a_voice_that_is_not_there_leaves_the_one_before(
    voice: Qwen3Voice, store: VoiceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(voice, store)
    voice.apply(settings(voice="Marie"))
    with pytest.raises(SettingsError, match="Paul"):
        voice.apply(settings(voice="Paul"))
    assert voice.name.endswith(", Marie")
    with pytest.raises(SettingsError, match="Paul"):
        Qwen3Voice(Path(voice._tts._model_dir), store, settings(voice="Paul"))  # type: ignore[union-attr]


def test_the_models_own_speakers(models: dict[str, Path], store: VoiceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """By any case of their name; the first of them where none is chosen."""
    voice = Qwen3Voice(models["custom_voice"], store, settings())
    call = Call(voice, monkeypatch)
    assert voice.name.endswith(", vivian")
    said(voice)
    voice.apply(settings(voice="Dylan"))
    assert voice.name.endswith(", dylan")
    said(voice)
    assert [given for _, given, _ in call.asked] == ["vivian", "dylan"]
    assert [options.seed for *_, options in call.asked] == [None, None]


def test_every_setting_reaches_the_engine(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(voice, monkeypatch)
    voice.apply(
        settings(
            language="en", text_mode="streamed", stream_frames=7, seed=5, talker_temperature=0.1, talker_top_k=2,
            talker_top_p=0.3, talker_repetition_penalty=1.4, talker_penalty_frames=11,
            code_predictor_temperature=0.5, code_predictor_top_k=6, code_predictor_top_p=0.7,
            code_predictor_repetition_penalty=1.8,
        )
    )  # fmt: skip
    said(voice)
    assert call.asked[0][2] == SpeechOptions(
        "en", "streamed", 5, 7, Sampling(0.1, 2, 0.3, 1.4), Sampling(0.5, 6, 0.7, 1.8), 11
    )


def test_threads_change_between_clauses(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(voice, monkeypatch)
    said(voice)
    voice.apply(settings(talker_threads=2))
    assert call.threads == []
    said(voice)
    said(voice)
    voice.apply(settings(talker_threads=2, code_predictor_threads=3))
    said(voice)
    assert call.threads == [(2, 1), (2, 3)]


def test_a_clause_that_did_not_end_is_logged(
    voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without its words."""
    Call(voice, monkeypatch, stop="loop")
    with caplog.at_level("INFO", "kazeia_desktop"):
        said(voice)
    assert "2 frames was stopped: loop" in caplog.text
    assert "bon" not in caplog.text


def test_it_really_speaks(voice: Qwen3Voice, store: VoiceStore) -> None:
    add(voice, store)
    voice.apply(settings(voice="Marie", seed=1))
    frames = said(voice)
    sound = np.concatenate([frame.samples for frame in frames])
    assert len(sound) >= 1920 and np.isfinite(sound).all() and sound.any()
    assert voice.figures is not None and voice.figures.frames == voice.stats.frames
    assert isinstance(voice._tts, Qwen3Tts)


class Codes:
    """In place of the codec's stream: every code is loud, so that no guard ends a clause."""

    def reset(self) -> None: ...

    def stop(self) -> None: ...

    def push(self, codes: IntArray, cancel: CancelToken | None = None) -> FloatArray:
        return np.repeat(codes[:, 0].astype(np.float32) + 1, 1920)


def test_several_clauses_at_once(models: dict[str, Path], store: VoiceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its number, its figures and the sound it has alone; one without a word only its end."""
    voice = Qwen3Voice(models["custom_voice"], store, TtsSettings(seed=7, talker_threads=1, codec_threads=1))
    monkeypatch.setattr(voice._tts, "_codec_stream", Codes())
    texts = ["bon", "", "oui", "le soir", "", ""]
    clauses = [Clause(3, index, text, text) for index, text in enumerate(texts)]
    alone = {c.index: [frame.samples for frame in voice.synthesize(c, CancelToken())] for c in clauses}
    for first in (0, 1):
        waiting = clauses[first + 1 :]
        sounds: dict[int, list[FloatArray]] = {}
        ended: list[int] = []
        for frame in voice.synthesize_all(clauses[first], lambda: waiting.pop(0) if waiting else None, CancelToken()):  # noqa: B023
            assert frame.turn_id == 3 and frame.clause_index not in ended
            sounds.setdefault(frame.clause_index, []).append(frame.samples)
            if frame.end_of_clause:
                ended.append(frame.clause_index)
                assert (voice.figures is not None) == bool(texts[frame.clause_index])
        assert ended == list(range(first, 6))
        for index, pieces in sounds.items():
            assert np.array_equal(np.concatenate(pieces), np.concatenate(alone[index]))
    stopped = CancelToken()
    stopped.set()
    assert list(voice.synthesize_all(clauses[0], lambda: None, stopped)) == []
