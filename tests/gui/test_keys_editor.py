"""Shortcuts are set by pressing them, in the panel that is generated from the schema."""

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from kazeia_desktop.gui.settings_panel.field import SettingField
from kazeia_desktop.gui.settings_panel.keys_editor import KeysEditor, is_keys
from tests.gui.conftest import Opened, Opener
from tests.gui.test_settings_panel import panel_of
from tests.gui.test_words import switch

pytestmark = pytest.mark.gui
CTRL, SHIFT, ALT, META = (
    Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.MetaModifier,
)  # fmt: skip
NONE = Qt.KeyboardModifier.NoModifier


def field_of(one: Opened, key: str) -> tuple[SettingField, KeysEditor]:
    field = one.window.panel.fields[key]
    assert isinstance(field.editor, KeysEditor)
    one.window.panel._scroll.ensureWidgetVisible(field)
    field.editor.field.setFocus()
    return field, field.editor


def press(editor: KeysEditor, key: Qt.Key, modifiers: Qt.KeyboardModifier = NONE) -> None:
    QTest.keyClick(editor.field, key, modifiers)


def test_every_shortcut_has_this_editor_and_nothing_else_has(opened: Opener) -> None:
    one = panel_of(opened)
    for key, field in one.window.panel.fields.items():
        assert isinstance(field.editor, KeysEditor) is is_keys(key), key
    assert sum(map(is_keys, one.window.panel.fields)) == 10


@pytest.mark.parametrize(
    ("key", "modifiers", "kept", "shown"),
    [
        (Qt.Key.Key_K, CTRL | SHIFT, "Ctrl+Shift+K", "Ctrl+Maj+K"),
        (Qt.Key.Key_F4, NONE, "F4", "F4"),
        (Qt.Key.Key_Delete, META | ALT, "Alt+Meta+Del", "Alt+Super+Suppr"),
        (Qt.Key.Key_Plus, CTRL, "Ctrl++", "Ctrl++"),
        (Qt.Key.Key_PageUp, ALT, "Alt+PgUp", "Alt+Page précédente"),
    ],
)
def test_keys_that_are_pressed_are_kept(
    opened: Opener, key: Qt.Key, modifiers: Qt.KeyboardModifier, kept: str, shown: str
) -> None:
    one = panel_of(opened)
    field, editor = field_of(one, "shortcuts.new")
    assert editor.field.text() == "Ctrl+N"
    press(editor, Qt.Key.Key_Return)
    assert editor.field.waiting and editor.field.text() == "" and "Échap" in field.help.text()
    press(editor, key, modifiers)
    assert not editor.field.waiting and not field.wrong.isVisible()
    assert one.window._settings.shortcuts.new == kept and editor.field.text() == shown
    one.until(lambda: bool(one.host.saved) and one.host.saved[-1].shortcuts.new == kept)
    assert field.reset.isVisible()


def test_a_key_that_is_a_shortcut_does_nothing_else_while_it_is_caught(opened: Opener) -> None:
    one = panel_of(opened)
    _field, editor = field_of(one, "system.global_shortcut")
    press(editor, Qt.Key.Key_Space)
    press(editor, Qt.Key.Key_F1)  # closes the settings
    one.settle()
    assert one.window.body.panel_open
    press(editor, Qt.Key.Key_Space)
    press(editor, Qt.Key.Key_Escape)
    one.settle()
    assert one.window.body.panel_open and not editor.field.waiting
    press(editor, Qt.Key.Key_F1)
    one.settle()
    assert not one.window.body.panel_open


def test_escape_and_leaving_change_nothing_backspace_clears(opened: Opener) -> None:
    one = panel_of(opened)
    field, editor = field_of(one, "shortcuts.mute")
    for leave in (Qt.Key.Key_Escape, Qt.Key.Key_Tab):
        editor.field.setFocus()
        press(editor, Qt.Key.Key_Return)
        press(editor, leave)
        assert not editor.field.waiting and editor.field.text() == "Ctrl+M"
    assert not editor.field.hasFocus()  # Tab is no prison
    for waiting in (True, False):
        editor.field.setFocus()
        if waiting:
            press(editor, Qt.Key.Key_Return)
        press(editor, Qt.Key.Key_Backspace)
        assert one.window._settings.shortcuts.mute == ""
        assert editor.field.text() == "" and editor.field.placeholderText() == "Aucun"
        assert not editor.clear.isEnabled()
        field.reset.click()
        assert one.window._settings.shortcuts.mute == "Ctrl+M"
    editor.clear.click()
    assert one.window._settings.shortcuts.mute == ""


