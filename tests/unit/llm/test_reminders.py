"""What the model is reminded of beside a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.reminders import reminder

pytestmark = pytest.mark.unit

FR, EN = "(Réponds en français.)", "(Answer in English.)"


def talk(*said: str) -> list[Message]:
    return [Message(("user", "assistant")[i % 2], text) for i, text in enumerate(said)]


@pytest.mark.parametrize(
    "question",
    ["Quel est mon métier ?", "Comment s'appelle mon chien ?", "Où est-ce que j'habite ?", "Je m'appelle comment ?"],
)
def test_who_asks_about_himself_is_answered_with_what_he_said(question: str) -> None:
    history = talk("Salut. Je suis facteur à Tours ! Tu vas bien ?", "Oui.", "J'ai un chien, Rex.", "Bien.")
    said = reminder(history, question, "fr")
    assert said == "(L'utilisateur a dit : « Je suis facteur à Tours ! » « J'ai un chien, Rex. »)"


@pytest.mark.parametrize("question", ["Quelle est la capitale du Pérou ?", "Raconte une blague.", "Je suis fatigué."])
def test_other_questions_stand_alone(question: str) -> None:
    assert reminder(talk("Je m'appelle Luc.", "Bonjour Luc."), question, "fr") == ""


def test_questions_and_answers_are_no_statements() -> None:
    assert reminder(talk("Est-ce que je suis en retard ?", "Je suis une assistante."), "Qui suis-je ?", "fr") == ""
    assert reminder([], "Qui suis-je ?", "fr") == ""
    assert reminder(talk("Je suis " + "très " * 50 + "grand.", "Ah."), "Qui suis-je ?", "fr") == ""


def test_the_last_statements_are_repeated() -> None:
    history = talk(*(text for n in range(6) for text in (f"J'ai {n + 2} pommes.", "Bien.")))
    said = reminder(history, "Combien ai-je de pommes, dis, et mon nom ?", "fr")
    assert "« J'ai 7 pommes. »" in said and "« J'ai 4 pommes. »" in said and "« J'ai 3 pommes. »" not in said


def test_in_english() -> None:
    history = talk("Hi, my name is Ann.", "Hello Ann.")
    assert reminder(history, "What is my name?", "en") == "(The user said: « Hi, my name is Ann. »)"
    assert reminder(history, "What is the moon?", "en") == ""


def test_the_language_that_was_asked_for_is_named_from_then_on() -> None:
    assert reminder([], "Il fait beau.", "fr") == ""
    assert reminder([], "Réponds en anglais, s'il te plaît.", "fr") == EN
    history = talk("Peux-tu parler en anglais ?", "Yes.")
    assert reminder(history, "What is a whale?", "fr") == EN
    assert reminder(history, "On revient au français. Qu'est-ce qu'une baleine ?", "fr") == FR
    history += talk("Let's go back to French.", "D'accord.")
    assert reminder(history, "Et un requin ?", "fr") == FR
    assert reminder([], "Reply in French from now on.", "en") == FR


@pytest.mark.parametrize(
    "said",
    [
        "Comment dit-on chat en anglais ?", "J'apprends l'anglais.", "Ma sœur parle anglais.",
        "Les Anglais boivent du thé.",
        "Do you like French cheese?", "Quelle est la capitale de l'Angleterre ?",
        "I don't speak English.", "Tu ne parles pas en anglais ?",
    ],
)  # fmt: skip
def test_to_speak_of_a_language_is_not_to_ask_for_it(said: str) -> None:
    assert reminder([], said, "fr") == ""


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=80), st.sampled_from(["fr", "en"]))
def test_any_conversation(said: list[str], question: str, language: str) -> None:
    assert len(reminder(talk(*said), question, language)) < 1000
