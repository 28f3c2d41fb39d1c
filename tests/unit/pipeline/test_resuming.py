"""A kept conversation goes on where it was: the model reads what is new only, whatever happened in it before."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kazeia_desktop.events import TurnEnded, UserText
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.heard import without_cut
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings, PrivacySettings
from tests.fakes.tiny_llms import ARCHITECTURES, tiny_llm

pytestmark = pytest.mark.unit

_SETTINGS = LlmSettings(
    temperature=0.0, repeat_penalty=1.0, max_reply_tokens=24, threads=1, n_ctx=2048, persona="Tu es Kazeia."
)

Open = Callable[[str], LlamaChatSession]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Makes sessions of tiny models of random weights, closed at the end."""
    sessions: list[LlamaChatSession] = []

    def make(architecture: str) -> LlamaChatSession:
        sessions.append(LlamaChatSession(tiny_llm(architecture, "chatml"), _SETTINGS))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


class Talk:
    """A conversation with a session, as the pipeline has it."""

    def __init__(self, root: Path, session: LlamaChatSession) -> None:
        paths = Paths(root / "config", root / "data", root / "cache", root / "logs")
        paths.config_dir.mkdir(exist_ok=True)
        paths.facts_file.write_text("Camille a un chat qui s'appelle Zoé.", "utf-8")
        self.memory = Memory(paths, PrivacySettings(keep_conversations=True), lambda _: None)
        self.session = session
        self.turn = 0

    def ends(self, question: str, reply: str, reason: str = "done") -> None:
        self.turn += 1
        self.memory.hear(UserText(self.turn, question, "fr"))
        self.memory.hear(TurnEnded(self.turn, reply, reason, {}))

    def ask(self, question: str) -> str:
        self.memory.before_reply(self.session)
        said = "".join(self.session.reply(question, CancelToken()))
        return said.strip()

    def says(self, question: str) -> None:
        # Clauses are trimmed and joined again.
        self.ends(question, " ".join(self.ask(question).split()))

    def is_stopped(self, question: str, share: float) -> None:
        said = self.ask(question)
        heard = " ".join(said[: int(len(said) * share)].split())
        heard = f"{heard}…" if heard else ""
        self.session.amend_last_reply(without_cut(heard))
        self.ends(question, heard, "interrupted")

    def edits_last(self, question: str) -> None:
        self.memory.remove(self.turn, self.turn)
        self.session.forget(len(self.session.history) - 2, len(self.session.history))
        self.memory.removed()
        self.says(question)

    def asks_the_clock(self) -> None:
        self.session.record("Quelle heure est-il ?", "Il est 14 h 20.")
        self.ends("Quelle heure est-il ?", "Il est 14 h 20.")


def everything(talk: Talk) -> None:
    """A note of facts and one beside a question, a tool, an interruption, an edit, a question without an answer."""
    talk.says("Je m'appelle Camille. " * 15)
    talk.asks_the_clock()
    talk.is_stopped("Raconte-moi une longue histoire de la mer et de ses bateaux.", 0.5)
    talk.says("Un")
    talk.edits_last("Comment je m'appelle ?")
    assert talk.session.history[-2].note, "it was reminded"
    talk.is_stopped("Et puis ?", 0.0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_next_question_is_read_and_nothing_else(architecture: str, opened: Open, tmp_path: Path) -> None:
    before, after = opened(architecture), opened(architecture)
    talk = Talk(tmp_path, before)
    everything(talk)
    conversation = talk.memory.current
    assert conversation is not None
    talk.memory.leave(before)
    talk.memory.close()
    expected = talk.ask("Merci")
    n_read = before.stats.prefilled_tokens

    again = Talk(tmp_path, after)
    told = again.memory.open(conversation, after, lambda n: 1)
    assert [e.reason for e in told.exchanges] == ["done", "done", "interrupted", "done", "interrupted"]
    assert again.ask("Merci") == expected
    assert after.stats.prefilled_tokens == n_read
    if before._model.context.goes_back:
        assert n_read < 40, "its own tokens"
    assert len(after._model.tokens) > 250
    again.memory.close()


@pytest.mark.parametrize("architecture", ["qwen3"])
def test_what_was_spoken_when_it_was_closed_is_read_as_far_as_it_was_heard(
    architecture: str, opened: Open, tmp_path: Path
) -> None:
    """The session may not have been told what was heard, nor that a question was withdrawn."""
    before, after = opened(architecture), opened(architecture)
    talk = Talk(tmp_path, before)
    talk.says("Je m'appelle Camille. " * 15)
    said = talk.ask("Raconte une histoire")
    talk.ends("Raconte une histoire", f"{said[: len(said) // 2].strip()}…", "interrupted")
    conversation = talk.memory.current
    assert conversation is not None
    talk.memory.leave(before)
    talk.memory.close()
    again = Talk(tmp_path, after)
    again.memory.open(conversation, after, lambda n: 1)
    assert after.history[-1].text == said[: len(said) // 2].strip() and after.history[-1].tokens
    again.ask("Merci")
    assert after.stats.prefilled_tokens < 90, (
        "its own tokens, and the answer from the first byte that is no character on"
    )
    assert len(after._model.tokens) > 350
    again.memory.close()


@pytest.mark.parametrize("architecture", ["qwen3", "mamba2"])
def test_a_state_holds_no_word_that_nobody_heard(architecture: str, opened: Open, tmp_path: Path) -> None:
    session = opened(architecture)
    talk = Talk(tmp_path, session)
    talk.says("Bonjour à toi, qui que tu sois. " * 12)
    n_kept = len(session._model.tokens)
    talk.is_stopped("Le mot de passe est zanzibar", 0.0)
    assert len(session._model.tokens) > n_kept
    talk.memory.leave(session)
    held = b"".join(session._model.vocabulary.piece(t) for t in session._model.tokens)
    assert b"zanzibar" not in held and len(session._model.tokens) > 200
    talk.memory.close()
