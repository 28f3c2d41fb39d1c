"""Of a section as a whole: back to its defaults, what was measured, and lists that are looked up when opened."""

from collections.abc import Mapping

import pytest

from kazeia_desktop.events import TurnEnded
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor
from kazeia_desktop.gui.settings_panel.hints import StageHints
from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value
from tests.gui.conftest import Opened, Opener
from tests.gui.test_settings_panel import panel_of, type_number
from tests.gui.test_words import switch

pytestmark = pytest.mark.gui

OWN: Mapping[str, float | None] = {
    "endpoint_ms": 640.0, "stt_ms_per_s": 412.0, "llm_ttft_ms": 96.0, "llm_token_ms": 41.26, "tts_ttfa_ms": 402.0,
    "tts_rtf": 1.17, "talker_ms": 30.04, "code_predictor_ms": 41.5, "codec_ms": 22.0,
}  # fmt: skip


def ends(one: Opened, metrics: Mapping[str, float | None]) -> None:
    one.engine.emit(TurnEnded(1, "", "done", metrics))
    one.settle()


def test_a_section_goes_back_to_its_defaults_and_that_can_be_taken_back(opened: Opener) -> None:
    one = panel_of(opened)
    head = one.window.panel._headings["vad"]
    assert not head.reset.isVisible()
    type_number(one, "vad.hangover_ms", "900")
    type_number(one, "vad.pre_roll_ms", "100")
    type_number(one, "llm.top_k", "7")
    assert head.reset.isVisible() and "Écoute" in head.reset.accessibleName()
    head.reset.click()
    one.until(lambda: one.engine.settings.llm.top_k == 7 and one.engine.settings.vad == Settings().vad)
    assert one.window.panel.fields["vad.hangover_ms"].editor.value() == 600
    assert head.reset.text() == "Annuler"
    head.reset.click()
    one.until(lambda: one.engine.settings.vad.hangover_ms == 900 and one.engine.settings.vad.pre_roll_ms == 100)
    assert head.reset.text() == "Par défaut" and head.reset.isVisible()


def test_a_change_after_the_reset_ends_the_way_back(opened: Opener) -> None:
    one = panel_of(opened)
    head = one.window.panel._headings["vad"]
    type_number(one, "vad.hangover_ms", "900")
    head.reset.click()
    type_number(one, "vad.pre_roll_ms", "100")
    assert head.reset.text() == "Par défaut"
    one.window.panel.fields["vad.pre_roll_ms"].reset.click()
    assert not head.reset.isVisible()


def test_what_the_last_turns_took_stands_under_the_headings(opened: Opener) -> None:
    one = panel_of(opened)
    heads = one.window.panel._headings
    assert not any(head.hint.text() for head in heads.values())
    ends(one, OWN)
    assert heads["stt"].hint.text() == "Derniers tours\u202f: 412\u202fms par seconde de parole, temps réel."
    assert "premier mot après 96\u202fms, 41\u202fms par token (24 par seconde)" in heads["llm"].hint.text()
    assert heads["tts"].hint.text() == (
        "Derniers tours\u202f: locuteur 30,0\u202fms, prédicteur 41,5\u202fms, décodeur 22,0\u202fms par trame de "
        "80\u202fms, premier son en 402\u202fms, 1170\u202fms par seconde de son, plus lent que le temps réel."
    )
    assert heads["tts"].accessibleDescription() == heads["tts"].hint.text()
    switch(one, "en")
    assert "talker 30.0 ms, code predictor 41.5 ms, codec 22.0 ms per frame" in heads["tts"].hint.text()
    assert not heads["audio"].hint.text()


def test_a_light_voice_tells_its_first_sound_and_speed() -> None:
    hints = StageHints()
    hints.add({"tts_ttfa_ms": 240.0, "tts_rtf": 0.31, "talker_ms": None})
    told = hints.told("tts", Words("en"))
    assert told == "Last turns: first sound in 240\u202fms, 310 ms for a second of sound, real time."


def test_the_median_of_the_last_turns_counts() -> None:
    hints = StageHints()
    for ms in (9000.0, 100.0, 110.0, 90.0, 100.0):
        hints.add({"stt_ms_per_s": ms})
    assert "100 ms for a second" in hints.told("stt", Words("en"))


@pytest.mark.parametrize(
    ("key", "value", "gone"),
    [
        ("llm.threads", 1, "llm"),
        ("llm.model", "other", "llm"),
        ("llm.temperature", 1.0, ""),
        ("tts.talker_threads", 1, "tts"),
        ("tts.voice", "x", "tts"),
        ("tts.speed", 1.5, ""),
        ("stt.precision", "int8", "stt"),
        ("vad.hangover_ms", 900, "vad"),
    ],
)
def test_a_change_that_makes_the_figures_untrue_forgets_them(key: str, value: str | int | float, gone: str) -> None:
    hints = StageHints()
    hints.add(OWN)
    hints.forget_changed(Settings(), with_value(Settings(), key, value))
    for section in ("vad", "stt", "llm", "tts"):
        assert bool(hints.told(section, Words("fr"))) is (section != gone), section


def test_a_list_is_looked_up_when_it_is_opened(opened: Opener) -> None:
    one = panel_of(opened)
    one.until(lambda: "inputs" in one.host.looked_up)
    one.settle()
    before = one.host.looked_up.count("inputs")
    editor = one.window.panel.fields["audio.input_device"].editor
    assert isinstance(editor, ChoiceEditor)
    editor.combo.showPopup()
    one.until(lambda: one.host.looked_up.count("inputs") == before + 1)
    one.settle()
    assert editor.combo.view().isVisible() and editor.combo.count() == 3  # nothing new: the list stays open
    one.window.panel.set_choices("inputs", (Choice("bt", "Casque"),))
    assert [editor.combo.itemText(i) for i in range(editor.combo.count())] == ["Celui du système", "Casque"]
    assert editor.combo.view().isVisible()
    editor.combo.hidePopup()


def test_a_number_says_its_range(opened: Opener) -> None:
    fields = panel_of(opened).window.panel.fields
    assert fields["llm.temperature"].help.text().endswith("De 0 à 2.")
    assert fields["llm.seed"].help.text().endswith("À partir de -1.")
    assert "De 64 à 2000." in fields["vad.min_speech_ms"].editor.widget.accessibleDescription()
    assert "De " not in fields["audio.duplex"].help.text()
