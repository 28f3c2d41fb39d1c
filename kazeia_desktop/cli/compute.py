"""What can compute here, and what is known of it: for `devices`, `doctor` and `bench llm`."""

from dataclasses import replace
from pathlib import Path

from kazeia_desktop.errors import InferenceError, KazeiaError
from kazeia_desktop.llm.check_store import CheckStore, Verdict
from kazeia_desktop.llm.device_check import check_device, subject_of
from kazeia_desktop.llm.devices import DEVICES, Device
from kazeia_desktop.llm.node_watch import as_record
from kazeia_desktop.llm.opening import flags_told
from kazeia_desktop.llm.placement import ModelFacts, case_of, needed_flags, read_facts
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.store import ModelStore
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.translations import system_language, translate


class Compute:
    """The devices with these settings, for the language model that they name.

    Attributes:
        gguf, facts: None where that model is not on this machine.
        problem: why there may be more devices than are listed.
    """

    def __init__(self, paths: Paths, settings: Settings) -> None:
        self.settings = settings
        self.store = CheckStore.of(paths)
        self.gguf: Path | None = None
        self.facts: ModelFacts | None = None
        self.missing: KazeiaError | None = None
        try:
            self.gguf = ModelStore(paths.models_dir, Catalog.load()).require_weights(settings.llm.model)
            self.facts = read_facts(self.gguf)
        except KazeiaError as error:
            self.gguf, self.missing = None, error
        needs = {} if self.facts is None else needed_flags(self.facts.kind)
        offer = DEVICES.list(settings.backends, needs)
        self.devices = offer.devices
        self.problem = offer.problem

    @property
    def model(self) -> str:
        """The model's short name."""
        return Path(self.settings.llm.model).name

    def find(self, name: str) -> Device:
        """Raises InferenceError: there is none of that name."""
        for device in self.devices:
            if device.name.lower() == name.lower():
                return device
        raise InferenceError(
            "There is no computing device {device}: `kazeia devices` lists what is there.", device=name
        )

    def verdict(self, device: Device) -> Verdict | None:
        """What the check of this device with the model found; None: it was not made."""
        if self.gguf is None or self.facts is None:
            return None
        return self.store.get(subject_of(device, self.gguf, self.facts, self.settings, self.store))

    def is_usable(self, device: Device) -> bool:
        """Whether it is the processor, or passed the check."""
        verdict = None if device.is_cpu else self.verdict(device)
        return device.is_cpu or (verdict is not None and verdict.ok)

    def check(self, name: str) -> dict[str, object]:
        """Check a device with the model, keep the verdict, and tell all that was seen.

        Raises:
            KazeiaError: no such device, no model, or the driver ended the check.
        """
        device = self.find(name)
        if self.gguf is None or self.facts is None:
            assert self.missing is not None
            raise self.missing
        found = check_device(device, self.gguf, self.facts, self.settings, CancelToken())
        assert found is not None  # it was not cancelled
        self.keep(device, found.verdict)
        return {**self.record(device), "work": as_record(found.work), "timed_work": as_record(found.timed)}

    def keep(self, device: Device, verdict: Verdict) -> None:
        """Remember a verdict; that it was measured stays."""
        if self.gguf is None or self.facts is None:
            return
        before = self.verdict(device)
        if before is not None and before.ok and before.measured:
            verdict = replace(verdict, measured=True)
        self.store.put(subject_of(device, self.gguf, self.facts, self.settings, self.store), verdict)

    def record(self, device: Device) -> dict[str, object]:
        """For JSON. state: "cpu", "unchecked", "failed", "experimental" or "usable"."""
        verdict = None if device.is_cpu else self.verdict(device)
        record: dict[str, object] = {
            "name": device.name,
            "description": device.description,
            "type": device.kind,
            "backend": device.backend,
            "memory_total_bytes": device.memory_total_bytes,
            "memory_free_bytes": device.memory_free_bytes,
            "state": _state(device, verdict),
        }
        if self.facts is not None and not device.is_cpu:
            case = case_of(self.facts.kind, device.backend)
            record |= {"way": case.way.value, "needs": dict(case.needs), "reason": case.reason}
        if verdict is not None:
            record |= {
                "cosine": round(verdict.cosine, 6),
                "same_top": round(verdict.same_top, 4),
                "computed_on": verdict.computed_on,
                "problem": verdict.reason.format(**verdict.values),
            }
        return record

    def told(self, device: Device) -> str:
        """What a person should know of it, in the system's language; "" for the processor."""
        language = system_language()
        if device.is_cpu:
            return ""
        verdict = self.verdict(device)
        match _state(device, verdict):
            case "unchecked":
                return translate(
                    "not checked with {model}: run `kazeia devices --check {device}`",
                    language,
                    model=self.model,
                    device=device.name,
                )
            case "failed":
                assert verdict is not None
                return translate(verdict.reason, language, **verdict.values)
            case "experimental":
                told = translate("passed the check with {model}", language, model=self.model)
                told += f"; {translate('experimental until measured by `kazeia bench llm`', language)}"
            case _:
                told = translate("passed the check with {model}", language, model=self.model)
        assert verdict is not None
        if verdict.computed_on != device.name:
            told += f"; {translate('computed on CPU', language)}"
        return told

    def warnings(self) -> list[str]:
        """What is wrong with the settings of the backends, in the system's language."""
        language = system_language()
        told = [translate(one.template, language, **one.values) for one in flags_told(self.settings.backends)]
        if self.problem is not None:
            told.insert(0, self.problem.told_in(language))
        return told


def _state(device: Device, verdict: Verdict | None) -> str:
    if device.is_cpu:
        return "cpu"
    if verdict is None:
        return "unchecked"
    if not verdict.ok:
        return "failed"
    return "usable" if verdict.measured else "experimental"
