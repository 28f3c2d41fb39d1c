"""llama.cpp's quantisation, run in a process of its own by `requantize`: it cannot be stopped, but a process can.

    python -m kazeia_desktop.models.convert.requantize_child

Stdin: one line of JSON, see `run`; at its end, which is the parent's, this process ends. Stdout: one JSON object a
line: {"tensor": NAME} when one begins, then {"bytes": N} (a dry run only) or {"error": REASON} or {"done": true}.
"""

import ctypes
import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any, Final

import llama_cpp

_TENSOR: Final = re.compile(r"^\[ *\d+/ *\d+\] +(\S+)")
_SIZE: Final = re.compile(r"quant size += +([\d.]+) MiB")
_FAILED: Final = re.compile(r"failed to quantize: (.*)", re.DOTALL)
_KEPT_BYTES: Final = 256 << 20  # of a tensor at once; llama.cpp would take 8 GB


class Listener:
    """What llama.cpp says on the way."""

    def __init__(self) -> None:
        self.size = 0
        self.reason = "no reason given"

    def hear(self, text: str) -> None:
        """A piece of its log."""
        if found := _TENSOR.match(text):
            tell({"tensor": found.group(1)})
        elif found := _SIZE.search(text):
            self.size = round(float(found.group(1)) * 2**20)
        elif found := _FAILED.search(text):
            self.reason = " ".join(found.group(1).split())


def tell(record: dict[str, object]) -> None:
    """To the parent; without one this process ends."""
    try:
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()
    except OSError:
        os._exit(1)


def parameters(job: dict[str, Any]) -> Any:  # noqa: ANN401 - a C struct
    """llama.cpp's, and what must stay alive with them."""
    params = llama_cpp.llama_model_quantize_default_params()
    params.nthread = job["threads"]
    params.ftype = job["file_type"]
    params.allow_requantize = True
    params.pure = job["pure"]
    params.dry_run = job["dry_run"]
    params.max_buf_size = _KEPT_BYTES
    if job["tables"] is not None:
        params.token_embedding_type = params.output_tensor_type = job["tables"]
    keep = job["keep"]
    if keep:
        overrides = (llama_cpp.llama_model_tensor_override * (len(keep) + 1))()
        for slot, (pattern, kind) in zip(overrides, keep, strict=False):
            slot.pattern, slot.type = pattern.encode(), kind
        params.tt_overrides = overrides
    return params


def run(job: dict[str, Any]) -> None:
    """Quantise `source` to `target`, both paths, with the fields of a QuantPlan, `threads` and `dry_run`."""
    listener = Listener()

    @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
    def on_log(_level: int, text: bytes, _data: object) -> None:
        listener.hear(text.decode("utf-8", "replace"))

    llama_cpp.llama_log_set(on_log, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    params = parameters(job)
    code = llama_cpp.llama_model_quantize(
        os.fsencode(job["source"]), os.fsencode(job["target"]), ctypes.byref(params)
    )  # fmt: skip
    if code != 0:
        tell({"error": listener.reason})
    elif job["dry_run"]:
        tell({"bytes": listener.size})
    else:
        tell({"done": True})


def _end_with_parent(target: Path) -> None:
    sys.stdin.read()
    target.unlink(missing_ok=True)
    os._exit(1)


def main() -> None:
    """Read the job, do it, say so."""
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, args=(Path(job["target"]),), daemon=True).start()
    run(job)
    sys.stdout.flush()
    os._exit(0)  # the other thread waits in a read that nothing ends


if __name__ == "__main__":
    main()
