"""Verdicts on devices survive in a file, and a file of anybody else's making does no harm."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.check_store import CheckStore, Subject, Verdict, file_sha256, options_of
from kazeia_desktop.llm.devices import Device
from kazeia_desktop.settings.schema import LlmSettings

pytestmark = pytest.mark.unit

GPU = Device("Vulkan0", "Radeon, driver 1.2", "gpu", "Vulkan", 8, 4)
SUBJECT = Subject(GPU, "ab" * 32, "cd" * 32, (("GGML_X", "1"),), "", options_of(LlmSettings()))
PASSED = Verdict(True, "", {}, 0.9998, 1.0, "Vulkan0")


def test_what_was_found_is_there_again(tmp_path: Path) -> None:
    store = CheckStore(tmp_path / "cache" / "checks.json")
    assert store.get(SUBJECT) is None
    store.put(SUBJECT, PASSED)
    assert CheckStore(store.file).get(SUBJECT) == PASSED
    store.put(SUBJECT, replace(PASSED, measured=True))
    found = store.get(SUBJECT)
    assert found is not None
    assert found.measured


@pytest.mark.parametrize(
    "other",
    [
        replace(SUBJECT, device=replace(GPU, description="Radeon, driver 1.3")),
        replace(SUBJECT, device=replace(GPU, name="Vulkan1")),
        replace(SUBJECT, model_sha256="00" * 32),
        replace(SUBJECT, llama_build="00" * 32),
        replace(SUBJECT, flags=()),
        replace(SUBJECT, library_sha256="11"),
        replace(SUBJECT, options=options_of(LlmSettings(kv_type="q8_0"))),
        replace(SUBJECT, options=options_of(LlmSettings(flash_attention=True))),
    ],
)
def test_anything_that_changes_needs_another_check(tmp_path: Path, other: Subject) -> None:
    store = CheckStore(tmp_path / "checks.json")
    store.put(SUBJECT, PASSED)
    assert store.get(other) is None


def test_free_memory_is_no_change(tmp_path: Path) -> None:
    store = CheckStore(tmp_path / "checks.json")
    store.put(SUBJECT, PASSED)
    assert store.get(replace(SUBJECT, device=replace(GPU, memory_free_bytes=1))) == PASSED


def test_a_file_is_hashed_again_only_when_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CheckStore(tmp_path / "checks.json")
    model = tmp_path / "modèle.gguf"
    model.write_bytes(b"one")
    hashed = []

    def count(path: Path) -> str:
        hashed.append(path)
        return file_sha256(path)

    monkeypatch.setattr("kazeia_desktop.llm.check_store.file_sha256", count)
    first = store.model_sha256(model)
    assert store.model_sha256(model) == first == file_sha256(model)
    model.write_bytes(b"three")
    assert store.model_sha256(model) != first
    assert len(hashed) == 2


def test_verdicts_and_files_do_not_push_each_other_out(tmp_path: Path) -> None:
    store = CheckStore(tmp_path / "checks.json")
    model = tmp_path / "m.gguf"
    model.write_bytes(b"one")
    sha256 = store.model_sha256(model)
    for n in range(80):
        store.put(replace(SUBJECT, model_sha256=str(n)), PASSED)
    assert store.get(replace(SUBJECT, model_sha256="79")) == PASSED
    assert store.get(replace(SUBJECT, model_sha256="0")) is None
    assert store.model_sha256(model) == sha256


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["version", "verdicts", "ok", "cosine", SUBJECT.key()]) | st.text(), x)))  # fmt: skip
def test_any_file_is_read_without_harm(tmp_path_factory: pytest.TempPathFactory, tree: object) -> None:
    file = tmp_path_factory.mktemp("checks") / "checks.json"
    file.write_text(json.dumps({"version": 1, "verdicts": {SUBJECT.key(): tree}}), "utf-8")
    found = CheckStore(file).get(SUBJECT)
    assert found is None or isinstance(found, Verdict)
    file.write_text(json.dumps(tree), "utf-8")
    assert CheckStore(file).get(SUBJECT) is None


@pytest.mark.parametrize("cosine", [10**400, -(10**400), float("nan"), float("inf"), True, "1"])
def test_a_figure_that_is_none_is_no_verdict(tmp_path: Path, cosine: object) -> None:
    store = CheckStore(tmp_path / "checks.json")
    store.put(SUBJECT, PASSED)
    tree = json.loads(store.file.read_text("utf-8"))
    tree["verdicts"][SUBJECT.key()]["cosine"] = cosine
    store.file.write_text(json.dumps(tree), "utf-8")
    assert store.get(SUBJECT) is None


def test_a_place_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    CheckStore(tmp_path / "cache" / "checks.json").put(SUBJECT, PASSED)
