"""What is drawn of a text, and that nothing of a text is ever markup of its own."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication

from kazeia_desktop.gui.message_markup import Look, Style, code_of, parse, plain, to_html
from kazeia_desktop.gui.theme import DARK, LIGHT

pytestmark = pytest.mark.gui

TEXTS = st.text(st.sampled_from("ab *_`#-1.[]()\n\\<>&~") | st.characters(), max_size=80)


def shape(text: str, growing: bool = False) -> list[tuple[str, str, list[list[tuple[str, int]]]]]:
    return [
        (block.kind, block.mark, [[(text[s.start : s.end], int(s.style)) for s in line] for line in block.lines])
        for block in parse(text, growing)
    ]


def test_paragraphs_lists_headings_and_code() -> None:
    text = "# Titre\nUn **gras** et *it*.\nDeux.\n\n- a\n  suite\n  - b\n3) c\n```py\nx = 1\n\ny\n```\nFin `z`."
    assert shape(text) == [
        ("heading", "", [[("Titre", 0)]]),
        ("text", "", [[("Un ", 0), ("gras", 1), (" et ", 0), ("it", 2), (".", 0)], [("Deux.", 0)]]),
        ("item", "•", [[("a", 0)], [("suite", 0)]]),
        ("item", "•", [[("b", 0)]]),
        ("item", "3.", [[("c", 0)]]),
        ("code", "", [[("x = 1", 4)], [("", 4)], [("y", 4)]]),
        ("text", "", [[("Fin ", 0), ("z", 4), (".", 0)]]),
    ]
    assert code_of(text, parse(text), 0) == "x = 1\n\ny"
    assert [block.depth for block in parse(text)][2:4] == [0, 1]


@pytest.mark.parametrize(
    "text", ["2*3*4", "un_nom_long", "a * b * c", "**", "`", "5 - 3", "C'est -- ça", "[x](javascript:a)"]
)
def test_what_is_no_markup_stays(text: str) -> None:
    assert all(span.style == Style.PLAIN and not span.href for block in parse(text) for s in block.lines for span in s)
    assert "".join(text[s.start : s.end] for block in parse(text) for line in block.lines for s in line) == text


def test_a_growing_text_is_drawn_as_it_will_go_on() -> None:
    assert shape("Un **gr", True) == [("text", "", [[("Un ", 0), ("gr", 1)]])]
    assert shape("Un **", True) == [("text", "", [[("Un ", 0)]])]
    assert shape("Voici `co", True) == [("text", "", [[("Voici ", 0), ("co", 4)]])]
    assert shape("```py\nx", True) == [("code", "", [[("x", 4)]])]
    assert shape("Un **gr") == [("text", "", [[("Un **gr", 0)]])]


@given(
    TEXTS, st.integers(0, 80), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=3), st.booleans()
)
def test_nothing_of_a_text_is_markup(text: str, settled: int, marks: list[tuple[int, int]], growing: bool) -> None:
    places = tuple((min(a, b), max(a, b)) for a, b in marks)
    drawn = to_html(text, parse(text, growing), Look(LIGHT, settled, places, 0, "Copy"))
    tags = {tag.lower() for tag in re.findall(r"</?([a-zA-Z]+)", drawn)}
    assert tags <= {"p", "b", "i", "br", "span", "a", "table", "tr", "td", "pre"}
    shown = html.unescape(re.sub(r"<[^>]*>", "", drawn)).replace("\xa0", " ").replace("\u202f", " ")
    for word in re.findall(r"[a-z]{3,}", shown.replace("Copy", "")):
        assert word in text


@given(TEXTS)
def test_what_the_user_said_is_shown_as_it_is(text: str) -> None:
    drawn = to_html(text, plain(text), Look(DARK, len(text)))
    lines = [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in drawn.split("<br>")]
    spaces = str.maketrans("\xa0\u202f", "  ")
    assert "\n".join(lines).translate(spaces) == text.removesuffix("\n").translate(spaces)


@given(st.text(st.sampled_from("ab *_`#-\n"), max_size=60))
def test_spans_are_in_order_and_apart(text: str) -> None:
    at = 0
    for block in parse(text):
        for line in block.lines:
            for span in line:
                assert at <= span.start <= span.end <= len(text)
                at = span.end


def test_a_link_leads_to_the_web_only(qapp: QApplication) -> None:
    text = "[ici](https://exemple.fr/a?b=1&c=2) et https://exemple.fr."
    drawn = to_html(text, parse(text), Look(LIGHT, len(text)))
    assert re.findall(r'href="([^"]*)"', drawn) == ["https://exemple.fr/a?b=1&amp;c=2", "https://exemple.fr"]


def test_the_plain_text_of_what_is_drawn_can_be_selected(qapp: QApplication) -> None:
    text = "Voici\u202f:\n\n1. Un\n\n```py\nprint('a  b')\n```"
    document = QTextDocument()
    document.setHtml(to_html(text, parse(text), Look(LIGHT, len(text), copy="Copier")))
    shown = document.toPlainText()
    assert "print('a  b')" in shown and "Un" in shown


def test_signs_that_never_close_are_quick(qapp: QApplication) -> None:
    import time

    for text in ("*a " * 3000, "[a" * 3000, "`" * 5000, "**a" * 3000, "_a" * 4000):
        started = time.perf_counter()
        parse(text)
        assert time.perf_counter() - started < 1.5, text[:4]


def test_the_number_of_an_item_without_words_is_certain_with_all_before_it() -> None:
    text = "1. Un\n2. "
    quiet = f'<span style="color:{LIGHT.quiet}">2.</span>'
    assert quiet in to_html(text, parse(text), Look(LIGHT, 4))
    assert quiet not in to_html(text, parse(text), Look(LIGHT, len(text)))
