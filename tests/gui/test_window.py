"""What a person sees and does, on a fake engine."""

import time

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QApplication

from kazeia_desktop.errors import ModelMissingError
from kazeia_desktop.events import Failed, Level, Notice, State, StateChanged, VoiceChanged
from kazeia_desktop.gui.states import state_word
from kazeia_desktop.gui.words import Words
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import LoopWatch, Opener

pytestmark = pytest.mark.gui

STATES = [
    (State.LOADING, "Chargement…"),
    (State.IDLE, "Prête, par écrit"),
    (State.LISTENING, "À l'écoute"),
    (State.HEARING, "Je vous entends"),
    (State.THINKING, "Je réfléchis…"),
    (State.SPEAKING, "Je parle"),
    (State.MUTED, "Micro coupé"),
    (State.ERROR, "Erreur"),
]


def test_every_state_is_tested() -> None:
    assert {state for state, _ in STATES} == set(State)


@pytest.mark.parametrize(("state", "word"), STATES)
def test_each_state_has_its_word_its_drawing_and_is_told_to_screen_readers(
    opened: Opener, state: State, word: str
) -> None:
    one = opened()
    before = one.window.presence.meter.grab().toImage()
    other = State.ERROR if state is not State.ERROR else State.IDLE
    one.engine.emit(StateChanged(other))
    one.until(lambda: one.window.presence.state is other)
    elsewhere = one.window.presence.meter.grab().toImage()
    one.engine.emit(StateChanged(state))
    one.until(lambda: one.window.presence.state is state)
    presence = one.window.presence
    assert presence.word.text() == word == state_word(state, Words("fr"))
    assert presence.word.accessibleName() == f"État\u202f: {word}"
    drawn = presence.meter.grab().toImage()
    assert drawn != elsewhere
    assert (drawn == before) == (state is State.LISTENING)


def test_the_window_is_there_before_the_models(opened: Opener) -> None:
    host = FakeHost()
    host.hold.clear()
    one = opened(host)
    one.until(lambda: one.window.presence.progress.value() == 40)
    assert one.window.presence.state is State.LOADING
    assert not one.window.presence.progress.isHidden()
    assert "Modèle de langue" in one.window.presence.hint.text()
    host.hold.set()
    one.until(lambda: one.window.presence.state is State.LISTENING)
    assert one.window.presence.progress.isHidden()


def test_text_typed_while_loading_is_sent_when_ready(opened: Opener) -> None:
    host = FakeHost()
    host.hold.clear()
    one = opened(host)
    one.window.presence.field.setText("Bonjour")
    one.bot.keyClick(one.window.presence.field, Qt.Key.Key_Return)
    assert one.window.presence.hint.text() == "Votre message partira quand Kazeia sera prête."
    host.hold.set()
    one.until(lambda: bool(host.engines) and host.engine.called("send_text") == [("send_text", "Bonjour")])


def test_a_conversation_is_shown_while_it_happens(opened: Opener) -> None:
    one = opened()
    chat = one.window.chat
    assert not chat.welcome.isHidden()
    turn = one.engine.hears("Quel temps fait-il ?")
    one.engine.replies(turn, "Il fait beau. Prenez un chapeau.", ["Il fait beau."])
    one.until(lambda: one.window.transcript.rowCount() == 2 and one.window.transcript.message(1).settled > 0)
    assert chat.welcome.isHidden()
    assert chat.conversation_text() == (
        "Vous\u202f: Quel temps fait-il ?\nKazeia\u202f: Il fait beau. Prenez un chapeau."
    )
    quiet = one.window.tokens.quiet
    one.until(lambda: "Il fait beau.<span" in chat.bubbles[1].shown_html())
    assert quiet in chat.bubbles[1].shown_html().partition("Il fait beau.")[2]
    one.engine.ends(turn, "Il fait beau. Prenez un chapeau.")
    one.until(lambda: one.window.transcript.message(1).ended == "done")
    assert quiet not in chat.bubbles[1].shown_html()


