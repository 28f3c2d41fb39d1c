"""Sessions of every kind of memory: small contexts, raw texts, thoughts, what is given back when closed."""

import gc
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from kazeia_desktop.errors import InferenceError, ModelIncompatibleError
from kazeia_desktop.llm.answer import shortened
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.sampling import TokenSampler
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.tiny_llms import ARCHITECTURES, tiny_llm

pytestmark = pytest.mark.unit

_SETTINGS = LlmSettings(
    temperature=0.0, repeat_penalty=1.0, max_reply_tokens=24, threads=1, n_ctx=512, persona="Tu es Kazeia."
)
_THINKER = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    "{% if enable_thinking %}<think>\n{% endif %}"
)
_NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)

Open = Callable[..., LlamaChatSession]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Makes sessions of tiny models, closed at the end."""
    sessions: list[LlamaChatSession] = []

    def make(architecture: str = "qwen3", template: str | None = "chatml", **changes: object) -> LlamaChatSession:
        session = LlamaChatSession(tiny_llm(architecture, template), _SETTINGS.model_copy(update=changes))
        sessions.append(session)
        return session

    yield make
    for session in sessions:
        session.close()


def ask(session: LlamaChatSession, text: str) -> str:
    return "".join(session.reply(text, CancelToken()))


def text_of(session: LlamaChatSession, tokens: Sequence[int]) -> str:
    return b"".join(session._model.vocabulary.piece(t, special=True) for t in tokens).decode("utf-8", "replace")


def saying(session: LlamaChatSession, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """From now on the model says this, whatever it is asked."""
    model = session._model
    tokens = itertools.chain(model.tokenize(text, special=False), itertools.repeat(model.vocabulary.eos))
    monkeypatch.setattr(TokenSampler, "choose", lambda self, logits: next(tokens))


@pytest.mark.parametrize("when_full", ["shift", "reread"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_forty_turns_in_512_tokens_never_fail(opened: Open, architecture: str, when_full: str) -> None:
    session = opened(architecture, when_full=when_full)
    system = session._prompts.tokens_of(session.system)
    told = 0
    for i in range(40):
        ask(session, f"Question numéro {i} sur la mer. " * (1 + i % 4))
        told += session.stats.dropped_turns > 0
        held = list(session._model.tokens)
        assert len(held) <= 512
        assert any(held[at : at + len(system)] == system for at in range(20))
        if i % 7 == 3:
            session.amend_last_reply(session.history[-1].text[:5])
        if i % 11 == 5:
            list(session.regenerate(CancelToken()))
    assert 5 < told < 40


def test_a_text_is_continued_as_it_stands(opened: Open) -> None:
    session = opened(max_reply_tokens=12)
    ask(session, "Bonjour")
    history, held = session.history, list(session._model.tokens)
    said = "".join(session.generate_raw("Il était une fois", CancelToken()))
    assert said
    assert (session.history, list(session._model.tokens)) == (history, held)
    short = "".join(session.generate_raw("Il était une fois", CancelToken(), max_tokens=4))
    assert short and said.startswith(short) and len(short) < len(said)
    assert "".join(session.generate_raw("", CancelToken()))

    begun = session.generate_raw("Il était", CancelToken())
    next(begun)
    ask(session, "Et demain ?")
    assert list(begun) == []
    assert len(session.history) == 4


def test_a_model_without_template_continues_but_does_not_converse(opened: Open) -> None:
    with pytest.raises(ModelIncompatibleError, match="no chat template"):
        opened(template=None)
    model = LlamaModel(tiny_llm("qwen3", None), _SETTINGS)
    try:
        assert "".join(model.generate_raw("Il était", CancelToken()))
    finally:
        model.close()


def test_a_template_without_system_role_gets_it_with_the_first_question(opened: Open) -> None:
    session = opened(template=_NO_SYSTEM)
    ask(session, "Bonjour")
    text = text_of(session, session._model.tokens)
    assert text.startswith("<|im_start|>user\nTu es Kazeia.\n\nBonjour<|im_end|>")
    ask(session, "Et demain ?")
    assert session.stats.prefilled_tokens < 60


def test_thinking_is_a_switch_and_stays_out(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(template=_THINKER)
    assert not session._prompts.write([session.system, Message("user", "x")]).thought
    session.apply(session._settings.model_copy(update={"thinking": True}))
    saying(session, monkeypatch, "hm hm</think>Bonjour !")
    assert ask(session, "Salut") == "<think>hm hm</think>Bonjour !"
    assert session.history[-1].text == "Bonjour !"
    saying(session, monkeypatch, "hm hm")
    assert ask(session, "Encore") == "<think>hm hm"
    assert session.history[-1].text == ""


def test_a_long_reply_stops_at_the_end_of_a_sentence(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(max_reply_tokens=100)
    sentence = "Le chat dort sur le tapis rouge."
    n = len(session._model.tokenize(" " + sentence, special=False))
    saying(session, monkeypatch, " ".join([sentence] * 30))
    said = ask(session, "Parle.")
    assert said == " ".join([sentence] * (said.count(".")))
    assert 80 <= session.stats.generated_tokens <= 80 + n
    saying(session, monkeypatch, "a" * 300)
    assert len(ask(session, "Parle.")) == 100


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_rest_makes_room_and_reads_ahead(opened: Open, architecture: str) -> None:
    session, other = opened(architecture), opened(architecture)
    dropped = 0
    for i in range(12):
        said = ask(session, f"Question numéro {i} sur la mer et le vent du soir.")
        dropped += session.stats.dropped_turns
        other._history = session.history[:-2]
        other._model.context.keep(0)
        if i:
            assert session.stats.prefilled_tokens < 70, "its own tokens only"
            assert ask(other, f"Question numéro {i} sur la mer et le vent du soir.") == said, "exactly"
        session.rest(CancelToken())
        held = list(session._model.tokens)
        session.rest(CancelToken())
        assert list(session._model.tokens) == held
    assert dropped > 2


def test_a_rest_is_given_up_at_once(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(summarise=True)
    session.restore([Message("user", "mer et vent " * 9), Message("assistant", "vent et mer " * 9)] * 6)
    cancel = CancelToken()
    cancel.set()
    before = session.history
    session.rest(cancel)
    assert session.history == before
    session.rest(CancelToken())
    assert len(session.history) < len(before)
    assert ask(session, "Et ?") is not None
    assert session.stats.dropped_turns == (len(before) + 2 - len(session.history)) // 2
    assert session.stats.prefilled_tokens < 60


def test_what_is_forgotten_is_summed_up(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(summarise=True, n_ctx=1024)
    for i in range(14):
        session.record(f"Je m'appelle Camille et voici la question {i} sur la mer.", "Bien sûr, la mer est calme.")
    asked: list[str] = []

    def ask_aside(messages: Sequence[Message], cancel: CancelToken, max_tokens: int, grammar: str | None = None) -> str:
        asked.append(messages[-1].text)
        return "Camille  parle\nde la mer."

    monkeypatch.setattr(session._asides, "ask", ask_aside)
    session.rest(CancelToken())
    (question,) = asked
    assert "L'utilisateur : Je m'appelle Camille et voici la question" in question
    assert session.system.text.endswith("Ce qui s'est dit avant :\nCamille parle de la mer.")
    for i in range(14):
        session.record(f"Et la suite {i} sur la mer, le vent et le soir ?", "Bien sûr, la mer est calme.")
    session.rest(CancelToken())
    assert asked[-1].startswith("Camille parle de la mer.\n")
    session.reset()
    assert session.system.text == "Tu es Kazeia."


@pytest.mark.parametrize("architecture", ["qwen3", "lfm2"])
def test_what_was_heard_keeps_its_tokens(opened: Open, monkeypatch: pytest.MonkeyPatch, architecture: str) -> None:
    """An answer may be spelt otherwise than its text would be: cut by a barge-in it is not read again."""
    session = opened(architecture)
    spelt = [t for c in " Le chat dort, é" for t in session._model.tokenize(c, special=False)]
    tokens = itertools.chain(spelt, itertools.repeat(session._model.vocabulary.eos))
    with monkeypatch.context() as patch:
        patch.setattr(TokenSampler, "choose", lambda self, logits: next(tokens))
        assert ask(session, "Parle.") == " Le chat dort, é"
    for heard, n_kept in (("Le chat dort, é", len(spelt)), ("Le chat dort,", len(spelt) - 3), ("Le ", 3), ("Non", 0)):
        message = shortened(session.history[-1], heard, session._model.vocabulary)
        assert message.text == heard
        assert list(message.tokens[:n_kept]) == spelt[:n_kept]
        assert text_of(session, message.tokens).lstrip() == heard
    session.amend_last_reply("Le chat dort,")
    assert session.history[-1].tokens == tuple(spelt[:-3])
    ask(session, "Et ?")
    if architecture == "qwen3":
        assert session.stats.prefilled_tokens < 45  # the template's signs and the question, no word of the answer


@pytest.mark.parametrize("architecture", ["qwen3", "qwen35"])
def test_asides_that_begin_alike_read_only_their_end(opened: Open, architecture: str) -> None:
    session = opened(architecture)
    ask(session, "Bonjour")
    rule = Message("system", "Choisis un outil. " * 6)
    first = session.aside([rule, Message("user", "Quelle heure ?")], CancelToken(), 8)
    n_rule = len(session._prompts.tokens_of(rule))
    reads: list[int] = []
    prefill = session._model.context.prefill

    def counted(*arguments: object, **named: object) -> int:
        reads.append(prefill(*arguments, **named))  # type: ignore[arg-type]
        return reads[-1]

    session._model.context.prefill = counted  # type: ignore[assignment,method-assign]
    for question in ("Combien font trois et quatre ?", "Merci"):
        session.aside([rule, Message("user", question)], CancelToken(), 8)
    assert reads[-1] < n_rule
    assert session.aside([rule, Message("user", "Quelle heure ?")], CancelToken(), 8) == first
    assert reads[-1] < n_rule


def test_an_aside_in_a_full_context_leaves_out_oldest_turns(opened: Open) -> None:
    session = opened()
    for i in range(6):
        ask(session, f"Question {i} sur la mer et le vent.")
    long = [Message("user", "mer et vent " * 20), Message("assistant", "vent et mer " * 20)] * 3
    session.aside([session.system, *long, Message("user", "Et ?")], CancelToken(), 8)
    with pytest.raises(InferenceError, match="too long"):
        session.aside([session.system, Message("user", "mer et vent " * 200)], CancelToken(), 8)
    assert ask(session, "Bonjour") is not None


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_closed_model_gives_its_memory_back(architecture: str) -> None:
    process = psutil.Process()

    def cycle() -> int:
        session = LlamaChatSession(tiny_llm(architecture), _SETTINGS.model_copy(update={"n_ctx": 2048}))
        ask(session, "Bonjour")
        session.aside([session.system, Message("user", "x")], CancelToken(), 4, 'root ::= "a" | "b"')
        session.close()
        gc.collect()
        return int(process.memory_info().rss)

    for _ in range(4):
        before = cycle()
    after = [cycle() for _ in range(20)][-1]
    assert after - before < 3_000_000


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_state_is_taken_over_and_nothing_is_read_twice(architecture: str, opened: Open, tmp_path: Path) -> None:
    session, again = opened(architecture), opened(architecture)
    for question in ("Bonjour", "Quelle heure est-il ?"):
        ask(session, question)
    assert session.save_state(tmp_path / "a")
    history = session.history
    expected = ask(session, "Merci")
    again.restore(history)
    assert again.load_state(tmp_path / "a")
    assert ask(again, "Merci") == expected
    assert again.stats.prefilled_tokens == session.stats.prefilled_tokens
    assert "".join(again.regenerate(CancelToken())) == expected
