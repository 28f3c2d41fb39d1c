"""What llama.cpp can compute on, as told by its drivers: run in a process of its own by `devices.list_devices`.

    python -m kazeia_desktop.llm.device_probe < {"library": ""}

Prints {"devices": [...]}, or {"error": [template, values], "devices": [...]} when the extra library cannot be loaded.
Flags come with the environment.
"""

import json
import sys
from pathlib import Path

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.llm import ggml
from kazeia_desktop.llm.backend_flags import load_library


def main() -> None:
    """Read the job, list, answer."""
    job = json.load(sys.stdin)
    answer: dict[str, object] = {}
    if job["library"]:
        try:
            load_library(Path(job["library"]))
        except ModelIncompatibleError as error:
            answer["error"] = [error.template, error.values]
    found = []
    for device in ggml.devices():
        total, free = ggml.memory(device)
        found.append(
            {
                "name": ggml.text(ggml.dev_name(device)),
                "description": ggml.text(ggml.dev_description(device)),
                "kind": ggml.KINDS.get(int(ggml.dev_type(device)), "accelerator"),
                "backend": ggml.backend_name(device),
                "memory_total_bytes": total,
                "memory_free_bytes": free,
            }
        )
    answer["devices"] = found
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
