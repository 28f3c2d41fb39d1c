"""Prints the `dev` extra of pyproject.toml for pip: installing it as an extra would build the extension again."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
sys.stdout.write(" ".join(project["optional-dependencies"]["dev"]))
