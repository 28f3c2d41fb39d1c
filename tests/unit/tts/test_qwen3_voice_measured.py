"""The voice measured on a small model: what is kept, what the settings override, what an interruption leaves."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import kazeia_desktop.tts.qwen3_voice as module
from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import Clause
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.cores import Cores
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.base import MeasuredVoice
from kazeia_desktop.tts.qwen3_measure import EngineProbe
from kazeia_desktop.tts.qwen3_tuning import Team, Tuning
from kazeia_desktop.tts.qwen3_tuning_store import TuningStore
from kazeia_desktop.tts.qwen3_voice import Qwen3Voice
from kazeia_desktop.tts.voice_store import VoiceStore
from tests.fakes.micro_voice import write_checkpoint

pytestmark = pytest.mark.unit

CLAUSE = Clause(3, 2, "Bon.", "bon")
TUNING = Tuning(Team(2, 1), (1, 2, 4, 8), 1.2, 2 / 3, 300.0)


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("voice")
    return convert(OfficialSource(write_checkpoint(base / "c")), base / "voice", "q8_0").directory


@pytest.fixture(autouse=True)
def busy_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Core time that other programs have used when it is asked the next times; none by itself."""
    coming: list[float] = []
    monkeypatch.setattr(module, "others_busy_s", lambda: coming.pop(0) if coming else 0.0)
    return coming


@pytest.fixture
def kept(tmp_path: Path) -> TuningStore:
    return TuningStore(tmp_path / "voice_tuning.json", Cores("Some CPU", 2, 2, 2))


@pytest.fixture
def voice(model_dir: Path, kept: TuningStore, tmp_path: Path) -> Iterator[Qwen3Voice]:
    made = open_voice(model_dir, kept, tmp_path)
    yield made
    made.close()


def open_voice(
    model_dir: Path, kept: TuningStore | None, tmp_path: Path, settings: TtsSettings | None = None
) -> Qwen3Voice:
    return Qwen3Voice(model_dir, VoiceStore(tmp_path / "voix"), settings or TtsSettings(), None, kept)


def measures(monkeypatch: pytest.MonkeyPatch, result: Tuning | None) -> list[Sequence[Team]]:
    """Let measuring tell this; returns the teams that it was asked for."""
    asked: list[Sequence[Team]] = []

    def measure(probe: EngineProbe, teams: Sequence[Team], idle: CancelToken) -> Tuning | None:
        asked.append(teams)
        probe.trial(Team(1, 1), 3, idle)
        return result

    monkeypatch.setattr(module, "measure", measure)
    return asked


def test_it_really_measures(voice: Qwen3Voice, kept: TuningStore, model_dir: Path, tmp_path: Path) -> None:
    assert isinstance(voice, MeasuredVoice)
    assert voice.wants_measuring and voice.pace is None and voice.slowness() is None
    voice.measure(CancelToken())
    assert not voice.wants_measuring
    assert voice.pace is not None and voice.pace.rtf > 0
    again = open_voice(model_dir, kept, tmp_path)
    assert not again.wants_measuring
    assert again.pace == voice.pace
    assert list(voice.synthesize(CLAUSE, CancelToken()))[-1].end_of_clause


def test_what_was_measured_is_used_at_once(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = measures(monkeypatch, TUNING)
    voice.measure(CancelToken())
    assert {team for teams in asked for team in teams} == {Team(g, c) for g in (1, 2) for c in (1, 2)}
    assert voice._tts is not None
    assert voice._tts._team_sizes == (2, 2)
    assert voice._codec_threads == 1
    assert (voice._chosen.options.ramp, voice._chosen.options.stream_frames) == ((1, 2, 4, 8), 8)
    assert voice.pace is not None and (voice.pace.rtf, voice.pace.piece_s) == (1.2, 0.64)


def test_on_a_busy_machine_it_counts_for_this_run(
    voice: Qwen3Voice, kept: TuningStore, busy_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    measures(monkeypatch, TUNING)
    busy_s += [100.0, 1000.0]
    voice.measure(CancelToken())
    assert not voice.wants_measuring and voice.pace is not None and not kept.file.exists()
    busy_s += [100.0, 1000.0]
    voice.measure(CancelToken(), always_keep=True)
    assert kept.file.exists()


def test_an_interruption_leaves_the_voice_as_it_was(
    voice: Qwen3Voice, kept: TuningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert voice._tts is not None
    before = voice._tts._team_sizes
    measures(monkeypatch, None)
    voice.measure(CancelToken())
    assert voice._tts._team_sizes == before
    assert voice.wants_measuring and not kept.file.exists()


def test_settings_override(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    voice.apply(TtsSettings(talker_threads=1, code_predictor_threads=1))
    measures(monkeypatch, TUNING)
    voice.measure(CancelToken())
    assert voice._tts is not None and voice._tts._team_sizes == (1, 1)
    voice.apply(TtsSettings(talker_threads=1, code_predictor_threads=1, ramp="2-4"))
    assert voice._chosen.options.ramp == (2, 4)
    voice.apply(TtsSettings())
    list(voice.synthesize(CLAUSE, CancelToken()))
    assert voice._tts._team_sizes == (2, 2)  # from the next clause on


def test_nothing_is_measured_where_everything_is_set(model_dir: Path, kept: TuningStore, tmp_path: Path) -> None:
    fixed = TtsSettings(talker_threads=1, code_predictor_threads=1, codec_threads=1, stream_frames=2)
    assert not open_voice(model_dir, kept, tmp_path, fixed).wants_measuring
    assert not open_voice(model_dir, None, tmp_path).wants_measuring


def test_a_failure_is_told_once(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise InferenceError("The voice failed ({reason}).", reason="a test")

    monkeypatch.setattr(module, "measure", fails)
    with pytest.raises(InferenceError):
        voice.measure(CancelToken())
    assert not voice.wants_measuring


def test_an_interrupted_trial_says_nothing(voice: Qwen3Voice) -> None:
    assert voice._tts is not None
    idle = CancelToken()
    idle.set()
    probe = EngineProbe(voice._tts, None, voice._chosen.options, 1)
    assert probe.trial(Team(1, 1), 5, idle) is None
    assert probe.call_ms(2, idle) is None


def test_a_trial_tells_the_speed(voice: Qwen3Voice) -> None:
    assert voice._tts is not None
    trial = EngineProbe(voice._tts, None, voice._chosen.options, 1).trial(Team(2, 1), 5, CancelToken())
    assert trial is not None and trial.team == Team(2, 1)
    assert min(trial.rtf, trial.first_ms, trial.generator_ms, trial.codec_ms) > 0


def test_slowness_is_of_the_clause_or_as_measured(voice: Qwen3Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before measuring, of a clause alone."""
    before = voice.slowness(1.1)
    assert before is not None and before.values["rtf"] == 1.1
    measures(monkeypatch, TUNING)
    voice.measure(CancelToken())
    told = voice.slowness()
    assert told is not None and (told.values["rtf"], told.values["dtype"]) == (1.2, "q4_0")
    assert voice.slowness(0.8) is None


def test_a_closed_voice_is_not_measured(voice: Qwen3Voice) -> None:
    voice.close()
    assert not voice.wants_measuring
    voice.measure(CancelToken())
