"""A scripted dialogue through what a conversation is made of: tools, session, think filter, splitter, normaliser."""

import re
import time
from dataclasses import dataclass
from typing import Final

from kazeia_desktop.llm.base import ChatSession
from kazeia_desktop.llm.tools.base import Tools
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.text.clause_splitter import ClauseSplitter
from kazeia_desktop.text.normalizer import normalize
from kazeia_desktop.text.think_filter import ThinkFilter
from tests.golden.speech_judge import Common, Dialogue, Turn, faults

_SPOKEN: Final = re.compile(r"[^\W\d_]|[ ,.;:?!'…-]")


@dataclass(frozen=True, slots=True)
class Said:
    """One exchange. spoken: what the voice would be given. faults: what a listener would mind."""

    user: str
    answer: str
    spoken: str
    by_tool: bool
    faults: list[str]
    seconds: float


def talk(dialogue: Dialogue, session: ChatSession, tools: Tools, common: Common) -> list[Said]:
    """The whole dialogue with an empty session; what was said."""
    session.reset()
    told: list[Said] = []
    unheard: list[str] = []
    for turn in dialogue.turns:
        began_s = time.perf_counter()
        answer, by_tool = _answer(turn, session, tools)
        spoken = _spoken(answer)
        wrong = faults(turn, answer, by_tool, unheard, common)
        if signs := {sign for sign in spoken if not _SPOKEN.fullmatch(sign)}:
            wrong.append(f"cannot be said: {signs}")
        if turn.written is not None:
            words = answer.split()
            session.amend_last_reply(" ".join(words[: turn.heard]) + "…" if turn.heard else "")
            unheard.append(" ".join(words[turn.heard :]))
        told.append(Said(turn.user, answer, spoken, by_tool, wrong, round(time.perf_counter() - began_s, 2)))
    return told


def _answer(turn: Turn, session: ChatSession, tools: Tools) -> tuple[str, bool]:
    cancel = CancelToken()
    outcome = tools.answer(turn.user, session.aside, cancel)
    if outcome is not None:
        session.record(turn.user, outcome.said)
        return outcome.said, True
    thoughts, visible = ThinkFilter(), ""
    for piece in session.reply(turn.user, cancel):
        visible += thoughts.push(piece)
        if turn.written is not None and len(visible.split()) > turn.written:  # the last word may be unfinished
            cancel.set()
    return (visible if cancel.is_set() else visible + thoughts.finish()).strip(), False


def _spoken(answer: str, language: str = "fr") -> str:
    splitter = ClauseSplitter(True, language)
    clauses = splitter.push(answer) + splitter.finish()
    return " ".join(filter(None, (normalize(clause, language) for clause in clauses)))