@pytest.mark.parametrize(
    ("key", "pressed", "modifiers", "told"),
    [
        ("shortcuts.new", Qt.Key.Key_M, CTRL, "«\u202fCouper ou ouvrir le micro\u202f»"),
        ("system.global_shortcut", Qt.Key.Key_M, CTRL, "«\u202fCouper ou ouvrir le micro\u202f»"),
        ("shortcuts.new", Qt.Key.Key_X, NONE, "sert à écrire"),
        ("shortcuts.new", Qt.Key.Key_C, CTRL, "modifier le texte"),
        ("shortcuts.new", Qt.Key.Key_Space, NONE, "«\u202fInterrompre\u202f»"),
    ],
)
def test_keys_that_cannot_be_had_are_told_in_one_line(
    opened: Opener, key: str, pressed: Qt.Key, modifiers: Qt.KeyboardModifier, told: str
) -> None:
    one = panel_of(opened)
    field, editor = field_of(one, key)
    before = editor.field.text()
    press(editor, Qt.Key.Key_Return)
    press(editor, pressed, modifiers)
    assert field.wrong.isVisible() and told in field.wrong.text() and "\n" not in field.wrong.text()
    assert editor.field.text() == before and not one.host.saved
    press(editor, Qt.Key.Key_Return)
    assert not field.wrong.isVisible()


def test_a_key_of_the_desktop_cannot_be_taken_for_the_window(opened: Opener) -> None:
    one = panel_of(opened)
    one.window.change("system.global_shortcut", "Ctrl+Alt+K")
    field, editor = field_of(one, "shortcuts.find")
    press(editor, Qt.Key.Key_Return)
    press(editor, Qt.Key.Key_K, CTRL | ALT)
    assert "«\u202fRaccourci de tout le bureau\u202f»" in field.wrong.text()


def test_letters_that_are_typed_on_it_are_not_said_to_kazeia(opened: Opener) -> None:
    one = panel_of(opened)
    _field, editor = field_of(one, "shortcuts.find")
    press(editor, Qt.Key.Key_B)
    assert one.window.presence.field.text() == "" and editor.field.hasFocus()


def test_modifiers_are_seen_while_they_are_held(opened: Opener) -> None:
    one = panel_of(opened)
    _field, editor = field_of(one, "shortcuts.find")
    QTest.mouseClick(editor.field, Qt.MouseButton.LeftButton)
    assert editor.field.waiting and editor.field.placeholderText() == "Tapez les touches…"
    QTest.keyPress(editor.field, Qt.Key.Key_Shift, CTRL)  # Qt adds the key itself
    assert editor.field.text() == "Ctrl+Maj+…"
    QTest.keyRelease(editor.field, Qt.Key.Key_Shift, SHIFT)
    assert editor.field.text() == ""
    switch(one, "en")
    assert editor.field.placeholderText() == "Press the keys…"
    assert editor.clear.accessibleName() == "No shortcut for “Find in the conversation”"


@pytest.mark.parametrize("code", [0, 0x1FFFFFF], ids=["none", "unknown"])
def test_a_key_that_nobody_knows_takes_no_shortcut_away(opened: Opener, code: int) -> None:
    one = panel_of(opened)
    _field, editor = field_of(one, "shortcuts.new")
    press(editor, Qt.Key.Key_Return)
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(editor.field, QKeyEvent(kind, code, NONE))
    assert editor.field.waiting and editor.value() == "Ctrl+N"
    press(editor, Qt.Key.Key_K, CTRL | SHIFT)
    assert one.window._settings.shortcuts.new == "Ctrl+Shift+K"