def test_html_that_is_said_is_shown_as_said(opened: Opener) -> None:
    one = opened()
    one.engine.exchange("<b>gras</b> & co", "Un <script>.\nDeux.")
    one.until(lambda: one.window.transcript.rowCount() == 2)
    one.settle()
    assert "&lt;b&gt;gras&lt;/b&gt; &amp; co" in one.window.chat.bubbles[0].shown_html()
    assert "&lt;script&gt;.<br>Deux." in one.window.chat.bubbles[1].shown_html()


def test_metrics_open_into_the_breakdown(opened: Opener) -> None:
    one = opened()
    one.engine.exchange("Bonjour", "Bonjour.")
    one.until(lambda: one.window.transcript.rowCount() == 2 and bool(one.window.transcript.message(1).metrics))
    bubble = one.window.chat.bubbles[1]
    assert bubble.chip.text() == ("écoute 640\u202fms · parole 412\u202fms · 1er mot 96\u202fms · 1er son 1,8\u202fs")
    height = bubble.height()
    bubble.chip.click()
    assert "parole\u00a0reconnue\u00a0412\u202fms" in bubble.breakdown.text()
    assert bubble.breakdown.isVisible() and bubble.height() > height


def test_copy(opened: Opener) -> None:
    one = opened()
    one.engine.exchange("Bonjour", "Bonjour à vous.")
    one.until(lambda: one.window.transcript.rowCount() == 2)
    one.window.chat.bubbles[1].copy()
    assert QGuiApplication.clipboard().text() == "Bonjour à vous."
    one.window.chat.setFocus()
    one.bot.keyClick(one.window.chat, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Vous\u202f: Bonjour\nKazeia\u202f: Bonjour à vous."


def test_the_view_follows_the_end_unless_one_has_scrolled_up(opened: Opener) -> None:
    one = opened()
    for _ in range(20):
        one.engine.exchange("Bonjour", "Une réponse assez longue pour que la vue défile, avec plusieurs mots. " * 3)
    one.until(lambda: one.window.transcript.rowCount() == 40)
    one.settle()
    chat, bar = one.window.chat, one.window.chat.verticalScrollBar()
    assert bar.maximum() > 0 and bar.value() == bar.maximum()
    bar.setValue(100)
    assert not chat.following and chat.to_end.isVisible()
    turn = 20
    one.engine.emit(StateChanged(State.THINKING))
    one.engine.replies(turn + 100, "Encore du texte. " * 60, [])
    one.until(lambda: one.window.transcript.rowCount() == 41)
    one.settle()
    assert bar.value() == 100
    chat.to_end.click()
    one.settle()
    assert bar.value() == bar.maximum() and not chat.to_end.isVisible()


def test_a_long_day_stays_quick(opened: Opener) -> None:
    one = opened()
    for turn in range(1, 251):
        one.window.transcript.user_text(turn, "Bonjour")
        one.window.transcript.reply_delta(turn, "Bonjour à vous. " * 5)
    one.settle()
    chat = one.window.chat
    assert len(chat.bubbles) < 40
    started = time.perf_counter()
    for _ in range(20):
        one.window.transcript.reply_delta(250, "mot ")
        QApplication.processEvents()
    assert (time.perf_counter() - started) / 20 < 0.05
    chat.verticalScrollBar().setValue(0)
    assert chat.bubbles[0].message is one.window.transcript.message(0) and chat.bubbles[0].y() > 0


# Interrupting


@pytest.mark.parametrize("state", [State.THINKING, State.SPEAKING])
def test_stop_escape_and_space_interrupt(opened: Opener, state: State) -> None:
    one = opened()
    presence = one.window.presence
    assert not presence.stop.isEnabled()
    one.engine.emit(StateChanged(state))
    one.until(lambda: presence.stop.isEnabled())
    one.bot.mouseClick(presence.stop, Qt.MouseButton.LeftButton)
    one.until(lambda: len(one.engine.called("interrupt")) == 1)
    one.window.chat.setFocus()
    one.bot.keyClick(one.window.chat, Qt.Key.Key_Space)
    one.until(lambda: len(one.engine.called("interrupt")) == 2)
    one.bot.keyClick(presence.field, Qt.Key.Key_Escape)
    one.until(lambda: len(one.engine.called("interrupt")) == 3)


def test_space_in_the_text_field_is_a_space_unless_it_is_empty_and_kazeia_speaks(opened: Opener) -> None:
    one = opened()
    presence = one.window.presence
    presence.field.setFocus()
    one.bot.keyClicks(presence.field, "a b")
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: presence.state is State.SPEAKING)
    one.bot.keyClicks(presence.field, " c")
    one.settle()
    assert presence.field.text() == "a b c" and not one.engine.called("interrupt")
    presence.field.clear()
    one.bot.keyClick(presence.field, Qt.Key.Key_Space)
    one.until(lambda: len(one.engine.called("interrupt")) == 1)
    assert presence.field.text() == ""


