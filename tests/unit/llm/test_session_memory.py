"""A session goes on with what was kept elsewhere: exchanges without the model, and saved states."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

_GREEDY = LlmSettings(temperature=0.0, repeat_penalty=1.0, max_reply_tokens=16, threads=1)


@pytest.fixture(scope="module")
def smol() -> Iterator[LlamaChatSession]:
    session = LlamaChatSession(next(require_model("smollm2-135m").glob("*.gguf")), _GREEDY)
    yield session
    session.close()


@pytest.fixture
def session(smol: LlamaChatSession) -> LlamaChatSession:
    smol.reset()
    return smol


def ask(session: LlamaChatSession, text: str) -> str:
    return "".join(session.reply(text, CancelToken()))


def as_kept(history: list[Message]) -> list[Message]:
    """As a database gives it back: texts only, on one line."""
    return [Message(m.role, " ".join(m.text.split())) for m in history]


def test_an_exchange_without_the_model_is_remembered(session: LlamaChatSession) -> None:
    ask(session, "Hello")
    before = session.history
    session.record("What time is it?", " It is 2:20 p.m. ")
    assert [m.text for m in session.history[2:]] == ["What time is it?", "It is 2:20 p.m."]
    assert session.history[:2] == before, "the tokens of earlier answers stay"
    ask(session, "Thank you")
    assert session.stats.prefilled_tokens < 60
    session.amend_last_reply("")
    session.amend_last_reply("It is 2")
    assert [m.text for m in session.history] == [*(m.text for m in before), "What time is it?", "It is 2"]


def test_a_saved_state_spares_reading(session: LlamaChatSession, tmp_path: Path) -> None:
    for text in ("Hello, I am Zoé.", "Tell me about the sea.", "And the mountains?"):
        ask(session, text)
    kept = as_kept(session.history)
    assert session.save_state(tmp_path / "state")
    session.restore(kept)
    said = ask(session, "Thank you")
    anew = session.stats.prefilled_tokens
    session.reset()
    ask(session, "Something else entirely")
    session.restore(kept)
    assert session.load_state(tmp_path / "state")
    assert ask(session, "Thank you") == said
    assert session.stats.prefilled_tokens < 30 < anew or anew < 30


def test_a_state_of_the_last_turns_fits_a_longer_record(session: LlamaChatSession, tmp_path: Path) -> None:
    ask(session, "Hello")
    ask(session, "Tell me about the sea.")
    session.save_state(tmp_path / "state")
    kept = as_kept(session.history)
    session.restore([Message("user", "Long ago"), Message("assistant", "Yes."), *kept])
    assert session.load_state(tmp_path / "state") and as_kept(session.history) == kept
    more = [Message("user", "More"), Message("assistant", "Yes.")]
    session.restore([*kept, *more])
    assert session.load_state(tmp_path / "state"), "as far as it was read"
    assert as_kept(session.history) == [*kept, *more]
    ask(session, "Thank you")
    assert session.stats.prefilled_tokens < 60
    session.restore([Message("user", "Hello"), Message("assistant", "Something else."), *more])
    assert not session.load_state(tmp_path / "state")


def test_facts_leave_room_for_the_conversation() -> None:
    small = LlamaChatSession(
        next(require_model("smollm2-135m").glob("*.gguf")), _GREEDY.model_copy(update={"n_ctx": 512})
    )
    try:
        small.apply_facts("Zoé lives in Brest with a cat.\n" * 70)
        assert small.system.text.count("Brest") > 2
        assert ask(small, "Hello")
        small.apply_facts("")
        assert "Brest" not in small.system.text
    finally:
        small.close()


def test_the_summary_of_what_was_forgotten_goes_with_the_state(session: LlamaChatSession, tmp_path: Path) -> None:
    session._summary = "Zoé lives in Brest."
    ask(session, "Tell me about the sea.")
    system = session.system
    session.save_state(tmp_path / "state")
    kept = as_kept(session.history)
    session.restore(kept)
    assert session.system != system
    assert session.load_state(tmp_path / "state") and session.system == system
    ask(session, "Thank you")
    assert session.stats.prefilled_tokens < 40
