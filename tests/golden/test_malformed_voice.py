"""Model directories with one thing altered: refused in a line that names the file, or spoken with; never a crash.

The full form, with all alterations there are: `python tools/fuzz_voice.py`.
"""

from pathlib import Path

import pytest

from tests.voice_trial import GOOD, Report, small_models, try_some

pytestmark = pytest.mark.golden

COUNT = 330


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Base in q8_0, CustomVoice in f32."""
    return list(small_models(tmp_path_factory.mktemp("malformed")))


@pytest.mark.parametrize("which", [0, 1])
def test_no_altered_model_does_harm(models: list[Path], which: int) -> None:
    report: Report = try_some(models[which], COUNT, seed=which)
    assert report.problems == []
    assert report.counts.total() == COUNT
    assert {outcome.split()[0] for outcome in report.counts} == set(GOOD)
    # most of what is altered cannot be right
    assert report.counts["refused tensor"] > COUNT // 8
    assert report.counts["refused key"] > COUNT // 8
