"""From settings to a conversation: where the model is computed is decided, its backend begun, the model loaded.

A device that cannot be used is told, and the CPU takes its place: there is always an answer.
"""

import ctypes
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.llm.backend_flags import BACKENDS, BackendEnvironment, parse_flags
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.llm.check_store import CheckStore, Verdict
from kazeia_desktop.llm.device_check import subject_of
from kazeia_desktop.llm.devices import DEVICES, Device, DeviceLister
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.placement import Kind, ModelFacts, Placement, Told, needed_flags, place, read_facts
from kazeia_desktop.llm.spot import CPU, Spot
from kazeia_desktop.llm.two_contexts import TwoContextModel
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import BackendSettings, LlmSettings, Settings

_log = logging.getLogger(__name__)

_MEMINFO: Final = Path("/proc/meminfo")

Tell = Callable[[Told], None]


@dataclass(frozen=True, slots=True)
class Opened:
    """A conversation and where it is computed. where: for the window, "CPU" or "HTP0 + CPU"."""

    session: LlamaChatSession
    where: str


def open_session(
    gguf: Path,
    settings: Settings,
    paths: Paths,
    tell: Tell,
    share: CoreShare | None = None,
    lister: DeviceLister = DEVICES,
    environment: BackendEnvironment = BACKENDS,
) -> Opened:
    """Load the model where the settings and the table say.

    Args:
        tell: hears what the user should know: a device that is not there, or has not passed the check.
    Raises:
        ModelError: what is wrong with the file.
    """
    facts = read_facts(gguf)
    placement, verdict = choose(gguf, facts, settings, CheckStore.of(paths), lister, environment)
    for told in placement.told:
        tell(told)
    try:
        session = _session(gguf, facts, settings, placement, share)
    except KazeiaError as error:
        if placement == Placement(told=placement.told):
            raise
        tell(_failed(placement, error))
        placement, verdict = Placement(), None
        session = _session(gguf, facts, settings, placement, share)
    where = placement.words if verdict is None or verdict.computed_on == placement.device else "CPU"
    _log.info("the language model is computed on: %s", where)
    return Opened(session, where)


def choose(
    gguf: Path,
    facts: ModelFacts,
    settings: Settings,
    store: CheckStore,
    lister: DeviceLister = DEVICES,
    environment: BackendEnvironment = BACKENDS,
) -> tuple[Placement, Verdict | None]:
    """Where to compute, with the verdict on its device; the device's backend has then begun in this process."""
    backends = settings.backends
    if backends.llm_device.strip().lower() in ("", "cpu"):
        # A library is not even loaded: its driver could end the process.
        environment.begin(backends.model_copy(update={"library": ""}), {})
        return place(facts, (), settings, lambda _: False, available_bytes()), None
    needs = needed_flags(facts.kind)
    told = flags_told(backends)
    if environment.restart_needed(backends, needs):
        restart = Told("Restart Kazeia so that the settings of its backends take effect; until then the CPU answers.")
        return Placement(told=(*told, restart)), None
    offer = lister.list(backends, needs)
    if offer.problem is not None:
        told = (*told, Told(offer.problem.template, offer.problem.values))
    verdicts: dict[str, Verdict] = {}

    def passed(device: Device) -> bool:
        verdict = store.get(subject_of(device, gguf, facts, settings, store))
        if verdict is not None:
            verdicts[device.name] = verdict
        return verdict is not None and verdict.ok

    placement = place(facts, offer.devices, settings, passed, available_bytes())
    verdict = verdicts.get(placement.device)
    if placement.device:
        try:
            environment.begin(backends, needs)
        except KazeiaError as error:
            return Placement(told=(*told, Told(error.template, error.values))), None
        if verdict is not None and not verdict.measured:
            told = (*told, Told(
                "The device {device} is experimental until `kazeia bench llm` has measured it on this machine.",
                {"device": placement.device},
            ))  # fmt: skip
    return replace(placement, told=(*told, *placement.told)), verdict


def flags_told(backends: BackendSettings) -> tuple[Told, ...]:
    """What is odd about the user's flags."""
    flags = parse_flags(backends.flags)
    unknown = [Told("The backend flag {name} is set, but no backend here is known to read it.", {"name": name})
               for name in flags.unknown]  # fmt: skip
    refused = [Told("The backend flag {name} is kept but not set: it is not a backend's.", {"name": name})
               for name in flags.refused]  # fmt: skip
    return (*unknown, *refused)


def _failed(placement: Placement, error: KazeiaError) -> Told:
    return Told(
        "The model cannot be computed on {device} ({reason}): the CPU answers.",
        {"device": placement.words, "reason": error},
    )


def _session(
    gguf: Path, facts: ModelFacts, settings: Settings, placement: Placement, share: CoreShare | None
) -> LlamaChatSession:
    return LlamaChatSession(gguf, settings.llm, share, model_maker(facts, settings, placement))


def spot_of(placement: Placement, settings: Settings) -> Spot:
    """Where prompts are read, and where everything is with one context."""
    return Spot(placement.device, placement.layers, settings.backends.op_offload) if placement.device else CPU


def model_maker(
    facts: ModelFacts, settings: Settings, placement: Placement
) -> Callable[[Path, LlmSettings, CoreShare | None], LlamaModel]:
    """What loads a model as a placement says; raises KazeiaError where llama.cpp finds another kind of model."""
    there = spot_of(placement, settings)

    def make_model(path: Path, llm: LlmSettings, cores: CoreShare | None) -> LlamaModel:
        if placement.two_contexts:
            model: LlamaModel = TwoContextModel(path, llm, cores, CPU, reader=there)
        else:
            model = LlamaModel(path, llm, cores, there)
        if placement.device and (kind := loaded_kind(model)) is not facts.kind:
            model.close()
            raise KazeiaError("the file says {said}, llama.cpp says {found}", said=facts.kind.value, found=kind.value)
        return model

    return make_model


def loaded_kind(model: LlamaModel) -> Kind:
    """What llama.cpp says of a loaded model, to confirm what was read from its file before."""
    import llama_cpp

    handle = llama_cpp.llama_get_model(model.context.handle)
    if llama_cpp.llama_model_is_recurrent(handle):
        return Kind.RECURRENT
    return Kind.HYBRID if llama_cpp.llama_model_is_hybrid(handle) else Kind.DENSE


def available_bytes() -> int | None:
    """Memory that programs can still take without swapping; None where the system does not tell."""
    if sys.platform == "win32":
        return _available_on_windows()
    try:
        lines = _MEMINFO.read_text("ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == "MemAvailable" and value.split()[:1] and value.split()[0].isdigit():
            return int(value.split()[0]) * 1024
    return None


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "available", "page_total", "page", "virtual", "free", "ext")),
    )


def _available_on_windows() -> int | None:
    status = _MemoryStatus(ctypes.sizeof(_MemoryStatus))
    kernel = ctypes.CDLL("kernel32")
    return int(status.available) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else None
