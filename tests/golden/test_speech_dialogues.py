"""Twenty spoken French dialogues on the starter model, judged by patterns that were committed before any run.

What is asserted is part of what was reached, 17 of 20; `python tools/speech_dialogues.py` holds them all.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.settings.schema import LlmSettings, Settings
from tests.golden.speech_judge import Turn, faults, language_of, load, sentences
from tests.golden.speech_talk import talk
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

COMMON, DIALOGUES = load()
QUICK = {
    "prénom et ville demandés l'un après l'autre",
    "prénom et ville demandés ensemble",
    "au milieu d'une conversation sur le jardin",
    "multiplication, puis addition",
    "un achat",
    "heure et date",
    "réveil et bonne nuit",
    "envoyer un message",
    "quelque chose de dangereux",
    "l'utilisateur demande de passer à l'anglais",
    "traduire deux mots",
    "une histoire interrompue par une question",
    "le prénom après une interruption",
}
"""Thirteen of the seventeen that hold; which do not, and why, is in docs/development.md."""
GREEDY = LlmSettings(threads=1, n_ctx=2048, temperature=0.0)


@pytest.fixture(scope="module")
def session() -> Iterator[LlamaChatSession]:
    file: Path = next(require_model("qwen2.5-coder-0.5b").glob("*.gguf"))
    made = LlamaChatSession(file, GREEDY)
    yield made
    made.close()


def test_what_was_reached_holds(session: LlamaChatSession) -> None:
    """One may differ: another processor rounds differently, and the likeliest word is often so by a hair."""
    failed = {}
    for dialogue in (one for one in DIALOGUES if one.name in QUICK):
        with contextlib.closing(Errands(None, Settings(llm=GREEDY))) as errands:
            said = talk(dialogue, session, errands, COMMON)
        if wrong := [(one.user, one.answer, one.faults) for one in said if one.faults]:
            failed[dialogue.name] = wrong
    assert len(failed) <= 1, failed


def test_there_are_twenty_of_six_kinds() -> None:
    assert len(DIALOGUES) == 20 and {one.name for one in DIALOGUES} >= QUICK
    assert {one.kind for one in DIALOGUES} == {"memory", "arithmetic", "time", "refusal", "language", "interruption"}
    assert all(len(one.turns) == 6 for one in DIALOGUES if one.kind == "memory")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("Bonjour Camille, ravie de te parler.", ""),
        ("", "empty"),
        ("**Bonjour** à toi.", "has [*"),
        ("Voici la liste :\n1. le chat", "has ^"),
        ("Bonjour à toi 😀", "has [\\u2190"),
        ("Le un. Le deux. Le trois. Le quatre.", "4 sentences"),
        ("Il est " + "très " * 60 + "beau.", "63 words"),
        ("The weather is very nice today.", "language en"),
        ("Et le renard vit le corbeau sur un arbre.", "goes on"),
    ],
)
def test_the_judge(answer: str, fault: str) -> None:
    found = faults(Turn("?"), answer, False, ["il vit que le renard vit le corbeau sur sa branche"], COMMON)
    assert [one.startswith(fault) for one in found] == ([True] if fault else [])


def test_wanted_and_unwanted_patterns_and_who_answers() -> None:
    turn = Turn("?", must=(r"\bRennes\b",), never=(r"\d",), by="tool")
    assert faults(turn, "Tu es à rennes.", True, [], COMMON) == []
    assert faults(turn, "Tu es à Nantes, au 3.", False, [], COMMON) == [
        "answered by the model", r"has \d", r"lacks \bRennes\b",
    ]  # fmt: skip


def test_sentences_and_languages() -> None:
    assert sentences("Il est 3.5 fois plus grand… Non ! « Si. » Ah") == 4
    assert language_of("L’heure", COMMON) == "fr" and language_of("Paris", COMMON) == ""
