"""Real weights for tests: where `make models` put them, whatever KAZEIA_HOME a test sets later."""

from pathlib import Path

import pytest

from kazeia_desktop.errors import ModelError
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.store import ModelStore
from kazeia_desktop.paths import Paths

_STORE = ModelStore(Paths.from_environment().models_dir, Catalog.load())


def require_model(name: str) -> Path:
    """The folder of a real, checked model; the test fails when it is not there."""
    try:
        return _STORE.require(name)
    except ModelError as error:
        pytest.fail(f"{error} (run `make models`)", pytrace=False)
