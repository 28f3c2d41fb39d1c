"""The criteria of a check, and the check itself on the processor."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm import device_check
from kazeia_desktop.llm.device_check import check_device, judge
from kazeia_desktop.llm.device_check_child import compare
from kazeia_desktop.llm.devices import Device
from kazeia_desktop.llm.node_watch import Work, as_record, computed_on
from kazeia_desktop.llm.placement import Kind, ModelFacts, read_facts
from kazeia_desktop.llm.work import PROMPT_TOKENS, STEPS, TEXT
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import BackendSettings, LlmSettings, Settings
from tests.realmodels import require_model

pytestmark = pytest.mark.unit

SEEN: dict[str, Any] = {"finite": True, "cosine": 0.9991, "same_top": 0.96, "ended": True, "free_tokens": 12}
FACTS = ModelFacts("qwen35", Kind.HYBRID, 1)
HTP = Device("HTP0", "Hexagon", "gpu", "HTP", 0, 0)


def test_enough_is_enough() -> None:
    verdict = judge("HTP0", SEEN, "HTP0")
    assert verdict.ok
    assert (verdict.cosine, verdict.same_top, verdict.computed_on) == (0.9991, 0.96, "HTP0")
    assert judge("HTP0", {**SEEN, "cosine": 0.999, "same_top": 0.95}, "CPU").ok


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"finite": False, "cosine": 0.0}, "not finite"),
        ({"cosine": 0.9989}, "0.9989"),
        ({"same_top": 0.94}, "94 %"),
        ({"ended": False, "free_tokens": 300}, "within 300 tokens"),
    ],
)
def test_each_criterion_can_fail(change: dict[str, Any], word: str) -> None:
    verdict = judge("HTP0", {**SEEN, **change}, "HTP0")
    assert not verdict.ok
    assert word in verdict.reason.format(**verdict.values)
    assert "HTP0" in verdict.values.values()


def test_the_least_cosine_counts_and_the_likeliest_words() -> None:
    rng = np.random.default_rng(3)
    ours = rng.standard_normal((65, 500)).astype(np.float32)
    same = compare(ours, ours * 2)
    assert same["finite"]
    assert same["cosine"] == pytest.approx(1.0)
    assert same["same_top"] == 1.0
    theirs = ours.copy()
    theirs[10] = rng.standard_normal(500)
    off = compare(ours, theirs)
    assert off["cosine"] < 0.5
    assert off["same_top"] == pytest.approx(64 / 65)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_figure_that_is_not_finite_is_enough(bad: float) -> None:
    ours = np.ones((65, 8), np.float32)
    theirs = ours.copy()
    theirs[64, 7] = bad
    assert compare(ours, theirs) == {"finite": False, "cosine": 0.0, "same_top": 0.0}


def test_zeros_from_a_device_do_not_pass() -> None:
    ours = np.random.default_rng(4).standard_normal((65, 50)).astype(np.float32)
    found = compare(ours, np.zeros_like(ours))
    assert not judge("HTP0", {**SEEN, **found}, "HTP0").ok


def test_a_device_with_under_half_of_the_products_did_not_compute_it() -> None:
    assert computed_on({"HTP0": Work(9, 5, 1.0), "CPU": Work(99, 5, 1.0)}, "HTP0") == "HTP0"
    assert computed_on({"HTP0": Work(99, 4, 9.0), "CPU": Work(9, 5, 1.0)}, "HTP0") == "CPU"
    assert computed_on({"CPU": Work(9, 5, 1.0)}, "HTP0") == "CPU"
    assert computed_on({}, "HTP0") == "CPU"
    assert as_record({"CPU": Work(9, 5, 1.239)}) == {"CPU": {"nodes": 9, "matrix_products": 5, "ms": 1.24}}


def test_a_check_whose_driver_aborts_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kz_abort.py").write_text("import os, sys\nsys.stderr.write('fastrpc: 0x4e\\n')\nos.abort()", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(device_check, "_CHILD", "kz_abort")
    with pytest.raises(InferenceError, match=r"HTP0 ended early \(exit code -6, last line: fastrpc: 0x4e\)"):
        check_device(HTP, tmp_path / "x.gguf", FACTS, Settings(), CancelToken())


def test_the_child_begins_with_the_flags_of_the_case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kz_flags.py").write_text(
        "import os, sys\nsys.stderr.write(os.environ['GGML_HEXAGON_OPFILTER'])\nsys.exit(1)", "utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(device_check, "_CHILD", "kz_flags")
    settings = Settings(backends=BackendSettings(flags="GGML_HEXAGON_OPFILTER=ADD"))
    with pytest.raises(InferenceError, match=r"last line: ADD\|SSM_CONV"):
        check_device(HTP, tmp_path / "x.gguf", FACTS, settings, CancelToken())


def test_the_text_is_long_enough_for_any_vocabulary() -> None:
    assert PROMPT_TOKENS >= 64
    assert STEPS == 64
    assert len(TEXT) // 5 > PROMPT_TOKENS  # tokens of French text have under five characters


@pytest.mark.golden
def test_the_processor_agrees_with_itself() -> None:
    gguf = next(require_model("smollm2-135m").glob("*.gguf"))
    cpu = Device("CPU", "", "cpu", "CPU", 0, 0)
    settings = Settings(llm=LlmSettings(threads=1))
    check = check_device(cpu, gguf, read_facts(gguf), settings, CancelToken())
    assert check is not None
    assert check.verdict.ok
    assert check.verdict.cosine > 0.99999
    assert check.verdict.computed_on == "CPU"
    # 30 layers of 9 products each, and the output's: 65 graphs, of which one is the prompt's.
    assert check.work["CPU"].products == 65 * 271
    assert check.timed["CPU"].ms > 0


@pytest.mark.golden
def test_a_device_that_is_not_there_is_told() -> None:
    gguf = next(require_model("smollm2-135m").glob("*.gguf"))
    with pytest.raises(InferenceError, match="HTP0 is not there"):
        check_device(HTP, gguf, read_facts(gguf), Settings(llm=LlmSettings(threads=1)), CancelToken())
