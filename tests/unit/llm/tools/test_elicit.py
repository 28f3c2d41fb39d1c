"""What the model writes becomes a call only when it is sound."""

from collections.abc import Sequence

import pytest

from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.elicit import elicit, grammar_of
from kazeia_desktop.llm.tools.request import Request
from kazeia_desktop.runtime.cancel import CancelToken

pytestmark = pytest.mark.unit

ALL = ("timers", "calculator", "units")


def call(text: str, written: str, tools: Sequence[str] = ALL, cancel: CancelToken | None = None) -> Call | None:
    def ask(messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None) -> str:
        return written

    return elicit(Request(text, "fr"), tools, ask, cancel or CancelToken())


@pytest.mark.parametrize(
    ("text", "written", "made"),
    [
        ("12 œufs moins 5", "calculate 12 - 5", Call("calculate", {"expression": "12 - 5"})),
        ("20 % de 50", "calculate 20% * 50", Call("calculate", {"expression": "20% of 50"})),
        ("trois tasses en millilitres", "convert 3 tasses to millilitres",
         Call("convert", {"value": "3", "from": "cup", "to": "ml"})),
        ("dans 10 minutes", "timer 10 minutes", Call("timer", {"seconds": 600})),
        ("dans une demi-heure", "timer 30 minutes", Call("timer", {"seconds": 1800})),
        ("à 6 heures 15", "alarm 6:15", Call("alarm", {"hour": 6, "minute": 15, "days": 0})),
        ("à 6 heures", "alarm 6:00", Call("alarm", {"hour": 6, "minute": 0, "days": 0})),
        ("rien", "none", None),
        ("12 œufs moins 5", "calculate 12 - 6", None),  # nobody said 6
        ("3 tasses", "convert 4 tasses to litres", None), ("3 tasses", "convert 3 tasses to kilogrammes", None),
        ("3 tasses", "convert 3 tasses to tasses", None), ("dans 10 minutes", "timer 20 minutes", None),
        ("à 6 heures 15", "alarm 7:15", None), ("12 œufs", "calculate 12 -", None), ("12", "calc", None),
        ("40 heures", "timer 40 hours", None), ("12", "", None), ("0 minute", "timer 0 minutes", None),
    ],
)  # fmt: skip
def test_calls(text: str, written: str, made: Call | None) -> None:
    assert call(text, written) == made


def test_only_tools_that_were_offered() -> None:
    assert call("12 moins 5", "calculate 12 - 5", ("timers",)) is None
    assert call("12 moins 5", "calculate 12 - 5", ()) is None


def test_a_cancelled_answer_is_none() -> None:
    cancel = CancelToken()
    cancel.set()
    assert call("12 moins 5", "calculate 12 - 5", cancel=cancel) is None


def test_the_grammar_has_the_offered_tools_only() -> None:
    assert "conversion" not in grammar_of(("calculator",), "fr") and "millilitres" in grammar_of(ALL, "fr")
    assert "millilitres" not in grammar_of(("timers",), "en") and grammar_of(ALL, "en").startswith('root ::= "none" |')


def test_what_was_said_in_other_words_counts_as_said() -> None:
    assert call("15 pour cent de 64", "calculate 15 * 64 / 100") == Call("calculate", {"expression": "15 * 64 / 100"})
    assert call("15 et 64", "calculate 15 * 64 / 100") is None
    assert call("sors-moi du lit à 7 heures et demie", "alarm 7:30") is not None
    assert call("un minuteur de 5 minutes", "timer 1 minutes") is None, "the one is an article"