def test_space_on_a_button_presses_the_button(opened: Opener) -> None:
    one = opened()
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: one.window.presence.state is State.SPEAKING)
    mute = one.window.presence.mute
    mute.setFocus(Qt.FocusReason.TabFocusReason)
    one.bot.keyClick(mute, Qt.Key.Key_Space)
    one.until(lambda: one.engine.called("set_muted") == [("set_muted", True)])
    assert not one.engine.called("interrupt")


def test_a_click_on_a_button_does_not_take_the_space_key(opened: Opener) -> None:
    one = opened()
    one.window.chat.setFocus()
    one.bot.mouseClick(one.window.presence.mute, Qt.MouseButton.LeftButton)
    assert one.window.chat.hasFocus()


def test_half_duplex_says_how_to_interrupt(opened: Opener) -> None:
    one = opened(FakeHost(half_duplex=True))
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: one.window.presence.state is State.SPEAKING)
    assert one.window.presence.hint.text() == "Espace ou Arrêter l'interrompt"
    full = opened(FakeHost(half_duplex=False))
    full.engine.emit(StateChanged(State.SPEAKING))
    full.until(lambda: full.window.presence.state is State.SPEAKING)
    assert full.window.presence.hint.text() == "Parlez pour l'interrompre"


def test_an_interrupted_reply_says_so(opened: Opener) -> None:
    one = opened()
    turn = one.engine.hears("Bonjour")
    one.engine.replies(turn, "Un. Deux.", ["Un."])
    one.engine.ends(turn, "Un.", "interrupted")
    one.until(lambda: one.window.transcript.rowCount() == 2 and one.window.transcript.message(1).ended != "")
    assert one.window.chat.bubbles[1].fate.text() == "Interrompu"


# Speaking, muting, writing


def test_send_now_is_there_while_one_is_heard(opened: Opener) -> None:
    one = opened()
    button = one.window.presence.send_now
    assert button.isHidden()
    one.engine.emit(StateChanged(State.HEARING))
    one.until(lambda: button.isVisible())
    button.click()
    one.until(lambda: one.engine.called("send_now") == [("send_now",)])


