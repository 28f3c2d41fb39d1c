"""Runs small programs in a fresh interpreter: what is imported first, and with which environment, is the test."""

import os
import subprocess
import sys


def python(source: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `source`; the environment is this process's without Kazeia's variables, plus `environment`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("KAZEIA_") and k != "LLAMA_CPP_LIB_PATH"}
    return subprocess.run(
        [sys.executable, "-c", source],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
