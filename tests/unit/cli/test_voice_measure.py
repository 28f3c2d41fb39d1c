"""`kazeia voices measure`, and where what was measured is told: settings, doctor, `kazeia say`."""

import json
from pathlib import Path

import pytest

from kazeia_desktop import cli
from kazeia_desktop.cli import doctor
from kazeia_desktop.formats.voice_manifest import load_manifest
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cores import read_cores
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.tts.qwen3_tuning import Team, Tuning
from kazeia_desktop.tts.qwen3_tuning_store import TuningStore, measured_voice
from tests.fakes.micro_voice import write_checkpoint

pytestmark = pytest.mark.unit

SLOW = Tuning(Team(2, 1), (1, 2, 4), 1.2, 2 / 3, 300.0)


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("voice") / "c")


@pytest.fixture
def installed(kazeia_home: Path, checkpoint: Path) -> Paths:
    paths = Paths.from_environment()
    paths.models_dir.mkdir(parents=True)
    convert(OfficialSource(checkpoint), paths.models_dir / "own", "q8_0")
    return paths


def keep(paths: Paths, tuning: Tuning) -> None:
    TuningStore.of(paths, read_cores()).put(load_manifest(paths.models_dir / "own"), "native", tuning)


def test_it_measures_and_keeps(installed: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    keep(installed, SLOW)
    assert cli.main(["voices", "measure", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dtype"] == "q8_0" and told["cores"]["n"] >= 1 and told["seconds"] > 0
    found = measured_voice(installed, Settings())
    assert found is not None and found[1] is not None and found[1] != SLOW
    assert told["measured"]["rtf"] == found[1].rtf
    assert cli.main(["voices", "measure"]) == 0
    assert "Measured on this machine" in capsys.readouterr().out


def test_without_a_voice_it_is_one_line(kazeia_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["voices", "measure"]) == 1
    assert "kazeia models convert" in capsys.readouterr().err
    assert measured_voice(Paths.from_environment(), Settings()) is None


def test_the_settings_tell(installed: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["settings", "show"]) == 0
    assert "not measured yet" in capsys.readouterr().out
    keep(installed, SLOW)
    assert cli.main(["settings", "show"]) == 0
    assert "# Measured on this machine: threads: 2, of the codec: 1" in capsys.readouterr().out
    assert cli.main(["settings", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["voice_measured"]["rtf"] == 1.2


@pytest.mark.parametrize(("key", "value"), [("tts.engine", "kokoro"), ("tts.voice", "ff_siwis")])
def test_of_another_engine_nothing_is_told(
    installed: Paths, key: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(installed, SLOW)
    assert cli.main(["settings", "set", key, value]) == 0
    assert cli.main(["settings", "show"]) == 0
    assert "Measured" not in capsys.readouterr().out


def test_the_doctor_tells_and_advises(installed: Paths) -> None:
    (check,) = doctor._voice_speed(installed, Settings())
    assert check.ok and "not measured yet" in check.detail
    keep(installed, SLOW)
    (check,) = doctor._voice_speed(installed, Settings())
    assert not check.ok and not check.essential
    assert "1.2 times" in check.detail
    assert "q4_0" in check.advice and "kokoro" in check.advice
    keep(installed, Tuning(Team(2, 1), (1, 2, 4), 0.8, 0.6, 90.0))
    (check,) = doctor._voice_speed(installed, Settings())
    assert check.ok and not check.advice


def test_a_damaged_voice_is_no_trouble_of_its_speed(installed: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    (installed.models_dir / "own" / "manifest.json").write_text('{"format": "kazeia-qwen3-tts"}')
    assert not list(doctor._voice_speed(installed, Settings()))
    assert cli.main(["settings", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["voice_measured"] is None


@pytest.mark.parametrize(("elapsed_s", "told"), [(4.0, True), (0.5, False)])
def test_say_tells_once_that_it_is_slow(
    installed: Paths,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    elapsed_s: float,
    told: bool,
) -> None:
    from kazeia_desktop.tts.qwen3_options import SpeechStats
    from kazeia_desktop.tts.qwen3_voice import Qwen3Voice

    stats = SpeechStats(frames=20, elapsed_s=elapsed_s)
    monkeypatch.setattr(Qwen3Voice, "stats", stats)
    code = cli.main(
        ["say", "Bonjour. Ça va bien.", "-o", str(tmp_path / "o.wav"), "--seed", "1", "--stream-frames", "2"]
    )
    err = capsys.readouterr().err
    assert code == 0, err
    assert err.count("times as long as it speaks") == int(told)
