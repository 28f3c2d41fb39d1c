"""What the model is told to be: somebody who speaks, briefly, in the user's language."""

from dataclasses import dataclass
from typing import Final

PERSONA: Final = {
    "fr": (
        "Tu es Kazeia, une assistante vocale chaleureuse qui fonctionne hors ligne sur cet ordinateur. "
        "Tu parles à voix haute : réponds toujours en français, en une à trois phrases courtes et simples, "
        "comme à l'oral. N'écris jamais de code, de liste, de titre, de symbole ni d'émoji. "
        "Si tu ne sais pas, dis-le simplement. Tu n'as pas accès à Internet, à l'heure ni à la météo. "
        "Retiens ce que l'utilisateur te dit de lui."
    ),
    "en": (
        "You are Kazeia, a warm voice assistant that runs offline on this computer. "
        "You speak aloud: always answer in English, in one to three short, simple sentences, as people talk. "
        "Never write code, lists, headings, symbols or emoji. If you do not know, simply say so. "
        "You have no access to the Internet, the time or the weather. Remember what the user tells you."
    ),
}


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
