"""What was measured is kept for a model on a processor; a damaged file is as good as none."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kazeia_desktop.tts.qwen3_tuning_store as module
from kazeia_desktop.formats.voice_manifest import VoiceManifest
from kazeia_desktop.runtime.cores import Cores
from kazeia_desktop.tts.qwen3_tuning import Team, Tuning
from kazeia_desktop.tts.qwen3_tuning_store import TuningStore

pytestmark = pytest.mark.unit

CORES = Cores("Some CPU", 8, 4, 4)
TUNING = Tuning(Team(3, 1), (1, 2, 4, 8), 1.17, 0.6, 412.0)


def manifest(name: str = "voice", dtype: str = "q8_0") -> VoiceManifest:
    return cast(VoiceManifest, SimpleNamespace(description=SimpleNamespace(name=name), dtype=dtype))


@pytest.fixture
def store(tmp_path: Path) -> TuningStore:
    return TuningStore(tmp_path / "mes réglages" / "voice_tuning.json", CORES)


def test_what_is_kept_is_found(store: TuningStore) -> None:
    assert store.get(manifest(), "native") is None
    store.put(manifest(), "native", TUNING)
    assert TuningStore(store.file, CORES).get(manifest(), "native") == TUNING
    assert [file.name for file in store.file.parent.iterdir()] == [store.file.name]


def test_another_model_processor_or_version_is_another_matter(
    store: TuningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(manifest(), "native", TUNING)
    assert store.get(manifest("other"), "native") is None
    assert store.get(manifest(dtype="q4_0"), "native") is None
    assert store.get(manifest(), "llama") is None
    assert TuningStore(store.file, Cores("Another", 8, 4, 4)).get(manifest(), "native") is None
    assert TuningStore(store.file, Cores("Some CPU", 4, 4, 4)).get(manifest(), "native") is None
    monkeypatch.setattr(module, "__version__", "99.0")
    assert store.get(manifest(), "native") is None


def test_several_models_live_beside_each_other_and_the_oldest_go(store: TuningStore) -> None:
    for number in range(40):
        store.put(manifest(f"voice {number}"), "native", TUNING)
    assert store.get(manifest("voice 39"), "native") == TUNING
    assert store.get(manifest("voice 8"), "native") == TUNING
    assert store.get(manifest("voice 7"), "native") is None


def test_what_is_forgotten_is_measured_again(store: TuningStore) -> None:
    store.forget(manifest(), "native")
    store.put(manifest(), "native", TUNING)
    store.put(manifest("other"), "native", TUNING)
    store.forget(manifest(), "native")
    assert store.get(manifest(), "native") is None
    assert store.get(manifest("other"), "native") == TUNING


def _with(store: TuningStore, change: object) -> None:
    tree = json.loads(store.file.read_text("utf-8"))
    (key,) = tree["entries"]
    tree["entries"][key] = tree["entries"][key] | change if isinstance(change, dict) else change
    store.file.write_text(json.dumps(tree), "utf-8")


@pytest.mark.parametrize(
    "change",
    [
        None, 3, [], {"team": None}, {"team": {"generator": 0, "codec": 1}}, {"team": {"generator": 33, "codec": 1}},
        {"team": {"generator": True, "codec": 1}}, {"ramp": []}, {"ramp": "124"}, {"ramp": [0]}, {"ramp": [9]},
        {"ramp": [1.5]}, {"rtf": 0}, {"rtf": "1"}, {"rtf": float("nan")}, {"rtf": 1e9}, {"generator_share": 1.5},
        {"first_ms": -1}, {"rtf": 10**400}, {"first_ms": 10**400}, {"ramp": [10**400]},
    ],
)  # fmt: skip
def test_impossible_values_are_measured_again(store: TuningStore, change: object) -> None:
    store.put(manifest(), "native", TUNING)
    _with(store, change)
    assert store.get(manifest(), "native") is None
    store.put(manifest(), "native", TUNING)
    assert store.get(manifest(), "native") == TUNING


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_ignored_and_replaced(store: TuningStore, content: bytes) -> None:
    store.file.parent.mkdir(parents=True, exist_ok=True)
    store.file.write_bytes(content)
    assert store.get(manifest(), "native") is None
    store.put(manifest(), "native", TUNING)
    assert store.get(manifest(), "native") == TUNING


@pytest.mark.parametrize("content", ['{"version": 2, "entries": {}}', '{"version": 1, "entries": []}', "[" * 9999])
def test_another_shape_is_ignored(store: TuningStore, content: str) -> None:
    store.file.parent.mkdir(parents=True)
    store.file.write_text(content)
    assert store.get(manifest(), "native") is None


def test_a_place_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    store = TuningStore(blocker / "voice_tuning.json", CORES)
    store.put(manifest(), "native", TUNING)
    assert store.get(manifest(), "native") is None
