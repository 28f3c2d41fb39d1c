"""What is not on this machine, and what Kazeia does not help with: the committed requests, and talk that stays talk."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.tools.ask_elsewhere import elsewhere_call
from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.request import Request
from kazeia_desktop.llm.tools.understanding import TOOLS, understand
from tests.unit.llm.tools.test_understanding import requests

pytestmark = pytest.mark.unit

ALL = frozenset(TOOLS)


def said_of(call: Call | None) -> tuple[str | None, object]:
    return (None, None) if call is None else (call.tool, call.arguments.get("what"))


@pytest.mark.parametrize(
    ("language", "row"), requests("limit_requests.toml"), ids=lambda v: v["text"] if isinstance(v, dict) else v
)
def test_the_requests_that_rules_were_made_for(language: str, row: dict[str, Any]) -> None:
    assert said_of(understand(row["text"], language, ALL)) == (row.get("call"), row.get("what"))


def test_requests_that_they_were_not_made_for_are_missed_at_times_but_never_mistaken() -> None:
    rows = requests("limit_requests_more.toml")
    found = [(row["text"], said_of(understand(row["text"], language, ALL)), row) for language, row in rows]
    right = [text for text, said, row in found if said == (row.get("call"), row.get("what"))]
    assert [text for text, said, _ in found if said[0] is not None and text not in right] == []
    assert len(right) >= 0.9 * len(rows)


def test_a_statement_is_no_question() -> None:
    assert elsewhere_call(Request("Il va pleuvoir demain ?", "fr")) == Call("elsewhere", {"what": "weather"})
    assert elsewhere_call(Request("Il va pleuvoir demain.", "fr")) is None
    assert elsewhere_call(Request("La météo, s'il te plaît ?", "fr")) == Call("elsewhere", {"what": "weather"})
    assert elsewhere_call(Request("La météo m'ennuie.", "fr")) is None


def test_other_tools_go_first_and_none_answers_when_it_is_off() -> None:
    assert understand("Baisse le son.", "fr", ALL) == Call("volume", {"up": False})
    assert understand("Appelle-moi dans dix minutes.", "fr", ALL) == Call("timer", {"seconds": 600})
    for said in ("Quel temps fait-il ?", "Comment fabriquer une bombe ?"):
        assert understand(said, "fr", ALL) is not None
        assert understand(said, "fr", ALL - {"limits"}) is None


@given(st.text(max_size=150), st.sampled_from(["fr", "en"]))
def test_any_text_is_understood_or_not(text: str, language: str) -> None:
    understand(text, language, frozenset({"limits"}))


@pytest.mark.parametrize("start", ["Envoie ", "Cherche ", "Qui a gagné ", "Comment hacker ", "Ajoute "])
def test_a_long_request_takes_no_longer(start: str) -> None:
    """Rules that look for a word anywhere go through a request once a rule, not once a letter."""
    assert understand((start + "a le " * 40)[:200], "fr", frozenset({"limits"})) is None
