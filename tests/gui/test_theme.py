"""Contrast of both themes (WCAG 2.2: 4.5 for text, 3 for the edges of controls)."""

import pytest

from kazeia_desktop.events import State
from kazeia_desktop.gui.theme import DARK, LIGHT, Tokens, state_color

pytestmark = pytest.mark.gui


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_measure_is_right() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_can_be_read(tokens: Tokens) -> None:
    pairs = [
        *((text, ground) for text in (tokens.text, tokens.quiet)
          for ground in (tokens.ground, tokens.surface, tokens.field, tokens.hover, tokens.user_ground)),
        (tokens.user, tokens.user_ground), (tokens.kazeia, tokens.surface),
        (tokens.text, tokens.error_ground), (tokens.error, tokens.surface),
        ("#062B27" if tokens.dark else "#FFFFFF", tokens.user),
        *((state_color(tokens, state), tokens.surface) for state in State),
    ]  # fmt: skip
    bad = {pair: round(contrast(*pair), 2) for pair in pairs if contrast(*pair) < 4.5}
    assert not bad


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_controls_can_be_seen(tokens: Tokens) -> None:
    grounds = (tokens.ground, tokens.surface, tokens.field)
    bad = {g: round(contrast(tokens.outline, g), 2) for g in grounds if contrast(tokens.outline, g) < 3}
    assert not bad
    assert contrast(tokens.error, tokens.error_ground) >= 3
