"""The panel that is generated from the schema."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor, NumberEditor, SwitchEditor, TextEditor
from kazeia_desktop.gui.settings_panel.field import SettingField
from kazeia_desktop.settings.schema import SECTION_TITLES, Settings, section_type
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui


def panel_of(opened: Opener, host: FakeHost | None = None) -> Opened:
    one = opened(host)
    one.window.resize(1300, 800)
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.complete)
    one.settle()
    return one


def type_number(one: Opened, key: str, text: str) -> SettingField:
    field = one.window.panel.fields[key]
    editor = field.editor
    assert isinstance(editor, NumberEditor)
    editor.field.setFocus()
    editor.field.selectAll()
    one.bot.keyClicks(editor.field, text)
    one.bot.keyClick(editor.field, Qt.Key.Key_Return)
    return field


def test_every_setting_of_the_schema_is_there_with_its_kind_of_editor(opened: Opener) -> None:
    one = panel_of(opened)
    wanted = [f"{section}.{name}" for section in SECTION_TITLES for name in section_type(section).model_fields]
    assert list(one.window.panel.fields) == wanted
    assert list(SECTION_TITLES) == list(Settings.model_fields)
    kinds = {key: type(field.editor) for key, field in one.window.panel.fields.items()}
    assert kinds["llm.temperature"] is kinds["vad.hangover_ms"] is NumberEditor
    assert kinds["tts.early_comma"] is SwitchEditor
    assert kinds["audio.duplex"] is kinds["audio.input_device"] is ChoiceEditor
    assert kinds["llm.persona"] is TextEditor
    for key, field in one.window.panel.fields.items():
        section, _, name = key.partition(".")
        if section == "appearance":
            continue  # chosen for the tests
        assert field.editor.value() == getattr(getattr(Settings(), section), name), key
        assert field.title.text() and field.badge.text(), key


def test_a_change_is_saved_and_reaches_the_engine(opened: Opener) -> None:
    one = panel_of(opened)
    type_number(one, "llm.temperature", "1,2")
    one.until(lambda: bool(one.host.saved) and bool(one.engine.called("apply")))
    assert one.host.saved[-1].llm.temperature == 1.2
    assert one.engine.settings.llm.temperature == 1.2
    assert one.engine.threads >= {"engine", "control"} - {"control"}
    switch = one.window.panel.fields["tts.early_comma"].editor
    assert isinstance(switch, SwitchEditor)
    switch.box.click()
    one.until(lambda: one.engine.settings.tts.early_comma is False)
    assert one.host.saved[-1].llm.temperature == 1.2


def test_many_changes_in_a_row_are_taken_over_as_one(opened: Opener) -> None:
    one = panel_of(opened, FakeHost(delay_s=0.2))
    before = len(one.engine.called("apply"))
    editor = one.window.panel.fields["llm.top_k"].editor
    assert isinstance(editor, NumberEditor)
    for _ in range(20):
        editor.more.click()
    one.until(lambda: one.engine.settings.llm.top_k == 60)
    assert len(one.engine.called("apply")) - before <= 3
    one.until(lambda: one.host.saved[-1].llm.top_k == 60)


@pytest.mark.parametrize("text", ["7", "-1", "abc", "", "1e999", "nan"])
def test_a_wrong_number_is_explained_in_place_and_changes_nothing(opened: Opener, text: str) -> None:
    one = panel_of(opened)
    field = type_number(one, "llm.temperature", text or "\b")
    assert field.wrong.isVisible()
    assert field.wrong.text() == "Un nombre entre 0 et 2\u202f; la valeur précédente reste en vigueur."
    assert field.wrong.text() in field.editor.widget.accessibleDescription()
    one.settle()
    assert not one.host.saved and not one.engine.called("apply")
    type_number(one, "llm.temperature", "0.5")
    assert not field.wrong.isVisible()
    one.until(lambda: one.engine.settings.llm.temperature == 0.5)


def test_a_fraction_is_no_whole_number(opened: Opener) -> None:
    one = panel_of(opened)
    field = type_number(one, "llm.top_k", "3,7")
    assert field.wrong.text().startswith("Un nombre entier entre 0 et 1000")


def test_arrows_stay_in_range(opened: Opener) -> None:
    one = panel_of(opened)
    editor = one.window.panel.fields["llm.top_p"].editor
    assert isinstance(editor, NumberEditor)
    for _ in range(40):
        one.bot.keyClick(editor.field, Qt.Key.Key_Up)
    assert editor.value() == 1
    for _ in range(40):
        editor.less.click()
    assert editor.value() == 0.001
    assert not one.window.panel.fields["llm.top_p"].wrong.isVisible()


def test_a_text_that_is_too_long(opened: Opener) -> None:
    one = panel_of(opened)
    field = one.window.panel.fields["llm.persona"]
    field.editor.show_value("x" * 4001)
    field.editor.edited.emit()
    assert field.wrong.isVisible() and "llm.persona" in field.wrong.text()


def test_reset(opened: Opener) -> None:
    one = panel_of(opened)
    field = type_number(one, "vad.hangover_ms", "900")
    assert field.reset.isVisible()
    field.reset.click()
    assert field.editor.value() == 600 and not field.reset.isVisible()
    one.until(lambda: one.engine.settings.vad.hangover_ms == 600)


def test_choices_are_what_is_there(opened: Opener) -> None:
    one = panel_of(opened)
    editor = one.window.panel.fields["audio.input_device"].editor
    assert isinstance(editor, ChoiceEditor)
    one.until(lambda: editor.combo.count() == 3)
    assert [editor.combo.itemText(i) for i in range(3)] == ["Celui du système", "Micro USB", "PulseAudio"]
    editor.combo.setCurrentIndex(1)
    editor.combo.activated.emit(1)
    one.until(lambda: one.engine.settings.audio.input_device == "usb")
    models = one.window.panel.fields["llm.model"].editor
    assert isinstance(models, ChoiceEditor) and models.combo.isEditable()
    models.combo.setEditText("/chemin/modèle.gguf")
    models.combo.lineEdit().editingFinished.emit()
    one.until(lambda: one.engine.settings.llm.model == "/chemin/modèle.gguf")


def test_choices_are_looked_up_again_when_the_panel_is_opened_again(opened: Opener) -> None:
    one = panel_of(opened)
    kinds = {"inputs", "outputs", "stt_models", "llm_models", "tts_models", "voices", "compute_devices"}
    one.until(lambda: set(one.host.looked_up) == kinds)
    one.window.show_settings(False)
    one.window.show_settings(True)
    one.until(lambda: one.host.looked_up.count("inputs") == 2)


def test_search_finds_in_both_languages(opened: Opener) -> None:
    one = panel_of(opened)
    panel = one.window.panel
    for needle in ("température", "temperature", "llm.temperature"):
        panel.search.setText(needle)
        assert panel.fields["llm.temperature"].isVisible()
        assert not panel.fields["audio.volume"].isVisible()
    panel.search.setText("xyzzy")
    assert panel.nothing.isVisible() and not any(f.isVisible() for f in panel.fields.values())
    panel.search.clear()
    one.until(lambda: all(f.isVisible() for f in panel.fields.values()))


def test_the_wheel_scrolls_and_changes_nothing(opened: Opener) -> None:
    one = panel_of(opened)
    for key in ("llm.temperature", "audio.duplex"):
        widget = one.window.panel.fields[key].editor.widget
        before = one.window.panel.fields[key].editor.value()
        event = QWheelEvent(
            QPointF(5, 5), QPointF(widget.mapToGlobal(QPoint(5, 5))), QPoint(), QPoint(0, -120),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(widget, event)
        assert one.window.panel.fields[key].editor.value() == before
    assert not one.host.saved


def test_a_file_that_cannot_be_written_is_told(opened: Opener) -> None:
    error = SettingsError(
        "The settings cannot be saved to {path} ({reason}). Free space or check permissions.", path="/x", reason="plein"
    )
    one = panel_of(opened, FakeHost(save_error=error))
    type_number(one, "llm.temperature", "1")
    one.until(lambda: one.window.banner.isVisible())
    assert "/x (plein)" in one.window.banner.text.text()
    one.until(lambda: one.engine.settings.llm.temperature == 1.0)  # the change counts all the same


def test_a_change_while_the_models_load_is_taken_over_afterwards(opened: Opener) -> None:
    host = FakeHost()
    host.hold.clear()
    one = panel_of(opened, host)
    type_number(one, "llm.temperature", "1")
    one.until(lambda: bool(host.saved))
    host.hold.set()
    one.until(lambda: bool(host.engines) and one.engine.settings.llm.temperature == 1.0)


def test_a_change_just_before_closing_is_saved(opened: Opener) -> None:
    one = panel_of(opened, FakeHost(delay_s=0.3))
    one.window.set_muted(True)  # keeps the thread busy
    type_number(one, "llm.temperature", "1")
    one.close()
    assert one.host.saved[-1].llm.temperature == 1.0


def test_f1_and_ctrl_comma_open_and_close(opened: Opener) -> None:
    one = opened()
    one.bot.keyClick(one.window, Qt.Key.Key_F1)
    assert one.window.body.panel_open and one.window.header.settings.isChecked()
    one.bot.keyClick(one.window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    assert not one.window.body.panel_open and not one.window.header.settings.isChecked()


@pytest.mark.parametrize("width", [420, 700, 800, 1000, 1300])
def test_no_help_is_cut_off(opened: Opener, width: int) -> None:
    one = opened()
    one.window.resize(width, 900)
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.complete)
    one.settle()
    for again in (width, 1300, width):
        one.window.resize(again, 900)
        one.settle()
        for key, field in one.window.panel.fields.items():
            for label in (field.help, field.title):
                if label.isVisible():
                    assert label.height() >= label.heightForWidth(label.width()), (again, key, label.text())
            assert field.editor.widget.geometry().bottom() < field.help.y() or not field.help.isVisible(), key
