"""Prints what pyproject.toml requires, one a line, for `pip install --requirement`.

Usage: python tools/requirements.py [EXTRA]
Kazeia itself is installed without isolation, so that it is built against the llama-cpp-python that is there.
Its dependencies are not: some come as source and bring their own build tools. So pip is called for each.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
wanted = project["optional-dependencies"][sys.argv[1]] if sys.argv[1:] else project["dependencies"]
sys.stdout.write("\n".join(wanted) + "\n")
