"""Reasoning never gets through, however the model's text is cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.text.think_filter import ThinkFilter

pytestmark = pytest.mark.unit

_TAGS = ["<think>", "</think>", "<thinking>", "</thinking>", "<THINK>", "</Think >", "<Thought>", "</reasoning>"]
_NEARLY = [
    "<",
    "</",
    "<th",
    "think>",
    "<thin>",
    "<thinks>",
    "< think>",
    "<b>",
    "a < b",
    "</",
    ">",
    "\n",
    " ",
    "é",
    "🎉",
]
_TEXTS = st.lists(st.sampled_from(_TAGS + _NEARLY) | st.text("abc<>/think \n", max_size=6), max_size=12).map("".join)


def filtered(*pieces: str) -> str:
    thoughts = ThinkFilter()
    return "".join(thoughts.push(piece) for piece in pieces) + thoughts.finish()


@pytest.mark.parametrize(
    ("written", "visible"),
    [
        ("Bonjour.", "Bonjour."),
        ("", ""),
        ("<think>hm</think>Bonjour.", "Bonjour."),
        ("<think>\n\n</think>\n\nBonjour.", "\n\nBonjour."),
        ("<THINK>hm</Think>Bonjour.", "Bonjour."),
        ("<thinking>hm</thinking >Bonjour.", "Bonjour."),
        ("Oui<think>hm</think>, bien sûr.", "Oui, bien sûr."),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("<think>jamais fermé", ""),
        ("Début <think>jamais fermé", "Début "),
        ("</think>Bonjour.", "Bonjour."),
        ("a</think>b", "ab"),
        ("<think>a</think></think>b", "b"),
        ("1 < 2 et 3 > 2", "1 < 2 et 3 > 2"),
        ("<b>gras</b> <thin> <thinks> <think", "<b>gras</b> <thin> <thinks> <think"),
        ("a<", "a<"),
        ("<think>a<", ""),
        ("<<think>a</think>b", "<b"),
        ("<thi<think>a</think>nk>", "<think>"),
    ],
)
def test_what_is_visible(written: str, visible: str) -> None:
    assert filtered(written) == visible
    assert filtered(*written) == visible, "one character at a time"


@given(_TEXTS, st.lists(st.integers(0, 80), max_size=10))
def test_cuts_change_nothing(text: str, cuts: list[int]) -> None:
    at = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in itertools.pairwise(at)]
    assert filtered(*pieces) == filtered(text) == filtered(*text)


@given(_TEXTS.filter(lambda text: "<" not in text))
def test_text_without_tags_passes_at_once(text: str) -> None:
    assert ThinkFilter().push(text) == text


@given(_TEXTS, _TEXTS)
def test_what_is_thought_is_never_seen(before: str, after: str) -> None:
    before, after = (text.replace("<", "").replace(">", "") for text in (before, after))
    secret = "\u2603secret\u2603"
    for opening, closing in (("<think>", "</think>"), ("<Thinking>", "</THINKING>")):
        assert filtered(*f"{before}{opening}{secret}{closing}{after}") == before + after
        assert filtered(*f"{before}{opening}{secret}") == before


@given(_TEXTS)
def test_nothing_is_invented_and_held_text_is_short(text: str) -> None:
    thoughts = ThinkFilter()
    seen = ""
    for i, character in enumerate(text):
        seen += thoughts.push(character)
        assert len(seen) <= i + 1
    held = thoughts.finish()
    assert len(held) <= 24, "at most an unfinished tag waits"
    rest = iter(text)
    assert all(character in rest for character in seen + held), "in the order written"


def test_a_finished_filter_is_as_new() -> None:
    thoughts = ThinkFilter()
    thoughts.push("<think>never closed <thi")
    assert thoughts.finish() == ""
    assert thoughts.push("Bonjour.") == "Bonjour."


def test_visible_text_waits_only_for_a_possible_tag() -> None:
    thoughts = ThinkFilter()
    assert thoughts.push("Bonjour <") == "Bonjour "
    assert thoughts.push("t") == ""
    assert thoughts.push("u") == "<tu"
    assert thoughts.push(" <think") == " "
    assert thoughts.push("er") == "<thinker"


def test_a_long_text_takes_time_in_proportion() -> None:
    """A million characters in small pieces: a filter that looked back over all of them would take hours."""
    thoughts = ThinkFilter()
    seen = sum(len(thoughts.push("<" * 10)) for _ in range(100_000)) + len(thoughts.finish())
    assert seen == 1_000_000
