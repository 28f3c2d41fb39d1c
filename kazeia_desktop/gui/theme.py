"""Colours, sizes and the style sheet. Colour belongs to voices; everything else is neutral.

Fusion draws the widgets; the palette and a short style sheet carry the tokens. Every text colour has
a contrast of at least 4.5 on the surfaces that it stands on, every line of a control at least 3
(tests/gui/test_theme.py).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

from kazeia_desktop.events import State

BODY_PX: Final = 15
SMALL_PX: Final = 13
LINE_HEIGHT: Final = 1.45
GRID: Final = 8
RADIUS: Final = 10
TOUCH_PX: Final = 44
"""Height of a target on a tablet or in a narrow window (44 pt, the platforms' guideline)."""
CONTROL_PX: Final = 36
NARROW_PX: Final = 900
"""Below this width the settings become a drawer and targets grow."""
PAGE_PX: Final = 880
"""Width of what every page shows, in the middle of the window: longer lines are not read with ease."""
TEXT_COLUMNS: Final = 72
_RESOURCES: Final = Path(__file__).parent / "resources"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one theme, as #RRGGBB."""

    dark: bool
    ground: str  # behind the conversation
    surface: str  # bars, panel, Kazeia's messages
    field: str  # where one types
    line: str  # separates surfaces; carries no meaning
    outline: str  # the edge of a control
    text: str
    quiet: str  # helps, chips, what is not yet said
    hover: str
    user: str
    user_ground: str
    kazeia: str
    thinking: str
    error: str
    error_ground: str


LIGHT: Final = Tokens(
    dark=False, ground="#F7F7F8", surface="#FFFFFF", field="#FFFFFF", line="#E2E2E6", outline="#85858F",
    text="#1B1B1F", quiet="#5C5C66", hover="#EEEEF1", user="#0F766E", user_ground="#E3F3F0", kazeia="#6D28D9",
    thinking="#B45309", error="#B91C1C", error_ground="#FDECEC",
)  # fmt: skip

DARK: Final = Tokens(
    dark=True, ground="#141416", surface="#1D1D21", field="#26262B", line="#34343B", outline="#7C7C88",
    text="#ECECF0", quiet="#A9A9B4", hover="#2C2C32", user="#2DD4BF", user_ground="#123430", kazeia="#A78BFA",
    thinking="#FBBF24", error="#F87171", error_ground="#3A1A1C",
)  # fmt: skip

CONTRAST_LIGHT: Final = Tokens(
    dark=False, ground="#FFFFFF", surface="#FFFFFF", field="#FFFFFF", line="#000000", outline="#000000",
    text="#000000", quiet="#333333", hover="#E6E6E6", user="#004D47", user_ground="#FFFFFF", kazeia="#45109C",
    thinking="#6B2E00", error="#7A0000", error_ground="#FFFFFF",
)  # fmt: skip

CONTRAST_DARK: Final = Tokens(
    dark=True, ground="#000000", surface="#000000", field="#000000", line="#FFFFFF", outline="#FFFFFF",
    text="#FFFFFF", quiet="#E0E0E0", hover="#262626", user="#4FF0DC", user_ground="#000000", kazeia="#CDBBFF",
    thinking="#FFD54A", error="#FF9E9E", error_ground="#000000",
)  # fmt: skip
"""High contrast: every text at least 7 (WCAG AAA), every surface with an edge that is seen."""


def tokens_for(setting: str) -> Tokens:
    """The theme that `appearance.theme` ("auto", "light", "dark" or "contrast") means now."""
    hints = QApplication.styleHints()
    dark = hints.colorScheme() is Qt.ColorScheme.Dark
    asked = hints.accessibility().contrastPreference() is Qt.ContrastPreference.HighContrast
    if setting == "contrast" or (setting == "auto" and asked):
        return CONTRAST_DARK if dark else CONTRAST_LIGHT
    if setting == "auto":
        return DARK if dark else LIGHT
    return DARK if setting == "dark" else LIGHT


def state_color(tokens: Tokens, state: State) -> str:
    """The colour of a state; its icon and word say the same without it."""
    match state:
        case State.LISTENING | State.HEARING:
            return tokens.user
        case State.THINKING:
            return tokens.thinking
        case State.SPEAKING:
            return tokens.kazeia
        case State.ERROR:
            return tokens.error
        case _:
            return tokens.quiet


def body_font() -> QFont:
    """The system's font at 15 px."""
    font = QFont(QApplication.font())
    font.setPixelSize(BODY_PX)
    return font


def palette(tokens: Tokens) -> QPalette:
    """For what Fusion draws by itself: menus, tool tips, selections, disabled texts."""
    made = QPalette()
    role = QPalette.ColorRole
    for which, color in (
        (role.Window, tokens.ground), (role.WindowText, tokens.text), (role.Base, tokens.field),
        (role.AlternateBase, tokens.surface), (role.Text, tokens.text), (role.Button, tokens.surface),
        (role.ButtonText, tokens.text), (role.ToolTipBase, tokens.surface), (role.ToolTipText, tokens.text),
        (role.PlaceholderText, tokens.quiet), (role.Highlight, tokens.user), (role.Accent, tokens.user),
        (role.HighlightedText, "#062B27" if tokens.dark else "#FFFFFF"), (role.Link, tokens.user),
        (role.Light, tokens.hover), (role.Midlight, tokens.hover), (role.Mid, tokens.line),
        (role.Dark, tokens.outline), (role.Shadow, tokens.line),
    ):  # fmt: skip
        made.setColor(which, QColor(color))
    for which in (role.Text, role.ButtonText, role.WindowText):
        made.setColor(QPalette.ColorGroup.Disabled, which, QColor(tokens.outline))
    return made


def style_sheet(tokens: Tokens, touch: bool) -> str:
    """The style sheet of the window's parts; see `gui.wardrobe`. What holds them is painted by the palette.

    Args:
        touch: targets of 44 px instead of 36.
    """
    t = tokens
    height = TOUCH_PX if touch else CONTROL_PX
    inner = height - 2  # the border is inside
    chip = TOUCH_PX - 2 if touch else 22
    on_user = "#062B27" if t.dark else "#FFFFFF"
    check = _RESOURCES.joinpath(f"check-on-{'dark' if t.dark else 'light'}.svg").as_posix()
    user_edge = t.user_ground if t.user_ground != t.ground else t.user  # in high contrast its ground is no other
    return f"""
    QWidget {{ color: {t.text}; font-size: {BODY_PX}px; }}
    QWidget#ground, QScrollArea#chat, QWidget#chatContent {{ background: {t.ground}; border: none; }}
    QWidget#header {{ background: {t.surface}; border-bottom: 1px solid {t.line}; }}
    QWidget#presence {{ background: {t.surface}; border-top: 1px solid {t.line}; }}
    QWidget#sidebar {{ background: {t.surface}; border-right: 1px solid {t.line}; }}
    QListView#conversations {{ background: {t.surface}; border: none; outline: none; }}
    QWidget#scrim {{ background: rgba(0, 0, 0, 110); }}
    QLabel {{ background: transparent; }}
    QLabel#quiet, QLabel#help, QLabel#badge {{ color: {t.quiet}; font-size: {SMALL_PX}px; }}
    QLabel#title {{ font-size: 18px; font-weight: 600; }}
    QLabel#section {{ font-size: 16px; font-weight: 600; }}
    QLabel#welcome {{ font-size: 24px; font-weight: 500; }}
    QLabel#stateWord {{ font-weight: 600; }}
    QLabel#fieldError {{ color: {t.error}; font-size: {SMALL_PX}px; }}
    QFrame#userMessage {{ background: {t.user_ground}; border: 1px solid {user_edge}; border-radius: {RADIUS}px; }}
    QFrame#kazeiaMessage {{ background: {t.surface}; border: 1px solid {t.line}; border-radius: {RADIUS}px; }}
    QLabel#userName {{ color: {t.user}; font-size: {SMALL_PX}px; font-weight: 600; }}
    QLabel#kazeiaName {{ color: {t.kazeia}; font-size: {SMALL_PX}px; font-weight: 600; }}
    QLabel#messageText {{ border: 1px solid transparent; border-radius: 4px; }}
    QLabel#messageText:focus {{ border: 1px solid {t.outline}; }}
    QFrame#card {{ background: {t.surface}; border: 1px solid {t.line}; border-radius: {RADIUS}px; }}
    QFrame#banner {{ background: {t.error_ground}; border: 1px solid {t.error}; border-radius: {RADIUS}px; }}
    QPushButton, QToolButton {{
        min-height: {inner}px; border: 1px solid {t.outline}; border-radius: {RADIUS}px;
        padding: 0 {2 * GRID - 2}px; background: {t.surface};
    }}
    QToolButton {{ min-width: {inner}px; padding: 0; }}
    QToolButton::menu-indicator {{ image: none; }}
    QToolButton#text {{ padding: 0 {GRID}px; }}
    QPushButton:hover, QToolButton:hover {{ background: {t.hover}; }}
    QPushButton:pressed, QToolButton:pressed {{ background: {t.line}; }}
    QPushButton:disabled, QToolButton:disabled {{ color: {t.outline}; border-color: {t.line}; }}
    QToolButton:checked {{ background: {t.hover}; border: 1px solid {t.text}; }}
    QPushButton#primary {{ background: {t.user}; border-color: {t.user}; color: {on_user}; font-weight: 600; }}
    QPushButton#primary:disabled {{ background: {t.hover}; border-color: {t.line}; color: {t.quiet}; }}
    QPushButton#danger {{ border-color: {t.error}; color: {t.error}; }}
    QToolButton#flat {{ border-color: transparent; background: transparent; }}
    QToolButton#flat:hover {{ background: {t.hover}; }}
    QToolButton#chip {{
        border-color: transparent; background: transparent; color: {t.quiet}; font-size: {SMALL_PX}px;
        min-height: {chip}px; min-width: {chip}px; padding: 0 6px;
        border-radius: 6px;
    }}
    QPushButton#metrics {{
        border: 1px solid transparent; border-radius: 4px; background: transparent; color: {t.quiet};
        font-size: {SMALL_PX}px; padding: 0; text-align: left; min-height: {chip}px;
    }}
    QPushButton#metrics:hover, QPushButton#metrics:checked {{ color: {t.text}; background: transparent; }}
    QPushButton#metrics:focus {{ border: 1px solid {t.text}; }}
    QToolButton#chip:hover, QToolButton#chip:checked {{ background: {t.hover}; color: {t.text}; }}
    QPushButton:focus, QToolButton:focus, QToolButton#flat:focus, QPushButton#primary:focus,
    QPushButton#danger:focus {{
        border: 2px solid {t.text}; min-height: {inner - 2}px; }}
    QToolButton:focus, QToolButton#flat:focus {{ min-width: {inner - 2}px; }}
    QToolButton#chip:focus {{ border: 1px solid {t.text}; min-width: {chip}px; min-height: {chip}px; }}
    QLineEdit, QPlainTextEdit, QComboBox {{
        background: {t.field}; border: 1px solid {t.outline}; border-radius: {RADIUS}px; padding: 0 {GRID}px;
        selection-background-color: {t.user}; selection-color: {on_user};
    }}
    QLineEdit, QComboBox {{ min-height: {inner}px; placeholder-text-color: {t.quiet}; }}
    QComboBox QLineEdit {{
        min-height: 0; border: none; background: transparent; padding: 0;
    }}
    QLineEdit QToolButton {{ min-height: 0; min-width: 0; border: none; background: transparent; padding: 0; }}
    QComboBox {{ padding-right: 32px; }}
    QComboBox::drop-down {{ border: none; width: 32px; }}
    QComboBox::down-arrow {{ image: none; }}
    QPlainTextEdit {{ padding: {GRID // 2}px; }}
    QLineEdit:focus, QPlainTextEdit:focus, QComboBox:focus {{
        border: 2px solid {t.text}; min-height: {inner - 2}px; padding-left: {GRID - 1}px; }}
    QLineEdit[wrong="true"], QPlainTextEdit[wrong="true"], QComboBox[wrong="true"] {{
        border: 2px solid {t.error}; min-height: {inner - 2}px; padding-left: {GRID - 1}px; }}
    QComboBox QAbstractItemView {{ background: {t.surface}; border: 1px solid {t.outline}; outline: none; }}
    QComboBox QAbstractItemView::item {{ min-height: {inner}px; padding: 0 {GRID}px; }}
    QCheckBox {{ min-height: {height}px; spacing: {GRID}px; border-radius: 6px; border: 2px solid transparent;
        padding: 0 {GRID // 2}px; }}
    QCheckBox:focus {{ border: 2px solid {t.text}; }}
    QCheckBox::indicator {{
        width: 16px; height: 16px; border: 1px solid {t.outline}; border-radius: 4px; background: {t.field};
    }}
    QCheckBox::indicator:hover {{ border-color: {t.text}; }}
    QCheckBox::indicator:checked {{ background: {t.user}; border-color: {t.user}; image: url("{check}"); }}
    QCheckBox::indicator:disabled {{ border-color: {t.line}; background: {t.hover}; }}
    QTableView {{
        background: {t.surface}; alternate-background-color: {t.ground}; border: 1px solid {t.outline};
        border-radius: {RADIUS}px; selection-background-color: {t.hover}; selection-color: {t.text};
    }}
    QTableView:focus {{ border: 2px solid {t.text}; }}
    QTableView::item {{ padding: 0 {GRID}px; border: none; }}
    QHeaderView {{ background: transparent; }}
    QHeaderView::section {{
        background: transparent; color: {t.quiet}; font-size: {SMALL_PX}px; border: none;
        border-bottom: 1px solid {t.line}; padding: {GRID}px;
    }}
    QProgressBar {{ background: {t.line}; border: none; min-height: 4px; max-height: 4px; border-radius: 2px; }}
    QProgressBar::chunk {{ background: {t.text}; border-radius: 2px; }}
    QToolTip {{ background: {t.surface}; color: {t.text}; border: 1px solid {t.outline}; padding: 4px; }}
    QScrollBar:vertical {{ background: transparent; width: {16 if touch else 12}px; margin: 0; }}
    QScrollBar::handle:vertical {{ background: {t.outline}; border-radius: 3px; min-height: 32px; margin: 2px 3px; }}
    QScrollBar:horizontal {{ background: transparent; height: {16 if touch else 12}px; margin: 0; }}
    QScrollBar::handle:horizontal {{ background: {t.outline}; border-radius: 3px; min-width: 32px; margin: 3px 2px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; width: 0; }}
    QAbstractScrollArea::corner {{ background: transparent; border: none; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    """
