"""What of a conversation is written, and that a very long one is not written again and again."""

import random
from collections.abc import Iterator

import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.llm.prompt import PromptWriter
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.tiny_llms import tiny_llm

pytestmark = pytest.mark.unit

_SYSTEM = Message("system", "Tu es Kazeia.")
_ROOM = 512 - 64


@pytest.fixture(scope="module")
def writer() -> Iterator[PromptWriter]:
    session = LlamaChatSession(tiny_llm("qwen3"), LlmSettings(threads=1, n_ctx=512, persona="Tu es Kazeia."))
    yield session._prompts
    session.close()


def conversation(rng: random.Random, n_turns: int, longest: int) -> list[Message]:
    """Turns, and a question."""
    roles = ["user", "assistant"] * n_turns + ["user"]
    return [Message(role, " ".join(["mot"] * rng.randint(1, longest))) for role in roles]


def dropped_one_by_one(writer: PromptWriter, history: list[Message]) -> int:
    """The rule, without a short cut: whole turns go until it fits, and then a little more."""
    for n in range(0, len(history), 2):
        limit = _ROOM if n == 0 else int(0.7 * _ROOM)
        n_tokens = len(writer.write([_SYSTEM, *history[n:]]).tokens)
        if n_tokens <= limit or (n == len(history) - 1 and n_tokens <= _ROOM):
            return n
    raise AssertionError("it never fits")


@pytest.mark.parametrize("seed", range(20))
def test_as_many_turns_are_dropped_as_the_rule_says(writer: PromptWriter, seed: int) -> None:
    rng = random.Random(seed)
    history = conversation(rng, rng.choice([0, 1, 3, 10, 40]), rng.choice([2, 20, 60]))
    assert writer.fit(_SYSTEM, history, 64).n_dropped == dropped_one_by_one(writer, history)


def test_a_conversation_of_thousands_of_turns_is_written_once(
    writer: PromptWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = conversation(random.Random(1), 5000, 8)
    read: list[int] = []
    whole = writer.tokens_of
    monkeypatch.setattr(writer, "tokens_of", lambda part: (read.append(1), whole(part))[1])
    prompt = writer.fit(_SYSTEM, history, 64)
    assert prompt.n_dropped > 9000 and len(prompt.tokens) <= _ROOM
    assert len(read) < 1000


def test_a_question_that_is_too_long_is_refused_whatever_came_before(writer: PromptWriter) -> None:
    history = [*conversation(random.Random(2), 300, 8)[:-1], Message("user", "mot " * 600)]
    with pytest.raises(InferenceError, match="message is too long"):
        writer.fit(_SYSTEM, history, 64)
