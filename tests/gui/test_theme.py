"""Contrast of the themes (WCAG 2.2: 4.5 for text, 7 in high contrast, 3 for the edges of controls)."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QCheckBox
from pytestqt.qtbot import QtBot

from kazeia_desktop.events import State
from kazeia_desktop.gui.theme import (
    CONTRAST_DARK,
    CONTRAST_LIGHT,
    DARK,
    LIGHT,
    Tokens,
    state_color,
    style_sheet,
    tokens_for,
)

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


THEMES = {"light": LIGHT, "dark": DARK, "contrast-light": CONTRAST_LIGHT, "contrast-dark": CONTRAST_DARK}


@pytest.mark.parametrize("name", THEMES)
def test_texts_can_be_read(name: str) -> None:
    tokens, least = THEMES[name], 7.0 if "contrast" in name else 4.5
    pairs = [
        *((text, ground) for text in (tokens.text, tokens.quiet)
          for ground in (tokens.ground, tokens.surface, tokens.field, tokens.hover, tokens.user_ground)),
        (tokens.user, tokens.user_ground), (tokens.kazeia, tokens.surface),
        (tokens.text, tokens.error_ground), (tokens.error, tokens.surface),
        ("#062B27" if tokens.dark else "#FFFFFF", tokens.user),
        *((state_color(tokens, state), tokens.surface) for state in State),
    ]  # fmt: skip
    bad = {pair: round(contrast(*pair), 2) for pair in pairs if contrast(*pair) < least}
    assert not bad


@pytest.mark.parametrize("tokens", THEMES.values(), ids=THEMES)
def test_controls_can_be_seen(tokens: Tokens) -> None:
    grounds = (tokens.ground, tokens.surface, tokens.field)
    bad = {g: round(contrast(tokens.outline, g), 2) for g in grounds if contrast(tokens.outline, g) < 3}
    assert not bad
    assert contrast(tokens.error, tokens.error_ground) >= 3


class _Hints:
    """What the system says."""

    def __init__(self, scheme: Qt.ColorScheme, contrast: Qt.ContrastPreference) -> None:
        self._scheme, self._contrast = scheme, contrast

    def colorScheme(self) -> Qt.ColorScheme:
        return self._scheme

    def accessibility(self) -> "_Hints":
        return self

    def contrastPreference(self) -> Qt.ContrastPreference:
        return self._contrast


@pytest.mark.parametrize(
    ("setting", "dark", "asked", "tokens"),
    [
        ("auto", False, False, LIGHT), ("auto", True, False, DARK), ("auto", False, True, CONTRAST_LIGHT),
        ("auto", True, True, CONTRAST_DARK), ("light", True, True, LIGHT), ("dark", False, True, DARK),
        ("contrast", False, False, CONTRAST_LIGHT), ("contrast", True, False, CONTRAST_DARK),
    ],
)  # fmt: skip
def test_the_system_is_followed_unless_the_user_chose(
    monkeypatch: pytest.MonkeyPatch, setting: str, dark: bool, asked: bool, tokens: Tokens
) -> None:
    scheme = Qt.ColorScheme.Dark if dark else Qt.ColorScheme.Light
    contrast = Qt.ContrastPreference.HighContrast if asked else Qt.ContrastPreference.NoPreference
    monkeypatch.setattr(QApplication, "styleHints", lambda: _Hints(scheme, contrast))
    assert tokens_for(setting) is tokens


@pytest.mark.parametrize("tokens", [LIGHT, DARK, CONTRAST_LIGHT, CONTRAST_DARK])
def test_a_check_box_is_seen_and_so_is_its_mark(qtbot: QtBot, tokens: Tokens) -> None:
    box = QCheckBox("x")
    qtbot.addWidget(box)
    box.setStyleSheet(style_sheet(tokens, False))
    box.show()
    seen = []
    for checked in (False, True):
        box.setChecked(checked)
        picture = box.grab().toImage()
        middle = picture.height() // 2
        seen.append({picture.pixelColor(x, y).name() for x in range(20) for y in range(middle - 8, middle + 8)})
    assert tokens.outline.lower() in seen[0] and tokens.field.lower() in seen[0]
    mark = "#062b27" if tokens.dark else "#ffffff"
    assert tokens.user.lower() in seen[1] and mark in seen[1]
