"""Read by one context, written by another: the answers are those of one context."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_cpp
import pytest

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.llm import context as context_module
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.llm.context import LlamaContext
from kazeia_desktop.llm.spot import CPU, Spot
from kazeia_desktop.llm.two_contexts import TwoContextModel, TwoContexts
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.tiny_llms import ARCHITECTURES, tiny_llm

pytestmark = pytest.mark.unit

_SETTINGS = LlmSettings(
    temperature=0.0, repeat_penalty=1.0, max_reply_tokens=24, threads=1, n_ctx=1024, persona="Tu es Kazeia."
)
_QUESTIONS = (
    "Le chat dort sur le tapis rouge et rêve d'une mer calme, bonjour.",
    "Quelle heure est-il, et comment t'appelles-tu ?",
    "Merci. The cat sleeps on the red carpet and dreams of a quiet sea.",
)


class _OwnReader(TwoContextModel):
    """With a copy of the weights for the reader, as on another device."""

    def _make_context(self, settings: LlmSettings, share: CoreShare | None, spot: Spot) -> LlamaContext:
        self._reader_model = context_module.llama_cpp.llama_model_load_from_file(
            str(self.path).encode(), llama_cpp.llama_model_default_params()
        )
        return TwoContexts(
            self._model, self._reader_model, self.vocabulary.n_tokens, settings, share, spot, self._reader_spot
        )


@pytest.fixture(params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pair(architecture: str) -> Iterator[tuple[LlamaChatSession, LlamaChatSession]]:
    """One context, and two, of the same model."""
    sessions = [
        LlamaChatSession(tiny_llm(architecture), _SETTINGS),
        LlamaChatSession(tiny_llm(architecture), _SETTINGS, make_model=TwoContextModel),
    ]
    yield sessions[0], sessions[1]
    for session in sessions:
        session.close()


def ask(session: LlamaChatSession, text: str, cancel: CancelToken | None = None) -> str:
    return "".join(session.reply(text, cancel or CancelToken()))


def both(session: LlamaChatSession) -> TwoContexts:
    context = session._model.context
    assert isinstance(context, TwoContexts)
    return context


def test_three_turns_are_those_of_one_context(pair: tuple[LlamaChatSession, LlamaChatSession]) -> None:
    one, two = pair
    for question in _QUESTIONS:
        moves = both(two).moves
        assert ask(two, question) == ask(one, question)
        assert both(two).moves > moves
        assert two.stats.prefilled_tokens == one.stats.prefilled_tokens
    assert one.history == two.history
    assert both(two).can_move
    assert list(both(two).tokens) == list(one._model.tokens)


def test_other_weights_for_the_reader_make_no_difference(architecture: str) -> None:
    one = LlamaChatSession(tiny_llm(architecture), _SETTINGS)
    two = LlamaChatSession(tiny_llm(architecture), _SETTINGS, make_model=_OwnReader)
    try:
        assert [ask(two, question) for question in _QUESTIONS] == [ask(one, question) for question in _QUESTIONS]
        assert both(two).can_move
    finally:
        one.close()
        two.close()


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_in_between(pair: tuple[LlamaChatSession, LlamaChatSession], seed: int) -> None:
    """Barge-ins, other tries, edits: both say the same where both had to read the same."""
    one, two = pair
    rng = random.Random(seed)
    for _ in range(10):
        act = rng.choice(["ask", "ask", "heard", "again", "edit", "stop"])
        users = [i for i, message in enumerate(one.history) if message.role == "user"]
        question = " ".join(rng.choices(_QUESTIONS[0].split(), k=rng.choice([1, 5, 40])))
        if act == "heard" and users:
            heard = one.history[-1].text[: rng.randrange(1, 20)]
            for session in pair:
                session.amend_last_reply(heard)
        elif act == "again":
            assert "".join(two.regenerate(CancelToken())) == "".join(one.regenerate(CancelToken()))
        elif act == "edit" and users:
            at = rng.choice(users)
            answers = ["".join(session.edit(at, question, CancelToken())) for session in pair]
            assert answers[0] == answers[1]
        elif act == "stop":
            cancel = CancelToken()
            cancel.set()
            for session in pair:
                assert ask(session, question, cancel) == ""
        else:
            assert ask(two, question) == ask(one, question)
        assert [m.text for m in one.history] == [m.text for m in two.history]


def test_the_first_token_is_chosen_where_the_prompt_was_read(architecture: str) -> None:
    model = TwoContextModel(tiny_llm(architecture), _SETTINGS)
    try:
        prompt = model.tokenize(_QUESTIONS[0], special=False)
        model.prefill(prompt, CancelToken())
        context = model.context
        assert isinstance(context, TwoContexts)
        assert context.reader.tokens == context.tokens == prompt
        read = context.reader.logits().copy()
        assert (context.logits() == read).all()
        context.step(5, CancelToken())
        assert not (context.logits() == read).all()
        assert context.reader.tokens == prompt
    finally:
        model.close()


def test_a_few_new_tokens_are_read_where_the_rest_is() -> None:
    model = TwoContextModel(tiny_llm("qwen35"), _SETTINGS)
    try:
        prompt = model.tokenize(_QUESTIONS[0], special=False)
        model.prefill(prompt[:-3], CancelToken())
        context = model.context
        assert isinstance(context, TwoContexts)
        moves = context.moves
        assert model.prefill(prompt, CancelToken()) == 3
        assert context.moves == moves
        assert context.tokens == prompt
    finally:
        model.close()


def test_both_have_the_same_cache_and_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    real = context_module.context_params

    def keep(*arguments: object) -> object:
        made.append(real(*arguments))
        return made[-1]

    monkeypatch.setattr(context_module, "context_params", keep)
    settings = _SETTINGS.model_copy(update={"flash_attention": True, "batch": 64, "ubatch": 32})
    TwoContextModel(tiny_llm("qwen3"), settings).close()
    assert len(made) == 2
    for name in ("n_ctx", "n_batch", "n_ubatch", "type_k", "type_v", "flash_attn_type"):
        assert getattr(made[0], name) == getattr(made[1], name), name


@pytest.mark.expects_warning
@pytest.mark.parametrize("function", ["llama_state_seq_get_data", "llama_state_seq_set_data"])
def test_a_state_that_does_not_move_is_noticed_and_the_answer_comes_all_the_same(
    pair: tuple[LlamaChatSession, LlamaChatSession], function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = pair
    assert ask(two, _QUESTIONS[0]) == ask(one, _QUESTIONS[0])
    with monkeypatch.context() as patch:
        patch.setattr(llama_cpp, function, lambda *_: 0)
        answer = ask(two, _QUESTIONS[1])
    assert not both(two).can_move
    assert answer == ask(one, _QUESTIONS[1])
    assert ask(two, _QUESTIONS[2]) == ask(one, _QUESTIONS[2])


def test_a_reader_that_is_not_there_is_told_and_nothing_is_left(architecture: str) -> None:
    with pytest.raises(ModelIncompatibleError, match="HTP9 is not there"):
        TwoContextModel(tiny_llm(architecture), _SETTINGS, reader=Spot("HTP9", -1))


def test_closing_twice_is_harmless(architecture: str) -> None:
    model = TwoContextModel(tiny_llm(architecture), _SETTINGS, spot=CPU)
    model.close()
    model.close()
    assert model.closed


def test_a_saved_state_is_read_on_by_the_reader(architecture: str, tmp_path: Path) -> None:
    """Resuming loads into the writer; the reader takes it over instead of reading all anew."""
    model = TwoContextModel(tiny_llm(architecture), _SETTINGS)
    try:
        prompt = model.tokenize(_QUESTIONS[0] * 4, special=False)
        model.prefill(prompt, CancelToken())
        assert model.save_state(tmp_path / "état")
        other = TwoContextModel(tiny_llm(architecture), _SETTINGS)
        try:
            assert other.load_state(tmp_path / "état", prompt)
            more = [*prompt, *model.tokenize(_QUESTIONS[1], special=False)]
            assert other.prefill(more, CancelToken()) == len(more) - len(prompt)
            assert other.context.tokens == more
        finally:
            other.close()
    finally:
        model.close()
