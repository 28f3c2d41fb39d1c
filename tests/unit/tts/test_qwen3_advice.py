"""Which weights would be real time, and what is told of it."""

import pytest

from kazeia_desktop.translations import translate
from kazeia_desktop.tts.qwen3_advice import estimated_rtf, real_time_dtype, slowness, told
from kazeia_desktop.tts.qwen3_tuning import Team, Tuning

pytestmark = pytest.mark.unit


def test_the_formula() -> None:
    """Two thirds of the work read half the bytes; the codec's third stays."""
    assert estimated_rtf(1.2, 2 / 3, "q8_0", "q4_0") == pytest.approx(1.2 * (1 / 3 + 2 / 3 * 4.5 / 8.5))
    assert estimated_rtf(2.0, 0.0, "q8_0", "q4_0") == 2.0


@pytest.mark.parametrize(
    ("rtf", "share", "dtype", "better"),
    [
        (1.2, 2 / 3, "q8_0", "q4_0"),
        (1.5, 2 / 3, "q8_0", None),
        (1.2, 2 / 3, "q4_0", None),
        (1.3, 0.8, "f16", "q8_0"),  # the one that loses least
        (2.0, 0.8, "f16", "q4_0"),
        (1.2, 0.8, "another", None),
    ],
)
def test_the_lighter_type_that_loses_least(rtf: float, share: float, dtype: str, better: str | None) -> None:
    found = real_time_dtype(rtf, share, dtype)
    assert (None if found is None else found[0]) == better
    assert found is None or found[1] <= 1.0


def test_a_fast_voice_needs_no_advice() -> None:
    assert slowness(1.0, 0.6, "q8_0") is None
    assert slowness(1.04, 0.6, "q8_0") is None
    assert slowness(1.05, 0.6, "q8_0") is not None


@pytest.mark.parametrize("language", ["fr", "en"])
def test_the_advice_names_figures_and_the_light_voice(language: str) -> None:
    notice = slowness(1.24, 2 / 3, "q8_0")
    assert notice is not None
    line = translate(notice.template, language, **notice.values)
    assert all(part in line.replace(",", ".") for part in ("1.2", "q4_0", "0.9", "kokoro"))
    none = slowness(3.0, 2 / 3, "q8_0")
    assert none is not None
    line = translate(none.template, language, **none.values)
    assert "3.0" in line.replace(",", ".") and "kokoro" in line and "q4_0" not in line


def test_what_was_measured_is_told() -> None:
    notice = told(Tuning(Team(2, 1), (1, 2, 4), 1.172, 0.6, 300.0))
    line = translate(notice.template, "en", **notice.values)
    assert all(part in line for part in ("threads: 2,", "codec: 1,", "1, 2, 4.", "1.17"))
    assert "not measured" in told(None).template
