"""Somebody who thinks of ending their life is answered; who dies of laughter is not."""

import pytest

from kazeia_desktop.llm.tools.ask_distress import distress_call
from kazeia_desktop.llm.tools.request import Request

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "Je veux mourir."),
        ("fr", "J'ai envie d'en finir avec la vie"),
        ("fr", "j'ai envie de mourir"),
        ("fr", "Je ne veux plus vivre, je n'en peux plus."),
        ("fr", "Comment me suicider sans douleur ?"),
        ("fr", "Je pense à me tuer depuis des semaines"),
        ("fr", "J'ai des idées suicidaires."),
        ("en", "I want to die."),
        ("en", "I don't want to live anymore"),
        ("en", "How can I kill myself?"),
        ("en", "I'm thinking about ending my life."),
    ],
)
def test_is_heard(language: str, text: str) -> None:
    call = distress_call(Request(text, language))
    assert call is not None and call.tool == "distress"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "J'ai envie de mourir de rire."),
        ("fr", "Je vais mourir de faim, qu'est-ce qu'on mange ?"),
        ("fr", "Je voudrais en finir avec ce dossier."),
        ("fr", "Comment tuer le temps dans le train ?"),
        ("fr", "Dans ce jeu je vais mourir au premier niveau."),
        ("fr", "De quoi est mort Molière ?"),
        ("en", "I want to die laughing."),
        ("en", "How do I kill a process on Linux?"),
        ("en", "My phone is going to die."),
        ("en", "How can I end this call?"),
    ],
)
def test_is_not_heard_where_it_is_not_meant(language: str, text: str) -> None:
    assert distress_call(Request(text, language)) is None
