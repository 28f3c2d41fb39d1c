"""Whatever is asked, cancelled, edited and dropped: a session says what one that reads everything anew says."""

import ctypes
import random
import re
from collections.abc import Iterator

import llama_cpp
import pytest

from kazeia_desktop.llm import context as context_module
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.tiny_llms import ARCHITECTURES, RECURRENT, tiny_llm

pytestmark = pytest.mark.unit

_SETTINGS = LlmSettings(
    temperature=0.0, repeat_penalty=1.0, max_reply_tokens=24, threads=1, n_ctx=1024, persona="Tu es Kazeia.",
    when_full="reread",
)  # fmt: skip
_WORDS = re.findall(r"\w+", "le chat dort sur un tapis rouge et rêve de la mer calme où passent des bateaux bleus")


@pytest.fixture(params=ARCHITECTURES)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[LlamaChatSession, LlamaChatSession]]:
    """A session, and one of the same model that will be made to read everything anew."""
    sessions = [LlamaChatSession(tiny_llm(request.param), _SETTINGS) for _ in range(2)]
    yield sessions[0], sessions[1]
    for session in sessions:
        session.close()


def ask(session: LlamaChatSession, text: str, cancel: CancelToken | None = None) -> str:
    return "".join(session.reply(text, cancel or CancelToken()))


def sentence(rng: random.Random, n: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(n))


def said_anew(other: LlamaChatSession, history: list[Message]) -> str:
    """What a session says that has only this history, the last message of which is a question."""
    other._history = history[:-1]
    other._model.context.keep(0)
    assert list(other._model.tokens) == []
    return ask(other, history[-1].text)


class _AfterNodes:
    """llama.cpp's question whether to stop, answered with yes from one node of the graph on, exactly."""

    def __init__(self, n: int) -> None:
        self._left = n
        self.cancel = CancelToken()
        self.callback = llama_cpp.ggml_abort_callback(self._asked)

    def _asked(self, data: ctypes.c_void_p) -> bool:
        self._left -= 1
        if self._left < 0:
            self.cancel.set()
        return self._left < 0


