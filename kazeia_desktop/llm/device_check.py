"""Whether a device computes a model as the CPU does: fed with the same real text, and left to end by itself.

In a child process, because a bad driver can abort. A synthetic benchmark proves nothing: a backend that gets one
operation wrong writes gibberish at full speed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kazeia_desktop import _native
from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.backend_flags import BACKENDS, joined, parse_flags
from kazeia_desktop.llm.check_store import CheckStore, Subject, Verdict, file_sha256, options_of
from kazeia_desktop.llm.child import ChildFailed, ask_child
from kazeia_desktop.llm.devices import Device
from kazeia_desktop.llm.node_watch import Work, computed_on
from kazeia_desktop.llm.placement import ModelFacts, needed_flags
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings

_CHILD: Final = "kazeia_desktop.llm.device_check_child"
_PATIENCE_S: Final = 1800.0
MIN_COSINE: Final = 0.999
MIN_SAME_TOP: Final = 0.95


@dataclass(frozen=True, slots=True)
class Check:
    """A verdict with what was seen on the way.

    work, timed: device -> what it did, as counted in the check, and as measured node by node.
    """

    verdict: Verdict
    work: dict[str, Work]
    timed: dict[str, Work]


def subject_of(device: Device, gguf: Path, facts: ModelFacts, settings: Settings, store: CheckStore) -> Subject:
    """What a verdict on this device and model depends on.

    Raises:
        OSError: the model's file cannot be read.
    """
    backends = settings.backends
    flags = joined(parse_flags(backends.flags).values, needed_flags(facts.kind))
    library = Path(backends.library)
    return Subject(
        device,
        store.model_sha256(gguf),
        _native._core.LLAMA_LIBRARY_SHA256,
        tuple(sorted(flags.items())),
        file_sha256(library) if backends.library and library.is_file() else "",
        options_of(settings.llm),
    )


def check_device(
    device: Device, gguf: Path, facts: ModelFacts, settings: Settings, cancel: CancelToken
) -> Check | None:
    """Run the check; some seconds for a small model, a minute or more for a large one. None when cancelled.

    Raises:
        InferenceError: the child died; with its exit code and last line.
    """
    flags = joined(parse_flags(settings.backends.flags).values, needed_flags(facts.kind))
    job = {
        "gguf": str(gguf),
        "llm": settings.llm.model_dump(),
        "device": "" if device.is_cpu else device.name,
        "op_offload": settings.backends.op_offload,
        "library": settings.backends.library,
    }
    try:
        answer = ask_child(_CHILD, job, BACKENDS.clean_environment(flags), _PATIENCE_S, cancel)
    except ChildFailed as failed:
        raise InferenceError(
            "The check of the device {device} ended early (exit code {code}, last line: {last}).",
            device=device.name,
            code="-" if failed.code is None else failed.code,
            last=failed.last,
        ) from failed
    if answer is None:
        return None
    if "error" in answer:
        template, values = answer["error"]
        raise InferenceError(template, **values)
    work, timed = _work(answer["work"]), _work(answer["timed"])
    return Check(judge(device.name, answer, computed_on(work, device.name)), work, timed)


def _work(record: dict[str, Any]) -> dict[str, Work]:
    return {name: Work(one["nodes"], one["matrix_products"], one["ms"]) for name, one in record.items()}


def judge(device: str, seen: dict[str, Any], ran_on: str) -> Verdict:
    """The criteria: all figures finite, the cosine of each step, the likeliest tokens, an end that comes by itself."""
    cosine, same = float(seen["cosine"]), float(seen["same_top"])
    problem: InferenceError | None = None
    if not seen["finite"]:
        problem = InferenceError(
            "The device {device} must not be used with this model: it gives figures that are not finite.",
            device=device,
        )
    elif cosine < MIN_COSINE:
        problem = InferenceError(
            "The device {device} must not be used with this model: its results differ from the CPU's (cosine {found}, "
            "{least} is needed).",
            device=device,
            found=f"{cosine:.4f}",
            least=MIN_COSINE,
        )
    elif same < MIN_SAME_TOP:
        problem = InferenceError(
            "The device {device} must not be used with this model: it chooses the CPU's word in {found} % of steps, "
            "and {least} % are needed.",
            device=device,
            found=f"{100 * same:.0f}",
            least=f"{100 * MIN_SAME_TOP:.0f}",
        )
    elif not seen["ended"]:
        problem = InferenceError(
            "The device {device} must not be used with this model: an answer did not end by itself within {n} tokens.",
            device=device,
            n=seen["free_tokens"],
        )
    if problem is not None:
        return Verdict(False, problem.template, problem.values, cosine, same, ran_on)
    return Verdict(True, "", {}, cosine, same, ran_on)
