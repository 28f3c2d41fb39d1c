"""What a model is reminded of beside a question: the language that was agreed on, and what the user said of himself.

A small model loses both after a few turns. A reminder is read with the question only (`Message.note`): nobody sees it,
and what was read before stays as it was.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from kazeia_desktop.llm.base import Message

_LONGEST: Final = 160
"""Characters of a sentence that is repeated; a longer one is a story."""
_MOST: Final = 4
"""Sentences that are repeated, the last ones."""

_ASKED: Final = {
    "en": r"\b(?:answer|reply|respond|speak|talk|switch|continue|go on|go back|write)\b[^.?!]*\benglish\b"
    r"|\b(?:reponds?|repondez|repondre|parles?|parlez|parler|parlons|passes?|passons|repasses?|repassons|continue"
    r"|continuons"
    r"|revien[st]|revenons|discutons|bascule)\b[^.?!]*\b(?:en|a l'|l') ?anglais\b",
    "fr": r"\b(?:answer|reply|respond|speak|talk|switch|continue|go on|go back|write)\b[^.?!]*\bfrench\b"
    r"|\b(?:reponds?|repondez|repondre|parles?|parlez|parler|parlons|passes?|passons|repasses?|repassons|continue"
    r"|continuons"
    r"|revien[st]|revenons|discutons|bascule)\b[^.?!]*\b(?:en|au|le) francais\b",
}
_NOT: Final = re.compile(r"\b(?:ne|not|never|don't|can't|cannot)\b|\bn'")
_ANSWER_IN: Final = {"fr": "(Réponds en français.)", "en": "(Answer in English.)"}

_OF_SELF: Final = {
    "fr": r"\bje m'appelle\b|\bm'appell?er?\b|\bmoi,? c'est\b|\bmon (?:pre)?nom\b|\bs'appelle(?:nt)?\b|\bj'habite\b"
    r"|\bje vis\b"
    r"|\bje viens d|\bje suis\b|\bje travaille\b|\bj'ai (?:un|une|deux|trois|\d+)\b|\bmon metier\b|\bj'(?:aime"
    r"|adore)\b",
    "en": r"\bmy name\b|\bi am\b|\bi'm\b|\bcall me\b|\bi live\b|\bi come from\b|\bi work\b|\bi have (?:a|an|two"
    r"|three|\d+)\b"
    r"|\bis called\b|\bmy job\b|\bi (?:like|love)\b",
}
_ABOUT_SELF: Final = {
    "fr": r"\b(?:je|mon|ma|mes)\b|\b[jm]'",
    "en": r"\b(?:i|my|mine)\b",
}
_ASKS: Final = {
    "fr": r"\?|\bdis\b|\brappelle|\bsalue|\bprenom|\bdonne|\bsais\b|\bsouviens",
    "en": r"\?|\btell\b|\bremind|\bsay\b|\bgreet|\bname\b|\bremember",
}
_SAID: Final = {"fr": "(L'utilisateur a dit : {said})", "en": "(The user said: {said})"}
_SENTENCE: Final = re.compile(r"[^.!?…]+[.!?…]*")


def reminder(history: Sequence[Message], question: str, language: str) -> str:
    """What is read beside `question`; "" for nothing.

    Args:
        history: what was said before.
        language: of replies by the settings, "fr" or "en".
    """
    spoken = _language(history, question, language)
    return " ".join(filter(None, [_of_self(history, question, spoken), _in_language(history, question, language)]))


def _language(history: Sequence[Message], question: str, language: str) -> str:
    for text in (*(message.text for message in history if message.role == "user"), question):
        language = _asked_for(text) or language
    return language


def _asked_for(text: str) -> str:
    """The language that a text asks to go on in; the last one where there are several; "" for none."""
    plain = _plain(text)
    found = [
        (match.start(), name)
        for name, form in _ASKED.items()
        for match in re.finditer(form, plain)
        if not _NOT.search(re.split(r"[.?!]", plain[: match.start()])[-1])
    ]
    return max(found)[1] if found else ""


def _in_language(history: Sequence[Message], question: str, language: str) -> str:
    """Once it was asked for, the model is told at each turn: it goes on in the language that it reads."""
    asked = any(_asked_for(text) for text in (*(m.text for m in history if m.role == "user"), question))
    return _ANSWER_IN[_language(history, question, language)] if asked else ""


def _of_self(history: Sequence[Message], question: str, language: str) -> str:
    """What the user said of himself, where he asks for it."""
    plain = _plain(question)
    if not re.search(_ABOUT_SELF[language], plain) or not re.search(_ASKS[language], plain):
        return ""
    said = [
        sentence.strip()
        for message in history
        if message.role == "user"
        for sentence in _SENTENCE.findall(message.text)
        if len(sentence) <= _LONGEST and "?" not in sentence
        if any(re.search(form, _plain(sentence)) for form in _OF_SELF.values())
    ]
    return _SAID[language].format(said=" ".join(f"« {one} »" for one in said[-_MOST:])) if said else ""


def _plain(text: str) -> str:
    """Lower case, without accents, with plain apostrophes."""
    low = unicodedata.normalize("NFKD", text.casefold().replace("\u2019", "'"))
    return "".join(sign for sign in low if not unicodedata.combining(sign))