def test_mute_by_key_and_button(opened: Opener) -> None:
    one = opened()
    mute = one.window.presence.mute
    one.bot.keyClick(one.window.presence.field, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    one.until(lambda: one.window.presence.state is State.MUTED)
    assert mute.isChecked() and mute.accessibleName() == "Rallumer le micro"
    mute.click()
    one.until(lambda: one.window.presence.state is State.LISTENING)
    assert one.engine.called("set_muted") == [("set_muted", True), ("set_muted", False)]


def test_a_microphone_muted_while_loading_stays_muted(opened: Opener) -> None:
    host = FakeHost()
    host.hold.clear()
    one = opened(host)
    one.window.set_muted(True)
    host.hold.set()
    one.until(lambda: one.window.presence.state is State.MUTED)


def test_without_a_microphone_there_is_nothing_to_mute(opened: Opener) -> None:
    one = opened(FakeHost(rest=State.IDLE))
    assert not one.window.presence.mute.isEnabled()
    assert one.window.presence.hint.text() == "Il n'y a pas de micro"


def test_writing(opened: Opener) -> None:
    one = opened()
    presence = one.window.presence
    assert not presence.send.isEnabled()
    one.window.chat.setFocus()
    one.bot.keyClicks(one.window.chat, "Bo")  # letters find their field
    one.bot.keyClicks(presence.field, "njour")
    assert presence.field.text() == "Bonjour" and presence.send.isEnabled()
    presence.send.click()
    one.until(lambda: one.window.transcript.rowCount() == 1)
    assert one.window.transcript.message(0).text == "Bonjour" and presence.field.text() == ""


def test_blanks_are_not_sent(opened: Opener) -> None:
    one = opened()
    one.window.presence.field.setText("   ")
    one.bot.keyClick(one.window.presence.field, Qt.Key.Key_Return)
    one.settle()
    assert not one.engine.called("send_text")


# Errors and news


def test_an_error_is_told_in_the_window_with_the_button_that_helps(opened: Opener) -> None:
    one = opened()
    template = "The settings cannot be saved to {path} ({reason}). Free space or check permissions."
    one.engine.emit(Failed(template, {"path": "/x", "reason": "disque plein"}, "settings", fatal=False))
    banner = one.window.banner
    one.until(lambda: banner.isVisible())
    assert banner.text.text().startswith("Les réglages ne peuvent pas être enregistrés dans /x (disque plein)")
    assert banner.action.text() == "Ouvrir les réglages"
    assert QApplication.activeModalWidget() is None
    banner.action.click()
    assert banner.isHidden() and one.window.body.panel_open


def test_missing_models_are_fetched_by_the_button(opened: Opener) -> None:
    host = FakeHost(error=ModelMissingError("The model {name} has no file {file!r}.", name="x", file="y"))
    one = opened(host)
    one.until(lambda: one.window.presence.state is State.ERROR and one.window.banner.isVisible())
    assert one.window.banner.action.text() == "Télécharger les modèles"
    one.window.banner.action.click()
    one.until(lambda: one.window.presence.state is State.LISTENING)
    assert host.fetched and one.window.banner.isHidden()


@pytest.mark.expects_warning
def test_a_start_that_fails_unexpectedly_can_be_tried_again(opened: Opener) -> None:
    host = FakeHost(error=ZeroDivisionError("un bogue"))
    one = opened(host)
    one.until(lambda: one.window.presence.state is State.ERROR and one.window.banner.isVisible())
    assert "un bogue" in one.window.banner.text.text()
    host.error = None
    one.window.banner.action.click()
    one.until(lambda: one.window.presence.state is State.LISTENING)


def test_retry_after_a_failed_turn_says_it_again(opened: Opener) -> None:
    one = opened()
    turn = one.engine.hears("Quelle heure est-il ?")
    one.engine.emit(Failed("The reply failed.", {}, "retry", fatal=False))
    one.engine.ends(turn, "", "error")
    one.until(lambda: one.window.banner.isVisible())
    one.window.banner.action.click()
    one.until(lambda: one.engine.called("send_text") == [("send_text", "Quelle heure est-il ?")])


@pytest.mark.expects_warning
def test_a_command_that_fails_is_told_and_the_next_one_works(opened: Opener) -> None:
    one = opened()
    one.engine.error = ValueError("étrange")
    one.window.set_muted(True)
    one.until(lambda: one.window.banner.isVisible())
    assert "étrange" in one.window.banner.text.text()
    one.engine.error = None
    one.window.set_muted(False)
    one.until(lambda: one.engine.called("set_muted")[-1] == ("set_muted", False))


def test_news_are_a_quiet_line(opened: Opener) -> None:
    one = opened()
    one.engine.emit(Notice("The conversation is long: its oldest part was forgotten.", {}))
    one.until(lambda: one.window.notice.isVisible())
    assert one.window.notice.text.text().startswith("La conversation est longue")
    turn = one.engine.hears("…")
    one.engine.ends(turn, "", "nothing")
    one.until(lambda: "pas compris" in one.window.notice.text.text())


# The meter


def test_the_level_is_drawn_only_when_it_changes_and_at_most_15_times_a_second(opened: Opener) -> None:
    one = opened()
    meter = one.window.presence.meter
    one.engine.emit(StateChanged(State.HEARING))
    one.until(lambda: one.window.presence.state is State.HEARING)
    one.settle()
    before = meter.paints
    for step in range(400):
        one.engine.emit(Level(0.001 * (step % 200)))
        one.bot.wait(1)
    drawn = meter.paints - before
    one.settle()
    assert 2 <= drawn <= 16  # 400 changes in at least 0.4 s, of which 15 a second are drawn
    one.bot.wait(100)
    still = meter.paints
    for _ in range(20):
        one.engine.emit(Level(0.2))
        one.bot.wait(5)
    assert meter.paints - still <= 1
    color = QColor(one.window.tokens.user)
    image = meter.grab().toImage()
    assert any(image.pixelColor(x, image.height() // 2) == color for x in range(image.width() // 3))


def test_an_idle_window_draws_nothing(opened: Opener) -> None:
    one = opened()
    one.bot.wait(200)
    before = one.window.presence.meter.paints
    one.bot.wait(300)
    assert one.window.presence.meter.paints == before
    assert one.window.chat.hasFocus()  # no blinking cursor


def test_levels_that_are_no_numbers_do_no_harm(opened: Opener) -> None:
    one = opened()
    for rms in (float("nan"), float("inf"), -1.0, 0.0):
        one.engine.emit(Level(rms))
    one.settle()
    assert one.window.isVisible()


# Never blocked


def test_the_event_loop_goes_on_while_a_slow_engine_is_driven(opened: Opener) -> None:
    host = FakeHost(delay_s=1.0)
    one = opened(host)
    watch = LoopWatch()
    one.settle()
    watch.restart()
    one.window.presence.field.setText("Bonjour")
    one.window.presence.send.click()
    one.window.set_muted(True)
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.complete)
    one.bot.wait(600)
    longest = watch.longest_ms
    assert longest <= 150, f"{longest:.0f} ms; the aim is 50"
    one.window.show_settings(False)


# Sizes


def test_a_narrow_window_has_a_drawer_and_large_targets(opened: Opener) -> None:
    one = opened()
    window = one.window
    window.resize(1200, 800)
    window.show_settings(True)
    one.until(lambda: window.panel.complete)
    assert window.chat.width() <= 1200 - window.panel.width()
    window.resize(700, 900)
    one.settle()
    assert window.chat.width() == 700
    for button in (window.presence.mute, window.presence.stop, window.panel.close_button):
        assert min(button.width(), button.height()) >= 44
    assert window.presence.field.height() >= 44
    assert not window.chat.isEnabled()
    one.bot.keyClick(window.panel, Qt.Key.Key_Escape)
    assert not window.body.panel_open and window.chat.isEnabled()


def test_dark_and_light_are_switched_live(opened: Opener) -> None:
    one = opened()
    light = one.window.grab().toImage().pixelColor(40, 200)
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.complete)
    editor = one.window.panel.fields["appearance.theme"].editor
    editor.show_value("dark")
    editor.edited.emit()
    one.settle()
    dark = one.window.grab().toImage().pixelColor(40, 200)
    assert light.lightness() > 200 and dark.lightness() < 60


def test_another_voice_is_named_when_it_is_there(opened: Opener) -> None:
    """A voice is loaded while the one before goes on: what `apply` leaves behind is not yet the new one."""
    one = opened()
    one.engine.voice_name = "Kazeia"
    one.engine.emit(VoiceChanged("Kazeia"))
    one.until(lambda: one.window.header.voice.text().endswith("Kazeia"))


def test_what_runs_where_is_told_again_with_another_voice_and_where_it_is_seen_again(opened: Opener) -> None:
    one = opened()
    welcome = one.window.chat.welcome
    one.engine.voice_name, one.engine.placement = "Kazeia", {"tts": "Kazeia"}
    one.engine.emit(VoiceChanged("Kazeia"))
    one.until(lambda: "Kokoro" not in welcome._detail.text() and "Kazeia" in welcome._detail.text())
    one.engine.placement = {"llm": "smollm2-135m, CPU"}
    one.window.new_conversation()
    one.until(lambda: "smollm2-135m" in welcome._detail.text())
