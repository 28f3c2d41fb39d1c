"""`kazeia models` on a toy catalogue; nothing here downloads."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kazeia_desktop.cli import models
from kazeia_desktop.errors import KazeiaError, UsageError
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.store import ModelStore
from tests.unit.models.conftest import CONFIG, WEIGHTS, Shop, StoreMaker, make_store, models_dir, sha256, shop

__all__ = ["make_store", "models_dir", "shop"]  # fixtures

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture
def store(make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    """The toy store stands for the real one."""
    toy_store = make_store()
    monkeypatch.setattr(models, "_store", lambda: toy_store)
    return toy_store


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    models.register(parser.add_subparsers())
    options = parser.parse_args(["models", *words])
    code: int = options.run(options)
    return code


def test_list_as_json_of_the_real_catalogue(kazeia_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["models_dir"] == str(kazeia_home / "data" / "models")
    by_name = {model["name"]: model for model in told["models"]}
    assert set(by_name) == {entry.name for entry in Catalog.load()}
    whisper = by_name["whisper-base"]
    assert whisper["kind"] == "stt" and whisper["bytes"] == 147_423_080 and len(whisper["sha256"]) == 64
    assert (whisper["present"], whisper["verified"], whisper["pinned"]) == (False, False, True)
    loose = by_name["qwen3-4b-instruct"]
    assert (loose["bytes"], loose["sha256"], loose["pinned"]) == (None, None, False)


def test_list_for_people(kazeia_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list") == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.strip().startswith("qwen3-4b-instruct")]
    assert "recorded, not pinned" in line and "not here" in line and "Apache-2.0" in line


def test_list_in_french(kazeia_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    call("list")
    assert "jeu de départ" in capsys.readouterr().out


def test_get_then_verify_then_path(store: ModelStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("get", "--starter", "--json") == 0
    out, err = capsys.readouterr()
    (got,) = json.loads(out)["models"]
    assert (got["name"], got["present"], got["verified"], got["sha256"]) == ("toy", True, True, sha256(WEIGHTS))
    assert got["bytes"] == len(WEIGHTS) + len(CONFIG) and got["seconds"] >= 0
    assert "toy  100 %" in err
    assert call("verify") == 0
    assert "every file is as it should be" in capsys.readouterr().out
    assert call("path", "toy") == 0
    assert capsys.readouterr().out.strip() == str(store.path("toy"))
    assert call("path", "toy", "--json") == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(store.path("toy"))


def test_verify_finds_damage(store: ModelStore, capsys: pytest.CaptureFixture[str]) -> None:
    call("get", "toy")
    store.file("toy", "conf.json").write_bytes(CONFIG[:-1] + b"?")
    capsys.readouterr()
    assert call("verify", "--json") == 1
    (told,) = json.loads(capsys.readouterr().out)["models"]
    assert not told["ok"] and not told["verified"] and told["present"]
    assert "conf.json of the model toy is damaged" in told["problems"][0]
    assert call("verify", "toy") == 1
    assert "damaged" in capsys.readouterr().out


def test_verify_of_nothing(store: ModelStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("verify") == 0
    assert "kazeia models get --starter" in capsys.readouterr().out
    assert call("verify", "toy") == 1


def test_get_without_a_name_is_bad_usage(store: ModelStore) -> None:
    with pytest.raises(UsageError, match="Say which models"):
        call("get")


@pytest.mark.parametrize("words", [("get", "none"), ("verify", "none"), ("path", "none")])
def test_an_unknown_name(store: ModelStore, words: tuple[str, str]) -> None:
    with pytest.raises(KazeiaError, match="There is no model 'none'"):
        call(*words)


def test_an_unknown_name_among_others_downloads_nothing(store: ModelStore, shop: Shop) -> None:
    with pytest.raises(KazeiaError, match="There is no model"):
        call("get", "toy", "none")
    assert shop.asked == []


def test_ctrl_c_says_that_it_resumes(
    store: ModelStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ModelStore, "get", interrupted)
    assert call("get", "toy") == 130
    assert capsys.readouterr().err == "Stopped. The same command goes on where it was.\n"


def test_graphs_are_prepared_after_a_recognition_model(
    kazeia_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Export:
        asked: list[tuple[Path, str]] = []  # noqa: RUF012

        @classmethod
        def ensure_graphs(cls, folder: Path, precision: str, progress: Callable[[str], None]) -> None:
            if (folder, precision) not in cls.asked:
                for part in ("encoder", "decoder"):
                    progress(part)
            cls.asked.append((folder, precision))

    monkeypatch.setitem(sys.modules, "kazeia_desktop.stt.export", Export)  # type: ignore[arg-type]
    monkeypatch.setattr("kazeia_desktop.stt.export", Export, raising=False)
    models._prepare("whisper-base", kazeia_home)
    assert Export.asked == [(kazeia_home, "mixed")]
    assert capsys.readouterr().err.count("being prepared") == 1
    models._prepare("whisper-base", kazeia_home)
    assert capsys.readouterr().err == ""  # it is there
