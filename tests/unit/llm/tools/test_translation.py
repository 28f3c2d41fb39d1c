"""Requests for a translation, what the model is asked, and what is made of its answer."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.translation import LANGUAGES, translate, translation_call
from kazeia_desktop.runtime.cancel import CancelToken

pytestmark = pytest.mark.unit


class Model:
    """Writes `written`, and keeps what it was asked."""

    def __init__(self, written: str, stops: bool = False) -> None:
        self.written = written
        self.stops = stops
        self.asked: list[Message] = []

    def __call__(
        self, messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None
    ) -> str:
        self.asked = list(messages)
        if self.stops:
            cancel.set()
        return self.written


@pytest.mark.parametrize(
    ("said", "language", "text", "source", "to"),
    [
        ("Comment dit-on pain en anglais ?", "fr", "pain", "fr", "en"),
        ("Comment on dit « à tes souhaits » en espagnol ?", "fr", "à tes souhaits", "fr", "es"),
        ("Tu peux me traduire il fait froid en allemand s'il te plaît ?", "fr", "il fait froid", "fr", "de"),
        ("Comment dit-on cheese en français ?", "fr", "cheese", "en", "fr"),
        ("Traduis-moi l’addition en italien.", "fr", "l'addition", "fr", "it"),
        ("How do you say bread in French?", "en", "bread", "en", "fr"),
        ("Translate où est la gare into English, please.", "en", "où est la gare", "fr", "en"),
        ("What's cheese in German?", "en", "cheese", "en", "de"),
    ],
)
def test_requests(said: str, language: str, text: str, source: str, to: str) -> None:
    assert translation_call(said, language) == Call("translate", {"text": text, "source": source, "to": to})


@pytest.mark.parametrize(
    "said",
    [
        "Tu parles anglais ?", "Parle-moi en anglais.", "Réponds en anglais.", "Comment dire non à mon chef ?",
        "Traduis ça en anglais.", "Traduis ta dernière phrase en anglais.", "J'apprends à dire bonjour en anglais.",
        "Comment s'appelle Londres en anglais ?", "Comment dit-on merci en klingon ?", "Et bonne nuit ?",
        "Comment dit-on " + "très " * 30 + "loin en anglais ?",
    ],
)  # fmt: skip
def test_talk_stays_talk(said: str) -> None:
    assert translation_call(said, "fr") is None


def test_a_translation_goes_on() -> None:
    assert translation_call("Et le fromage ?", "fr", "es") == Call(
        "translate", {"text": "le fromage", "source": "fr", "to": "es"}
    )
    assert translation_call("And good luck?", "en", "fr") == Call(
        "translate", {"text": "good luck", "source": "en", "to": "fr"}
    )
    for said in ("Et toi ?", "Et demain ?", "Et le fromage.", "Et tu crois vraiment que je vais y arriver ?"):
        assert translation_call(said, "fr", "es") is None


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("bread", "bread"), ("« Bread. »", "Bread"), ("bread\nThe word is bread.", "bread"), ("", ""),
        ("Pain", ""), ("Where is the station?", "Where is the station?"),
    ],
)  # fmt: skip
def test_what_the_model_writes(written: str, made: str) -> None:
    model = Model(written)
    call = Call("translate", {"text": "pain", "source": "fr", "to": "en"})
    assert translate(call, model, CancelToken()) == made
    assert model.asked[0].role == "system" and model.asked[-1] == Message("user", "pain")
    assert "French to English" in model.asked[0].text


def test_what_was_stopped_is_not_said() -> None:
    call = Call("translate", {"text": "pain", "source": "fr", "to": "en"})
    assert translate(call, Model("bread", stops=True), CancelToken()) == ""


def test_every_language_has_a_name() -> None:
    assert LANGUAGES["fr"].keys() == LANGUAGES["en"].keys()


@given(st.text(max_size=120), st.sampled_from(["fr", "en"]), st.sampled_from(["", "en", "fr"]))
def test_any_text_is_understood_or_not(text: str, language: str, last: str) -> None:
    call = translation_call(text, language, last)
    assert call is None or call.arguments["source"] != call.arguments["to"]
