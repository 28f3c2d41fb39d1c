"""Where a language model is computed: a table, and a pure function of model, devices and settings.

The model's kind is read from its file before any backend begins, because flags must be set by then; llama.cpp confirms
it once the model is loaded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.llm.devices import Device
from kazeia_desktop.settings.schema import Settings


class Kind(StrEnum):
    """What a model remembers a text by."""

    DENSE = "dense"  # attention: a key and a value for each token, so that the last ones can be forgotten
    HYBRID = "hybrid"  # both
    RECURRENT = "recurrent"  # one state, which cannot go back


_RECURRENT: Final = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
_HYBRID: Final = frozenset(
    {
        "bailingmoe3", "deepseek4", "falcon-h1", "glm5-next", "granitehybrid", "jamba", "kimi-k3", "kimi-linear",
        "lfm2", "lfm2moe", "minimax-01", "nemotron_h", "nemotron_h_moe", "plamo2", "qwen35", "qwen35moe", "qwen3next",
        "qwen4exp",
    }
)  # fmt: skip
"""llama.cpp's llm_arch_is_recurrent and llm_arch_is_hybrid. What is newer is known by its keys."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What the table needs of a model's file.

    Attributes:
        architecture: `general.architecture`; "" when the file has none.
        n_bytes: of the file.
    """

    architecture: str
    kind: Kind
    n_bytes: int


def read_facts(gguf: Path) -> ModelFacts:
    """From the header; no weight is read.

    Raises:
        ModelError: the file is missing or no sound GGUF.
    """
    file = GgufFile(gguf)
    architecture = file.text("general.architecture", "")
    return ModelFacts(architecture, _kind(architecture, file), gguf.stat().st_size)


def _kind(architecture: str, file: GgufFile) -> Kind:
    if architecture in _RECURRENT:
        return Kind.RECURRENT
    if architecture in _HYBRID:
        return Kind.HYBRID
    if any(f"{architecture}.{key}" in file for key in ("ssm.state_size", "ssm.conv_kernel", "shortconv.l_cache")):
        return Kind.HYBRID if f"{architecture}.attention.head_count" in file else Kind.RECURRENT
    return Kind.DENSE


class Way(StrEnum):
    """How device and processor share the work."""

    ALONE = "alone"  # everything there
    READS = "reads"  # it reads the prompt, the CPU writes the answer: two contexts


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table. backend: ggml's name of it, "" for any. needs: flags of the backend, with their reason."""

    kinds: frozenset[Kind]
    backend: str
    way: Way
    needs: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


_STATEFUL: Final = frozenset({Kind.HYBRID, Kind.RECURRENT})

TABLE: Final = (
    Case(
        _STATEFUL,
        "HTP",
        Way.READS,
        {"GGML_HEXAGON_OPFILTER": "SSM_CONV"},
        "Hexagon's SSM_CONV is wrong: with it the reference engine wrote gibberish at full speed; on the CPU it costs "
        "little, and prefill of a hybrid 4B model still went from 14 to 181 tokens a second.",
    ),
    Case(
        frozenset({Kind.DENSE}),
        "HTP",
        Way.ALONE,
        {"GGML_HEXAGON_NHMX": "0"},
        "Hexagon's matrix unit (HMX) computes in float16; the reference engine had it off for dense models.",
    ),
    Case(_STATEFUL, "", Way.READS, reason="Reading is many tokens at once, writing is one: each where it is fastest."),
    Case(frozenset({Kind.DENSE}), "", Way.ALONE, reason="Moving the whole cache each turn would cost what it gains."),
)
"""The first row that fits counts. Without a device everything is computed on the CPU."""


def case_of(kind: Kind, backend: str) -> Case:
    """The row for a kind of model on a backend."""
    return next(case for case in TABLE if kind in case.kinds and case.backend in ("", backend))


def needed_flags(kind: Kind) -> dict[str, str]:
    """All flags that the table has for this kind of model: each backend reads only its own."""
    return {name: value for case in TABLE if kind in case.kinds for name, value in case.needs.items()}


