"""From settings to a conversation: what cannot be used is told, and there is an answer all the same."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kazeia_desktop.errors import InferenceError, ModelError
from kazeia_desktop.llm import opening
from kazeia_desktop.llm.backend_flags import BackendEnvironment
from kazeia_desktop.llm.check_store import CheckStore, Verdict
from kazeia_desktop.llm.device_check import subject_of
from kazeia_desktop.llm.devices import Device, DeviceLister
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.opening import Opened, available_bytes, choose, loaded_kind, open_session
from kazeia_desktop.llm.placement import Kind, Placement, Told, read_facts
from kazeia_desktop.llm.two_contexts import TwoContexts
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import BackendSettings, LlmSettings, Settings
from tests.fakes.tiny_llms import ARCHITECTURES, tiny_llm

pytestmark = pytest.mark.unit

_LLM = LlmSettings(temperature=0.0, max_reply_tokens=16, threads=1, n_ctx=512, persona="Tu es Kazeia.")
CPU = {
    "name": "CPU", "description": "A processor", "kind": "cpu", "backend": "CPU",
    "memory_total_bytes": 8, "memory_free_bytes": 4,
}  # fmt: skip
HTP = CPU | {"name": "HTP0", "description": "Hexagon v79", "kind": "gpu", "backend": "HTP"}


class Machine:
    """A machine with a Hexagon, as far as the list of devices goes."""

    def __init__(self, folder: Path) -> None:
        self.paths = Paths(folder, folder, folder, folder)
        self.environment = BackendEnvironment()
        self.lister = DeviceLister(self._probe)
        self.probed: list[dict[str, str]] = []
        self.told: list[Told] = []

    def _probe(self, library: str, flags: Mapping[str, str], cancel: CancelToken) -> dict[str, Any]:
        self.probed.append(dict(flags))
        return {"devices": [CPU, HTP]}

    def passed(self, gguf: Path, settings: Settings, **verdict: object) -> None:
        """As if `kazeia devices --check HTP0` had been run."""
        store = CheckStore.of(self.paths)
        subject = subject_of(Device(**HTP), gguf, read_facts(gguf), settings, store)
        store.put(subject, Verdict(**({"ok": True, "computed_on": "HTP0", "measured": True} | verdict)))

    def choose(self, gguf: Path, settings: Settings) -> tuple[Placement, Verdict | None]:
        store = CheckStore.of(self.paths)
        return choose(gguf, read_facts(gguf), settings, store, self.lister, self.environment)

    def open(self, gguf: Path, settings: Settings) -> Opened:
        return open_session(gguf, settings, self.paths, self.told.append, None, self.lister, self.environment)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    for name in ("GGML_HEXAGON_NHMX", "GGML_HEXAGON_OPFILTER", "GGML_NEW_THING"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    yield Machine(tmp_path / "été")


def settings(device: str = "HTP0", **backends: object) -> Settings:
    return Settings(llm=_LLM, backends=BackendSettings.model_validate({"llm_device": device, **backends}))


def templates(told: tuple[Told, ...] | list[Told]) -> str:
    return " | ".join(one.template.format(**one.values) for one in told)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_processor_answers_without_asking_any_driver(machine: Machine, architecture: str) -> None:
    opened = machine.open(tiny_llm(architecture), settings("cpu", library="/x/libggml-bad.so"))
    try:
        list(opened.session.reply("Bonjour", CancelToken()))
        assert len(opened.session.history) == 2
        assert opened.where == "CPU"
        assert machine.probed == []
        assert machine.told == []
        assert machine.environment.library == ""
    finally:
        opened.session.close()


@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
def test_two_contexts_on_the_processor(machine: Machine, architecture: str) -> None:
    opened = machine.open(tiny_llm(architecture), settings("cpu", two_contexts="always"))
    try:
        assert isinstance(opened.session._model.context, TwoContexts)
        list(opened.session.reply("Bonjour, le chat dort-il ?", CancelToken()))
        assert len(opened.session.history) == 2
    finally:
        opened.session.close()


def test_a_device_without_a_check_is_not_used(machine: Machine) -> None:
    placement, verdict = machine.choose(tiny_llm("qwen35"), settings())
    assert (placement.device, verdict) == ("", None)
    assert "has not passed the check" in templates(placement.told)
    assert "GGML_HEXAGON_OPFILTER" not in os.environ


def test_a_device_that_failed_the_check_is_not_used(machine: Machine) -> None:
    gguf = tiny_llm("qwen35")
    machine.passed(gguf, settings(), ok=False)
    assert machine.choose(gguf, settings())[0].device == ""


def test_a_device_that_passed_is_used_with_the_flags_of_its_case(machine: Machine) -> None:
    gguf = tiny_llm("qwen35")
    machine.passed(gguf, settings())
    placement, verdict = machine.choose(gguf, settings())
    assert (placement.device, placement.two_contexts, placement.told) == ("HTP0", True, ())
    assert verdict is not None
    assert machine.probed == [{"GGML_HEXAGON_OPFILTER": "SSM_CONV"}]
    assert os.environ["GGML_HEXAGON_OPFILTER"] == "SSM_CONV"


def test_what_is_not_measured_is_called_experimental(machine: Machine) -> None:
    gguf = tiny_llm("qwen3")
    machine.passed(gguf, settings(), measured=False)
    placement, _ = machine.choose(gguf, settings())
    assert (placement.device, placement.two_contexts) == ("HTP0", False)
    assert "HTP0 is experimental" in templates(placement.told)


def test_another_kind_of_model_needs_other_flags_and_so_a_restart(machine: Machine) -> None:
    for architecture in ("qwen35", "qwen3"):
        machine.passed(tiny_llm(architecture), settings())
    assert machine.choose(tiny_llm("qwen35"), settings())[0].device == "HTP0"
    placement, _ = machine.choose(tiny_llm("qwen3"), settings())
    assert placement.device == ""
    assert "Restart Kazeia" in templates(placement.told)


def test_odd_flags_are_told(machine: Machine) -> None:
    chosen = settings(flags="GGML_NEW_THING=1\nLD_PRELOAD=/x.so")
    placement, _ = machine.choose(tiny_llm("qwen3"), chosen)
    said = templates(placement.told)
    assert "GGML_NEW_THING is set" in said
    assert "LD_PRELOAD is kept but not set" in said


def test_a_device_that_fails_to_load_leaves_the_answer_to_the_processor(machine: Machine) -> None:
    """Here the Hexagon of the list is really not there."""
    gguf = tiny_llm("qwen35")
    machine.passed(gguf, settings())
    opened = machine.open(gguf, settings())
    try:
        assert opened.where == "CPU"
        assert "HTP0 + CPU" in templates(machine.told)
        list(opened.session.reply("Bonjour", CancelToken()))
        assert len(opened.session.history) == 2
    finally:
        opened.session.close()


def test_a_file_that_is_none_is_an_error_and_not_told_as_the_devices(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError):
        machine.open(tmp_path / "x.gguf", settings())


def test_a_kind_that_llama_cpp_does_not_confirm_is_not_run_on_a_device(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    gguf = tiny_llm("qwen35")
    machine.passed(gguf, settings())
    monkeypatch.setattr(opening, "Spot", lambda *_: opening.CPU)  # the device is there
    monkeypatch.setattr(opening, "loaded_kind", lambda _: Kind.DENSE)
    opened = machine.open(gguf, settings())
    opened.session.close()
    assert opened.where == "CPU"
    assert "the file says hybrid, llama.cpp says dense" in templates(machine.told)


def test_where_a_device_did_under_half_of_the_work_the_processor_is_shown(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    gguf = tiny_llm("qwen35")
    monkeypatch.setattr(opening, "Spot", lambda *_: opening.CPU)
    for ran_on in ("HTP0", "CPU"):
        machine.passed(gguf, settings(), computed_on=ran_on)
        opened = machine.open(gguf, settings())
        opened.session.close()
        assert opened.where == ("HTP0 + CPU" if ran_on == "HTP0" else "CPU")
    assert machine.told == []


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_llama_cpp_confirms_what_the_file_says(architecture: str) -> None:
    gguf = tiny_llm(architecture)
    model = LlamaModel(gguf, _LLM)
    try:
        assert loaded_kind(model) is read_facts(gguf).kind
    finally:
        model.close()


def test_memory_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = available_bytes()
    assert found is None or found > 1 << 20
    monkeypatch.setattr(opening, "_MEMINFO", tmp_path / "none")
    monkeypatch.setattr(opening.sys, "platform", "linux")
    assert available_bytes() is None
    (tmp_path / "none").write_text("MemTotal: 9 kB\nMemAvailable:  1024 kB\n")
    assert available_bytes() == 1 << 20
    (tmp_path / "none").write_text("MemAvailable: ?\n")
    assert available_bytes() is None


def test_a_library_that_cannot_be_loaded_is_told(machine: Machine) -> None:
    gguf = tiny_llm("qwen3")
    chosen = settings(library="/no/libggml-htp.so")
    machine.passed(gguf, chosen)
    placement, _ = machine.choose(gguf, chosen)
    assert placement.device == ""
    assert "libggml-htp.so cannot be loaded: no such file" in templates(placement.told)


def test_errors_of_the_model_itself_are_not_hidden(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise InferenceError("The model is closed.")

    monkeypatch.setattr(opening, "LlamaChatSession", fails)
    with pytest.raises(InferenceError):
        machine.open(tiny_llm("qwen3"), settings("cpu"))