@pytest.mark.parametrize("seed", range(4))
def test_the_text_is_that_of_a_full_reading(
    pair: tuple[LlamaChatSession, LlamaChatSession], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, other = pair
    rng = random.Random(seed)
    n_compared = n_dropped = n_read = n_whole = 0
    for _ in range(40):
        act = rng.choice(["ask", "ask", "ask", "stop", "abort", "heard", "unheard", "edit", "again", "aside", "leave"])
        act = rng.choice([act, act, "ahead", "ahead cut", "ahead and ask"])
        history = session.history
        users = [i for i, m in enumerate(history) if m.role == "user"]
        if act == "ask":
            said = ask(session, sentence(rng, rng.choice([1, 3, 12, 60])))
        elif act == "stop":
            cancel = CancelToken()
            for i, _piece in enumerate(session.reply(sentence(rng, 5), cancel)):
                if i == rng.choice([0, 2, 7]):
                    cancel.set()
            continue
        elif act == "abort":
            stop = _AfterNodes(rng.choice([1, 5, 20, 60, 150, 400]))
            with monkeypatch.context() as patch:
                patch.setattr(context_module, "ABORT", stop.callback)
                ask(session, sentence(rng, rng.choice([3, 40])), stop.cancel)
            continue
        elif act == "heard" and history:
            text = history[-1].text
            session.amend_last_reply(text[: rng.randrange(len(text) + 1)])
            continue
        elif act == "unheard":
            session.amend_last_reply("")
            continue
        elif act == "edit" and users:
            said = "".join(session.edit(rng.choice(users), sentence(rng, 4), CancelToken()))
        elif act == "again" and users:
            said = "".join(session.regenerate(CancelToken()))
        elif act == "aside":
            session.aside([session.system, *history, Message("user", sentence(rng, 3))], CancelToken(), 8)
            continue
        elif act == "ahead":  # of something else than what is asked then
            session.read_ahead(sentence(rng, rng.choice([2, 30])), CancelToken())
            continue
        elif act == "ahead cut":
            stop = _AfterNodes(rng.choice([1, 20, 150]))
            with monkeypatch.context() as patch:
                patch.setattr(context_module, "ABORT", stop.callback)
                session.read_ahead(sentence(rng, 30), stop.cancel)
            continue
        elif act == "ahead and ask":
            asked = sentence(rng, rng.choice([3, 40]))
            session.read_ahead(asked, CancelToken())
            said = ask(session, asked)
            assert session.stats.dropped_turns or session.stats.prefilled_tokens <= 1
        elif act == "leave":
            reply = session.reply(sentence(rng, 2), CancelToken())
            next(reply, None)
            reply.close()  # type: ignore[attr-defined]
            continue
        else:
            continue
        n_dropped += session.stats.dropped_turns
        n_read += session.stats.prefilled_tokens
        assert said_anew(other, session.history[:-1]) == said, act
        n_whole += other.stats.prefilled_tokens
        n_compared += 1
    assert n_compared > 8
    assert n_read < 0.7 * n_whole
    assert len(session._model.tokens) <= 1024


def test_the_context_drops_turns_in_these_trials() -> None:
    """A check of the test above: its conversations are long enough to be cut."""
    session = LlamaChatSession(tiny_llm("qwen35"), _SETTINGS)
    rng = random.Random(3)
    dropped = 0
    try:
        for _ in range(12):
            ask(session, sentence(rng, 30))
            dropped += session.stats.dropped_turns
    finally:
        session.close()
    assert dropped > 2


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_is_read_again(architecture: str) -> None:
    """A follow-up, another try, a barge-in and an edit: each reads what it must and little more."""
    session = LlamaChatSession(tiny_llm(architecture), _SETTINGS)
    try:
        n_system = len(session._model.tokens)
        for word in ("chat", "mer", "tapis"):
            ask(session, f"Parle du {word}.")
        question = len(session._model.tokenize("Parle du bateau.", special=False))
        around = 50  # ChatML's signs, letter by letter
        said = ask(session, "Parle du bateau.")
        assert session.stats.prefilled_tokens <= question + around
        n_prompt = len(session._model.tokens) - session.stats.generated_tokens

        list(session.regenerate(CancelToken()))
        assert session.stats.prefilled_tokens <= 1
        session.amend_last_reply(said[: len(said) // 2])
        ask(session, "Et encore ?")
        assert session.stats.prefilled_tokens <= 24 + question + around
        list(session.edit(len(session.history) - 2, "Parle du rêve.", CancelToken()))
        assert session.stats.prefilled_tokens <= 24 + question + around
        list(session.edit(0, "Parle du rêve.", CancelToken()))
        assert session.stats.prefilled_tokens < n_prompt - n_system
        assert session.stats.prefilled_tokens <= question + around
    finally:
        session.close()


@pytest.mark.parametrize("architecture", RECURRENT)
def test_checkpoints_keep_to_their_memory(architecture: str) -> None:
    session = LlamaChatSession(tiny_llm(architecture), _SETTINGS.model_copy(update={"n_ctx": 4096}))
    checkpoints = session._model.context.checkpoints
    try:
        ask(session, "Un.")
        one = checkpoints.n_bytes // len(checkpoints)
        first = checkpoints.positions[0]
        checkpoints.limit_bytes = 5 * one
        for _ in range(10):
            ask(session, "Deux.")
            assert checkpoints.n_bytes <= 5 * one
            assert checkpoints.positions == sorted(set(checkpoints.positions))
            assert checkpoints.positions[0] == first
        assert len(checkpoints) >= 3
        checkpoints.limit_bytes = 0
        said = ask(session, "Trois.")
        assert len(checkpoints) <= 1 or checkpoints.n_bytes <= 5 * one
        assert "".join(session.regenerate(CancelToken())) == said
    finally:
        session.close()


def test_a_dense_model_needs_none() -> None:
    session = LlamaChatSession(tiny_llm("qwen3"), _SETTINGS)
    try:
        ask(session, "Un.")
        assert len(session._model.context.checkpoints) == 0
    finally:
        session.close()
