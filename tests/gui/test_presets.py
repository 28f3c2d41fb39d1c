"""Presets in the settings panel: choose, save, rename, delete, share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from kazeia_desktop.settings.presets import PresetStore, preset_of, write_preset
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value
from tests.gui.conftest import Opened, Opener
from tests.gui.test_settings_panel import type_number
from tests.gui.test_words import switch

pytestmark = pytest.mark.gui


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("KAZEIA_HOME", str(tmp_path))
    yield tmp_path


@pytest.fixture
def one(opened: Opener) -> Opened:
    made = opened()
    made.window.resize(1300, 800)
    made.window.show_settings(True)
    made.until(lambda: made.window.panel.complete)
    made.settle()
    return made


def kept(home: Path) -> list[str]:
    return [preset.name for preset in PresetStore(home / "config" / "presets").list()[0]]


def choose(one: Opened, title: str) -> None:
    combo = one.window.panel.presets.editor.combo
    at = combo.findText(title)
    assert at >= 0, [combo.itemText(i) for i in range(combo.count())]
    combo.setCurrentIndex(at)
    combo.activated.emit(at)


def save_as(one: Opened, name: str) -> None:
    bar = one.window.panel.presets
    bar.save.click()
    bar.name.selectAll()
    bar.name.setText(name)
    QTest.keyClick(bar.name, Qt.Key.Key_Return)


def test_the_one_that_fits_is_shown(one: Opened) -> None:
    combo = one.window.panel.presets.editor.combo
    assert [combo.itemText(i) for i in range(combo.count())] == ["D'origine", "Posée", "Vive", "Précise"]
    assert combo.currentText() == "D'origine"
    type_number(one, "llm.temperature", "1,7")
    assert combo.currentText() == "Votre choix, non enregistré"
    type_number(one, "vad.hangover_ms", "900")  # no preset's concern
    one.window.panel.fields["llm.temperature"].reset.click()
    assert combo.currentText() == "D'origine" and combo.count() == 4


def test_a_chosen_one_is_saved_and_reaches_the_engine_as_one_change(one: Opened) -> None:
    before = len(one.engine.called("apply"))
    choose(one, "Posée")
    one.until(lambda: one.engine.settings.tts.speed == 0.9)
    assert one.engine.settings.llm.temperature == 0.2 and one.engine.settings.tts.early_comma is False
    assert len(one.engine.called("apply")) - before == 1
    assert one.host.saved[-1].tts.speed == 0.9
    assert one.window.panel.fields["tts.speed"].editor.value() == 0.9


def test_save_choose_rename_delete(one: Opened, home: Path) -> None:
    bar, combo = one.window.panel.presets, one.window.panel.presets.editor.combo
    assert not bar.rename.isEnabled() and not bar.delete.isEnabled()
    type_number(one, "llm.temperature", "1,7")
    save_as(one, "Ma soirée")
    one.until(lambda: combo.currentText() == "Ma soirée")
    assert kept(home) == ["Ma soirée"] and not bar.name.isVisible() and "Ma soirée" in bar.told.text()
    choose(one, "Vive")
    one.until(lambda: one.engine.settings.llm.temperature == 0.9)
    choose(one, "Ma soirée")
    one.until(lambda: one.engine.settings.llm.temperature == 1.7)
    bar.rename.trigger()
    assert bar.name.text() == "Ma soirée"
    bar.name.setText("Ma nuit")
    bar.yes.click()
    one.until(lambda: combo.currentText() == "Ma nuit")
    assert kept(home) == ["Ma nuit"]
    bar.delete.trigger()
    assert "Ma nuit" in bar.question.text() and not bar.name.isVisible() and bar.no.hasFocus()
    bar.no.click()
    assert kept(home) == ["Ma nuit"] and not bar.question.isVisible()
    bar.delete.trigger()
    bar.yes.click()
    one.until(lambda: combo.currentText() == "Votre choix, non enregistré")
    assert kept(home) == []


def test_a_name_that_is_taken_is_told_and_can_be_corrected(one: Opened, home: Path) -> None:
    bar = one.window.panel.presets
    save_as(one, "Posée")
    one.until(lambda: bar.told.isVisible())
    assert "préréglage fourni" in bar.told.text() and bar.told.objectName() == "fieldError" and bar.name.isVisible()
    save_as(one, "Posée à moi")
    one.until(lambda: kept(home) == ["Posée à moi"])
    one.until(lambda: bar.told.objectName() == "quiet")


def test_escape_ends_the_question_and_no_more(one: Opened) -> None:
    bar = one.window.panel.presets
    bar.save.click()
    QTest.keyClick(bar.name, Qt.Key.Key_Escape)
    assert not bar.name.isVisible() and one.window.body.panel_open
    assert not one.engine.called("interrupt")


def test_shared_and_imported(one: Opened, home: Path, tmp_path: Path) -> None:
    bar = one.window.panel.presets
    type_number(one, "llm.temperature", "1,7")
    bar.export_file(tmp_path / "cadeau.toml")
    one.until(lambda: "cadeau.toml" in bar.told.text())
    choose(one, "Vive")
    bar.import_file(tmp_path / "cadeau.toml")
    one.until(lambda: one.engine.settings.llm.temperature == 1.7)
    one.until(lambda: bar.editor.combo.currentText() == "cadeau")
    assert kept(home) == ["cadeau"]


def test_a_bad_file_is_told_in_a_plain_line(one: Opened, home: Path, tmp_path: Path) -> None:
    bar = one.window.panel.presets
    (tmp_path / "photo.toml").write_bytes(b"\x89PNG")
    bar.import_file(tmp_path / "photo.toml")
    one.until(lambda: bar.told.isVisible())
    assert bar.told.text().startswith("photo.toml n'est pas un préréglage de Kazeia utilisable")
    assert kept(home) == [] and not one.engine.called("apply")
    switch(one, "en")
    assert bar.told.text().startswith("photo.toml is no preset")
    assert bar.editor.combo.currentText() == "As delivered"


def test_those_of_another_window_are_there_when_the_panel_opens_again(one: Opened, home: Path) -> None:
    write_preset(home / "config" / "presets" / "x.toml", preset_of("Ailleurs", with_value(Settings(), "llm.top_k", 3)))
    one.window.show_settings(False)
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.presets.editor.combo.findText("Ailleurs") >= 0)


def test_search_finds_presets(one: Opened) -> None:
    panel = one.window.panel
    panel.search.setText("vive")
    assert panel.presets.isVisible() and not panel.nothing.isVisible()
    panel.search.setText("micro")
    assert not panel.presets.isVisible()
