"""The short form of tools/soak_knobs.py: settings turned at random on the real light models."""

import pytest

from kazeia_desktop.cli.bench_turn import SAMPLE_QUESTION
from tests.realmodels import require_model
from tools.soak_knobs import SMALL_MODEL, run

pytestmark = pytest.mark.golden

SECONDS = 15.0
SEED = 7


def test_whatever_is_turned_kazeia_goes_on_answering() -> None:
    folders = [require_model(name) for name in (SMALL_MODEL, "whisper-base", "silero-vad", "kokoro-82m")]
    outcome, ear = run(SECONDS, SEED, SAMPLE_QUESTION, folders[0].parent)
    assert outcome.good(ear), (outcome, ear.faults)
    assert outcome.changes > 5 and outcome.checks >= 1 and ear.ended["done"] >= 1
    assert outcome.close_s < 5.0
