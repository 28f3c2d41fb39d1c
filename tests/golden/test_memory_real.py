"""A kept conversation goes on at once on real weights, and rightly where its state does not fit."""

from pathlib import Path

import pytest

from kazeia_desktop.events import Event, TurnEnded, UserText
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings, PrivacySettings
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

GREEDY = LlmSettings(temperature=0.0, repeat_penalty=1.0, max_reply_tokens=24, threads=1)
KEEPS = PrivacySettings(keep_conversations=True)
QUESTIONS = (
    "Hello, my name is Zoé and I live in Brest, in Brittany, with a grey cat.",
    "Tell me something about the sea, and then about the lighthouses that stand along the coast there.",
    "And what would you cook this evening with potatoes, leeks, butter and a little bit of cheese?",
)


def ask(session: LlamaChatSession, text: str) -> str:
    return "".join(session.reply(text, CancelToken()))


def test_resuming_with_and_without_a_fitting_state(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "config", tmp_path / "data", tmp_path / "cache", tmp_path / "logs")
    file = next(require_model("smollm2-135m").glob("*.gguf"))
    events: list[Event] = []
    memory = Memory(paths, KEEPS, events.append)
    session = LlamaChatSession(file, GREEDY)
    try:
        for turn in range(9):
            question = QUESTIONS[turn % 3]
            memory.before_reply(session)
            reply = ask(session, question).strip()
            memory.hear(UserText(turn, question, "en"))
            memory.hear(TurnEnded(turn, " ".join(reply.split()), "done", {}))
        kept = memory.current
        assert kept is not None
        memory.begin(session)
        state = paths.states_dir / f"{kept}.state"
        assert state.stat().st_size > 100_000
        ask(session, "Something else")

        memory.open(kept, session, lambda n: 1)
        said = ask(session, "Thank you.")
        assert session.stats.prefilled_tokens < 40
        state.unlink()
        session.reset()
        ask(session, "Something else")
        memory.open(kept, session, lambda n: 1)
        assert ask(session, "Thank you.") == said
        assert session.stats.prefilled_tokens > 300
        memory.leave(session)
        assert state.exists()
    finally:
        session.close()
    other = LlamaChatSession(file, GREEDY.model_copy(update={"kv_type": "q8_0"}))
    try:
        memory.open(kept, other, lambda n: 1)
        assert not state.exists(), "it is of another kind of context"
        assert ask(other, "Thank you.") and other.stats.prefilled_tokens > 300
    finally:
        other.close()
        memory.close()
