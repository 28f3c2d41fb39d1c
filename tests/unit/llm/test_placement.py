"""Where a language model is computed: the table on lists of devices that this machine does not have."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan
from kazeia_desktop.llm.devices import Device
from kazeia_desktop.llm.placement import (
    TABLE,
    Kind,
    ModelFacts,
    Placement,
    Way,
    case_of,
    needed_flags,
    place,
    read_facts,
)
from kazeia_desktop.settings.schema import BackendSettings, LlmSettings, Settings

pytestmark = pytest.mark.unit

GB = 10**9
CPU = Device("CPU", "Oryon", "cpu", "CPU", 16 * GB, 16 * GB)
BLAS = Device("BLAS", "OpenBLAS", "accelerator", "BLAS", 0, 0)
HTP = Device("HTP0", "Hexagon", "gpu", "HTP", 2 * GB, 2 * GB)
VULKAN = Device("Vulkan0", "Radeon", "gpu", "Vulkan", 8 * GB, 8 * GB)
ADRENO = Device("GPUOpenCL", "Adreno 830", "gpu", "OpenCL", 0, 0)
IGPU = Device("Vulkan1", "Iris", "igpu", "Vulkan", 8 * GB, 8 * GB)


def facts(kind: Kind, size: int = GB) -> ModelFacts:
    return ModelFacts({"dense": "qwen3", "hybrid": "qwen35", "recurrent": "mamba2"}[kind], kind, size)


def settings(device: str = "cpu", two_contexts: str = "auto", gpu_layers: int = -1) -> Settings:
    backends = BackendSettings.model_validate({"llm_device": device, "two_contexts": two_contexts})
    return Settings(llm=LlmSettings(gpu_layers=gpu_layers), backends=backends)


def placed(kind: Kind, devices: list[Device], chosen: Settings, passed: str = "all", free: int = 32 * GB) -> Placement:
    return place(
        facts(kind), devices, chosen, lambda device: passed == "all" or device.name in passed.split(), free_bytes=free
    )


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("devices", [[], [CPU], [CPU, BLAS], [CPU, HTP], [CPU, VULKAN, ADRENO]])
def test_the_processor_is_the_default_whatever_is_there(kind: Kind, devices: list[Device]) -> None:
    assert placed(kind, devices, settings()) == Placement()


@pytest.mark.parametrize(
    ("kind", "device", "two", "flags"),
    [
        (Kind.DENSE, HTP, False, {"GGML_HEXAGON_NHMX": "0"}),
        (Kind.HYBRID, HTP, True, {"GGML_HEXAGON_OPFILTER": "SSM_CONV"}),
        (Kind.RECURRENT, HTP, True, {"GGML_HEXAGON_OPFILTER": "SSM_CONV"}),
        (Kind.DENSE, VULKAN, False, {}),
        (Kind.HYBRID, VULKAN, True, {}),
        (Kind.RECURRENT, ADRENO, True, {}),
        (Kind.DENSE, ADRENO, False, {}),
    ],
)
def test_the_table(kind: Kind, device: Device, two: bool, flags: dict[str, str]) -> None:
    found = placed(kind, [CPU, BLAS, device], settings(device.name.lower()))
    assert found == Placement(device.name, -1, two, flags)
    assert found.words == (f"{device.name} + CPU" if two else device.name)


def test_auto_takes_the_first_that_passed() -> None:
    devices = [CPU, HTP, VULKAN, ADRENO]
    assert placed(Kind.DENSE, devices, settings("auto"), passed="Vulkan0 GPUOpenCL").device == "Vulkan0"
    assert placed(Kind.DENSE, devices, settings("auto"), passed="") == Placement()
    assert placed(Kind.DENSE, [CPU, BLAS], settings("auto")) == Placement()


def test_what_has_not_passed_is_not_used_and_told() -> None:
    found = placed(Kind.HYBRID, [CPU, HTP], settings("HTP0"), passed="")
    assert (found.device, found.two_contexts) == ("", False)
    assert found.told[0].values == {"device": "HTP0"}
    assert "--check" in found.told[0].template


@pytest.mark.parametrize("wanted", ["Vulkan7", "BLAS"])
def test_what_is_not_there_is_told(wanted: str) -> None:
    found = placed(Kind.DENSE, [CPU, BLAS, HTP], settings(wanted))
    assert found.device == ""
    assert "no computing device" in found.told[0].template


def test_no_layer_on_the_device_is_told() -> None:
    found = placed(Kind.DENSE, [CPU, VULKAN], settings("Vulkan0", gpu_layers=0))
    assert found.device == ""
    assert "gpu_layers" in found.told[0].template


def test_one_context_where_the_setting_says_so() -> None:
    assert not placed(Kind.HYBRID, [CPU, HTP], settings("HTP0", "off")).two_contexts
    assert placed(Kind.DENSE, [CPU, HTP], settings("HTP0", "always")).two_contexts
    assert placed(Kind.DENSE, [CPU], settings("cpu", "always")) == Placement(two_contexts=True)


@pytest.mark.parametrize(
    ("device", "size_gb", "free_gb", "two"),
    [
        (HTP, 3, 7, True),  # its memory is the system's
        (HTP, 3, 5, False),
        (IGPU, 5, 9, False),
        (VULKAN, 7, 8, True),  # once there, once here
        (VULKAN, 9, 16, False),
        (VULKAN, 5, 4, False),
        (ADRENO, 3, 6, True),
    ],
)
def test_a_model_that_does_not_fit_twice_falls_back_to_one_context(
    device: Device, size_gb: int, free_gb: int, two: bool
) -> None:
    found = place(facts(Kind.HYBRID, size_gb * GB), [CPU, device], settings(device.name), lambda _: True, free_gb * GB)
    assert (found.device, found.two_contexts) == (device.name, two)
    assert len(found.told) == (0 if two else 1)
    assert two or found.told[0].values == {"size_gb": f"{size_gb}.0"}


def test_unknown_memory_does_not_stand_in_the_way() -> None:
    found = place(facts(Kind.HYBRID, 9 * GB), [ADRENO], settings("GPUOpenCL"), lambda _: True, None)
    assert found.two_contexts


def test_every_kind_has_a_row_for_every_backend_and_every_flag_a_reason() -> None:
    for kind, backend in itertools.product(Kind, ("HTP", "Vulkan", "OpenCL", "CUDA", "Metal", "new one")):
        assert case_of(kind, backend) in TABLE
    assert all(case.reason for case in TABLE)
    assert case_of(Kind.HYBRID, "HTP").way is Way.READS
    assert needed_flags(Kind.DENSE) == {"GGML_HEXAGON_NHMX": "0"}
    assert needed_flags(Kind.HYBRID) == {"GGML_HEXAGON_OPFILTER": "SSM_CONV"}


@pytest.mark.parametrize(
    ("architecture", "keys", "kind"),
    [
        ("llama", [], Kind.DENSE),
        ("qwen35", [], Kind.HYBRID),
        ("qwen3next", [], Kind.HYBRID),
        ("lfm2", [], Kind.HYBRID),
        ("mamba2", [], Kind.RECURRENT),
        ("rwkv7", [], Kind.RECURRENT),
        ("tomorrow", ["ssm.state_size", "attention.head_count"], Kind.HYBRID),
        ("tomorrow", ["ssm.conv_kernel"], Kind.RECURRENT),
        ("tomorrow", ["attention.head_count"], Kind.DENSE),
        ("", [], Kind.DENSE),
    ],
)
def test_kind_from_the_file(tmp_path: Path, architecture: str, keys: list[str], kind: Kind) -> None:
    file = tmp_path / "modèle.gguf"
    write(file, architecture, keys)
    found = read_facts(file)
    assert (found.architecture, found.kind, found.n_bytes) == (architecture, kind, file.stat().st_size)


def write(file: Path, architecture: str, keys: list[str]) -> None:
    entries = [Key("general.architecture", "string", architecture)]
    entries += [Key(f"{architecture}.{key}", "u32", 4) for key in keys]
    writer = GgufWriter(file, entries, [TensorPlan("a", (2, 32), GgmlType.F32)])
    writer.append(np.zeros((2, 32), np.float32))
    writer.finish()
