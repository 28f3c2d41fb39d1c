"""Prints the folder of the installed llama_cpp; fails unless its headers and library are of one installation.

`site-packages/include` is shared by all packages, so another one may have replaced llama.h: structures of
another layout would corrupt memory at run time, and are refused here instead.
"""

import base64
import hashlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

CHECKED = ("include/llama.h", "include/ggml.h", "include/ggml-backend.h", "llama_cpp/lib/libllama.so")


def main() -> None:
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        sys.exit("llama-cpp-python is not installed: run `make build`, which installs it first")
    installed = importlib.metadata.distribution("llama-cpp-python")
    for entry in installed.files or ():
        if entry.as_posix() not in CHECKED or entry.hash is None:
            continue
        digest = hashlib.sha256(Path(entry.locate()).read_bytes()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != entry.hash.value:
            sys.exit(f"{entry} is not the one of llama-cpp-python {installed.version}: install that again")
    sys.stdout.write(Path(spec.origin).parent.as_posix())


main()
