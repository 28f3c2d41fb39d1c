"""Both languages complete, and everything told to screen readers: every widget is visited."""

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QWidget,
)  # fmt: skip

from kazeia_desktop.events import Failed, Notice, State, StateChanged
from kazeia_desktop.gui.words import Words, resolve_language
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui

SAME_IN_BOTH = {
    "Conversations", "Conversations (Ctrl+L)", "Notifications",
    "Kazeia", "Message", "Microphone", "Threads", "Top-k", "Top-p", "Min-p", "Flash attention", "tokens", "ms", "s",
    "Français", "English", "Kokoro", "llama.cpp", "Conversation", "CPU", "DRY", "Typical-p", "Bonjour", "Bonjour.",
}  # fmt: skip


def full_window(opened: Opener) -> Opened:
    """Everything that can be seen at once."""
    one = opened()
    one.window.resize(1300, 900)
    one.engine.exchange("Bonjour", "Bonjour.")
    turn = one.engine.hears("Bonjour")
    one.engine.replies(turn, "Bonjour.", [])
    one.engine.ends(turn, "", "interrupted")
    one.engine.emit(Failed("The reply failed.", {}, "retry", fatal=False))
    one.engine.emit(Notice("The conversation is long: its oldest part was forgotten.", {}))
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.complete)
    one.engine.emit(StateChanged(State.HEARING))
    one.until(lambda: one.window.presence.state is State.HEARING and one.window.banner.isVisible())
    one.settle()
    return one


def widgets(root: QWidget) -> Iterator[QWidget]:
    yield root
    yield from root.findChildren(QWidget)


def texts(root: QWidget) -> list[str]:
    """Every text that is seen or read out, in the order of the widgets."""
    found: list[str] = []
    for widget in widgets(root):
        found += [widget.toolTip(), widget.accessibleName(), widget.accessibleDescription()]
        if isinstance(widget, QLabel | QAbstractButton):
            found.append(widget.text())
        if isinstance(widget, QLineEdit):
            found.append(widget.placeholderText())
        if isinstance(widget, QComboBox):
            found += [widget.itemText(i) for i in range(widget.count())]
    return [text for text in found if any(c.isalpha() for c in text)]


def switch(one: Opened, language: str) -> None:
    editor = one.window.panel.fields["appearance.language"].editor
    editor.show_value(language)
    editor.edited.emit()
    one.settle()


def test_switching_the_language_leaves_no_text_behind(opened: Opener) -> None:
    one = full_window(opened)
    french = texts(one.window)
    switch(one, "en")
    english = texts(one.window)
    assert len(french) == len(english) > 300

    def needs_no_translation(text: str) -> bool:
        return text in SAME_IN_BOTH or "<p" in text or _is_name(text)

    left = {f for f, e in zip(french, english, strict=True) if f == e and not needs_no_translation(f)}
    assert not left, sorted(left)
    switch(one, "fr")
    assert texts(one.window) == french


def _is_name(text: str) -> bool:
    """Names of models, devices, voices and values, which are the same everywhere."""
    names = {
        "ff_siwis", "Siwis", "whisper-base", "qwen2.5-coder-0.5b", "smollm2-135m", "int8", "float32", "f16", "q8_0",
        "mixed", "Micro USB", "PulseAudio", "HDMI", "Kazeia: Bonjour.",
    }  # fmt: skip
    return text in names


def test_numbers_follow_the_language(opened: Opener) -> None:
    one = full_window(opened)
    editor = one.window.panel.fields["llm.temperature"].editor.widget
    assert isinstance(editor, QLineEdit) and editor.text() == "0,3"
    switch(one, "en")
    assert editor.text() == "0.3"
    assert Words("fr").seconds(1234) == "1,2\u202fs" and Words("en").seconds(1234) == "1.2\u202fs"
    assert Words("fr").seconds(12.4) == "12\u202fms"


def test_auto_is_the_systems_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    assert resolve_language("auto") == "fr"
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert resolve_language("auto") == "en"
    assert resolve_language("fr") == "fr"


def test_every_control_has_a_name_for_screen_readers(opened: Opener) -> None:
    one = full_window(opened)
    nameless = []
    controls = QAbstractButton | QLineEdit | QComboBox | QPlainTextEdit | QProgressBar
    for widget in widgets(one.window):
        inner = isinstance(widget.parent(), QComboBox | QLineEdit | QAbstractScrollArea)
        if isinstance(widget, controls) and not inner and not widget.objectName().startswith("qt_"):
            interface = QAccessible.queryAccessibleInterface(widget)
            if not interface.text(QAccessible.Text.Name).strip():
                nameless.append(f"{type(widget).__name__} {widget.objectName()} in {widget.parent()}")
    assert not nameless


def test_tab_reaches_every_control_and_comes_back(opened: Opener) -> None:
    one = opened()
    presence = one.window.presence
    one.window.presence.field.setText("x")
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: presence.stop.isEnabled())
    one.window.chat.setFocus()
    seen: list[QWidget | None] = []
    for _ in range(12):
        seen.append(one.window.focusWidget())
        one.window.focusNextChild()
    order = [presence.field, presence.send, presence.mute, presence.stop]
    assert all(widget in seen for widget in (*order, one.window.header.settings))
    assert [widget for widget in seen if widget in order][:4] == order


def test_focus_is_visible(opened: Opener) -> None:
    one = opened()
    for widget in (one.window.presence.mute, one.window.header.settings, one.window.presence.field):
        one.window.chat.setFocus()
        before = widget.grab().toImage()
        widget.setFocus()
        if isinstance(widget, QLineEdit):
            widget.setReadOnly(True)  # without the cursor
        one.settle()
        assert widget.hasFocus() and widget.grab().toImage() != before