@dataclass(frozen=True, slots=True)
class Told:
    """One sentence for the user: an English template with its values."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the model is computed.

    Attributes:
        device: its name; "" for the CPU.
        layers: how many of the model's layers the device holds; -1 for all.
        two_contexts: whether the device (or a second context on the CPU) only reads the prompt.
        needs: flags that must be set before the device's backend begins.
        told: what the user should know of it.
    """

    device: str = ""
    layers: int = 0
    two_contexts: bool = False
    needs: Mapping[str, str] = field(default_factory=dict)
    told: tuple[Told, ...] = ()

    @property
    def words(self) -> str:
        """For the window: "CPU", "Vulkan0", or "HTP0 + CPU"."""
        if not self.device:
            return "CPU"
        return f"{self.device} + CPU" if self.two_contexts else self.device


_SHARED_MEMORY: Final = frozenset({"igpu"})
_SHARED_BACKENDS: Final = frozenset({"HTP", "OpenCL"})
"""Hexagon and the phones' GPUs have no memory of their own, whatever kind their drivers tell."""


def place(
    facts: ModelFacts,
    devices: Sequence[Device],
    settings: Settings,
    passed: Callable[[Device], bool],
    free_bytes: int | None = None,
) -> Placement:
    """The table, applied.

    Args:
        passed: whether a device computes this model correctly, by `device_check`.
        free_bytes: the system's memory that a model may take; None for unknown.
    """
    wanted = settings.backends.llm_device.strip()
    twice = settings.backends.two_contexts
    if wanted.lower() in ("", "cpu"):
        return _on_cpu(facts, twice, free_bytes)
    able = [device for device in devices if not device.is_cpu]
    if wanted.lower() == "auto":
        chosen = next((device for device in able if passed(device)), None)
        if chosen is None:
            return _on_cpu(facts, twice, free_bytes)
    else:
        chosen = next((device for device in able if device.name.lower() == wanted.lower()), None)
        if chosen is None:
            return _instead(
                Told(
                    "There is no computing device {device}: the CPU answers. `kazeia devices` lists what is there.",
                    {"device": wanted},
                )
            )
        if not passed(chosen):
            return _instead(
                Told(
                    "The device {device} has not passed the check with this model: the CPU answers. Run `kazeia "
                    "devices --check {device}`.",
                    {"device": chosen.name},
                )
            )
    if settings.llm.gpu_layers == 0:
        return _instead(
            Told(
                "The setting llm.gpu_layers is 0: the CPU computes all layers, and the device {device} none.",
                {"device": chosen.name},
            )
        )
    case = case_of(facts.kind, chosen.backend)
    both = twice == "always" or (twice == "auto" and case.way is Way.READS)
    if both and not _fits_twice(facts, chosen, free_bytes):
        return Placement(chosen.name, settings.llm.gpu_layers, False, case.needs, (_too_large(facts),))
    return Placement(chosen.name, settings.llm.gpu_layers, both, case.needs)


def _on_cpu(facts: ModelFacts, twice: str, free_bytes: int | None) -> Placement:
    if twice != "always":
        return Placement()
    if free_bytes is not None and 2 * facts.n_bytes > free_bytes:
        return Placement(told=(_too_large(facts),))
    return Placement(two_contexts=True)


def _instead(told: Told) -> Placement:
    return Placement(told=(told,))


def _too_large(facts: ModelFacts) -> Told:
    return Told(
        "The model is too large to be loaded twice ({size_gb} GB each): one context reads and answers.",
        {"size_gb": f"{facts.n_bytes / 1e9:.1f}"},
    )


def _fits_twice(facts: ModelFacts, device: Device, free_bytes: int | None) -> bool:
    """Whether the model's weights fit once on the device and once beside it."""
    if device.kind in _SHARED_MEMORY or device.backend in _SHARED_BACKENDS:
        return free_bytes is None or 2 * facts.n_bytes <= free_bytes
    there = device.memory_free_bytes == 0 or facts.n_bytes <= device.memory_free_bytes
    return there and (free_bytes is None or facts.n_bytes <= free_bytes)
