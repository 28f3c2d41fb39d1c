"""What llama.cpp offers, asked in another process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kazeia_desktop.llm.child import ChildFailed
from kazeia_desktop.llm.devices import Device, DeviceLister
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import BackendSettings

pytestmark = pytest.mark.unit

CPU = {
    "name": "CPU", "description": "A processor", "kind": "cpu", "backend": "CPU",
    "memory_total_bytes": 8, "memory_free_bytes": 4,
}  # fmt: skip
GPU = CPU | {"name": "Vulkan0", "kind": "gpu", "backend": "Vulkan"}


class FakeProbe:
    """Answers as told, and remembers what it was asked."""

    def __init__(self, *answers: dict[str, Any] | ChildFailed) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, dict[str, str]]] = []

    def __call__(self, library: str, flags: Mapping[str, str], cancel: CancelToken) -> dict[str, Any]:
        self.asked.append((library, dict(flags)))
        answer = self._answers.pop(0)
        if isinstance(answer, ChildFailed):
            raise answer
        return answer


def test_asked_once_a_session_until_refreshed() -> None:
    probe = FakeProbe({"devices": [CPU]}, {"devices": [CPU, GPU]})
    lister = DeviceLister(probe)
    settings = BackendSettings()
    assert lister.list(settings) is lister.list(settings)
    assert [d.name for d in lister.list(settings).devices] == ["CPU"]
    assert [d.name for d in lister.list(settings, refresh=True).devices] == ["CPU", "Vulkan0"]
    assert len(probe.asked) == 2


def test_other_flags_are_another_question() -> None:
    probe = FakeProbe({"devices": [CPU]}, {"devices": [CPU, GPU]})
    lister = DeviceLister(probe)
    lister.list(BackendSettings())
    lister.list(BackendSettings(flags="GGML_VK_VISIBLE_DEVICES=0"), {"GGML_HEXAGON_NHMX": "0"})
    assert probe.asked[1] == ("", {"GGML_VK_VISIBLE_DEVICES": "0", "GGML_HEXAGON_NHMX": "0"})


def test_a_driver_that_aborts_is_told_and_the_cpu_stays() -> None:
    probe = FakeProbe(ChildFailed(-6, "vk: device lost"), {"devices": [CPU]})
    offer = DeviceLister(probe).list(BackendSettings(library="/x/libggml-vulkan.so"))
    assert [d.name for d in offer.devices] == ["CPU"]
    assert "exit code -6, last line: vk: device lost" in str(offer.problem)
    assert probe.asked[1] == ("", {})


def test_where_nothing_can_be_listed_there_is_a_problem_and_no_device() -> None:
    offer = DeviceLister(FakeProbe(ChildFailed(None, "no end within 60 s"))).list(BackendSettings())
    assert offer.devices == ()
    assert "no end within 60 s" in str(offer.problem)


@pytest.mark.parametrize(("kind", "cpu"), [("cpu", True), ("accelerator", True), ("gpu", False), ("igpu", False)])
def test_what_counts_as_the_processor(kind: str, cpu: bool) -> None:
    assert Device("x", "", kind, "X", 0, 0).is_cpu is cpu


def test_the_real_list_has_the_processor(tmp_path: Path) -> None:
    no_backend = tmp_path / "libggml-none.so"
    no_backend.write_bytes(b"\x7fELF not really")
    offer = DeviceLister().list(BackendSettings(library=str(no_backend)))
    assert any(device.kind == "cpu" and device.memory_total_bytes > 0 for device in offer.devices)
    assert "libggml-none.so cannot be loaded" in str(offer.problem)
