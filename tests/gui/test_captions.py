"""What the user is saying is shown while he says it: lighter, and settled when it is final."""

import pytest

from kazeia_desktop.events import State, StateChanged, TurnStarted, UserPartial, UserText
from kazeia_desktop.gui.bubble import Bubble
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui


def _last(one: Opened) -> Bubble:
    one.settle()
    message = one.window.transcript.messages[-1]
    (bubble,) = [bubble for bubble in one.window.findChildren(Bubble) if bubble.message is message]
    return bubble


def test_a_caption_is_lighter_follows_what_is_heard_and_settles(opened: Opener) -> None:
    one = opened()
    quiet = one.window.tokens.quiet
    one.engine.emit(StateChanged(State.HEARING))
    one.engine.emit(UserPartial("Quelle heure"))
    bubble = _last(one)
    assert bubble.message.text == "Quelle heure" and bubble.message.settled == 0
    assert quiet in bubble.shown_html() and not bubble.more.isVisible()
    one.engine.emit(UserPartial("Quelle heure est-il"))
    one.engine.emit(TurnStarted(1, typed=False))
    bubble = _last(one)
    assert bubble.message.text == "Quelle heure est-il" and quiet in bubble.shown_html()
    one.engine.emit(UserText(1, "Quelle heure est-il ?", "fr"))
    bubble = _last(one)
    assert bubble.message.text == "Quelle heure est-il ?"
    assert quiet not in bubble.shown_html() and bubble.more.isVisible()
    assert len(one.window.transcript.messages) == 1


def test_a_caption_of_what_comes_to_nothing_goes_with_its_bubble(opened: Opener) -> None:
    one = opened()
    one.engine.emit(StateChanged(State.HEARING))
    one.engine.emit(UserPartial("Hum"))
    one.engine.emit(StateChanged(State.LISTENING))
    one.engine.emit(UserPartial("Hum, hum"))  # was under way
    one.settle()
    assert not one.window.transcript.messages
