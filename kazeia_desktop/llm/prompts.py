"""What the model is told to be: somebody who speaks, briefly, in the user's language."""

from dataclasses import dataclass
from typing import Final

PERSONA: Final = {
    "fr": (
        "Tu es une assistante utile qui s'appelle Kazeia. Tu parles à voix haute avec l'utilisateur : réponds en une "
        "ou deux phrases courtes et simples, sans liste."
    ),
    "en": (
        "You are a helpful assistant named Kazeia. You talk aloud with the user: answer in one or two short, simple "
        "sentences, without lists."
    ),
}
"""Short on purpose: a small model recites a long one instead of answering, and takes what it is told to refuse for the
answer to everything: "if asked for the weather, say that you cannot" made it refuse jokes. What cannot be done is said
by `tools.ask_elsewhere`. Measured by tools/speech_dialogues.py."""


EXAMPLES: Final = {
    "fr": (
        ("Bonjour !", "Bonjour ! Que puis-je faire pour vous ?"),
        ("Quelle est la capitale du Japon ?", "La capitale du Japon est Tokyo."),
        ("Bonne journée !", "Bonne journée à vous aussi !"),
    ),
    "en": (
        ("Hello!", "Hello! What can I do for you?"),
        ("What is the capital of Japan?", "The capital of Japan is Tokyo."),
        ("Have a nice day!", "You too, have a nice day!"),
    ),
}
"""Exchanges read before the conversation: a small model takes its manner from them, not from being told."""


FACTS: Final = {"fr": "Ce que tu sais de l'utilisateur :", "en": "What you know of the user:"}


BEFORE: Final = {"fr": "Ce qui s'est dit avant :", "en": "What was said before:"}


@dataclass(frozen=True, slots=True)
class SummaryWords:
    """How a summary is asked for. user: who the user is in the text."""

    task: str
    user: str
    question: str


SUMMARY: Final = {
    "fr": SummaryWords(
        "Tu résumes des conversations en une ou deux phrases courtes, sans rien inventer.",
        "L'utilisateur",
        "Résume cette conversation en une ou deux phrases. Garde les noms, les lieux et ce que l'utilisateur veut.",
    ),
    "en": SummaryWords(
        "You sum up conversations in one or two short sentences and invent nothing.",
        "The user",
        "Sum up this conversation in one or two sentences. Keep names, places and what the user wants.",
    ),
}


def system_prompt(persona: str, language: str, facts: str = "", summary: str = "") -> str:
    """The user's own persona where there is one, else Kazeia's in `language` ("fr" or "en"); then what is known."""
    parts = [persona.strip() or PERSONA[language]]
    if facts.strip():
        parts.append(f"{FACTS[language]}\n{facts.strip()}")
    if summary.strip():
        parts.append(f"{BEFORE[language]}\n{summary.strip()}")
    return "\n\n".join(parts)
