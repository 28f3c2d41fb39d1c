"""What was measured of the voice stands under its heading, in the window's language."""

import pytest

from kazeia_desktop.events import Notice
from kazeia_desktop.tts.qwen3_advice import slowness, told
from kazeia_desktop.tts.qwen3_tuning import Team, Tuning
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import Opened, Opener
from tests.gui.test_words import switch

pytestmark = pytest.mark.gui

TUNING = Tuning(Team(2, 1), (1, 2, 4), 1.17, 0.6, 300.0)


def panel_of(opened: Opener, measured: Notice | None) -> Opened:
    one = opened(FakeHost(measured=measured))
    one.window.resize(1300, 800)
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.complete)
    one.settle()
    return one


def test_it_stands_under_the_heading_in_both_languages(opened: Opener) -> None:
    one = panel_of(opened, told(TUNING))
    panel = one.window.panel
    one.until(lambda: panel.measured.isVisibleTo(panel))
    assert "Mesuré sur cette machine" in panel.measured.text()
    assert "1,17" in panel.measured.text() and "2, du décodeur" in panel.measured.text()
    heading, first = panel._headings["tts"], panel.fields["tts.engine"]
    assert heading.y() < panel.measured.y() < first.y()
    switch(one, "en")
    assert "threads: 2, of the codec: 1" in panel.measured.text() and "1.17" in panel.measured.text()


def test_without_a_voice_of_its_own_nothing_stands_there(opened: Opener) -> None:
    panel = panel_of(opened, None).window.panel
    assert not panel.measured.isVisibleTo(panel)


def test_it_is_hidden_with_its_section(opened: Opener) -> None:
    one = panel_of(opened, told(TUNING))
    panel = one.window.panel
    one.until(lambda: panel.measured.isVisibleTo(panel))
    panel.search.setText("microphone")
    assert not panel.measured.isVisibleTo(panel)
    panel.search.clear()
    assert panel.measured.isVisibleTo(panel)


def test_it_is_looked_up_again_when_the_panel_opens(opened: Opener) -> None:
    one = panel_of(opened, told(None))
    panel = one.window.panel
    one.until(lambda: "pas encore" in panel.measured.text())
    one.host.measured = told(TUNING)
    one.window.show_settings(False)
    one.window.show_settings(True)
    one.until(lambda: "1,17" in panel.measured.text())


def test_a_slow_voice_is_told_in_the_quiet_line(opened: Opener) -> None:
    one = opened()
    notice = slowness(1.2, 2 / 3, "q8_0")
    assert notice is not None
    one.engine.emit(notice)
    one.until(lambda: one.window.notice.isVisibleTo(one.window))
    assert "q4_0" in one.window.notice.text.text() and "kokoro" in one.window.notice.text.text()
