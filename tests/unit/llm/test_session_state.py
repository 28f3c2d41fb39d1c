"""What others do with a session: history in and out, facts, files of its state, forms of an answer."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.llm.prompts import EXAMPLES
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

_GREEDY = LlmSettings(temperature=0.0, repeat_penalty=1.0, max_reply_tokens=16, threads=1)
_TOLD = [Message("user", "Je m'appelle Camille."), Message("assistant", "Bonjour Camille !")]


def gguf() -> Path:
    return next(require_model("smollm2-135m").glob("*.gguf"))


@pytest.fixture(scope="module")
def smol() -> Iterator[LlamaChatSession]:
    session = LlamaChatSession(gguf(), _GREEDY)
    yield session
    session.close()


@pytest.fixture
def session(smol: LlamaChatSession) -> LlamaChatSession:
    smol.apply(_GREEDY)
    smol.apply_facts("")
    smol.reset()
    return smol


def ask(session: LlamaChatSession, text: str, note: str = "") -> str:
    return "".join(session.reply(text, CancelToken(), note))


def text_of(session: LlamaChatSession, tokens: Sequence[int]) -> str:
    return b"".join(session._model.vocabulary.piece(token, special=True) for token in tokens).decode()


def test_a_history_is_read_and_set(session: LlamaChatSession) -> None:
    session.restore([Message("system", "x"), *_TOLD, Message("user", "sans réponse")])
    assert session.history == _TOLD
    said = ask(session, "Et moi ?")
    assert [m.text for m in session.history] == ["Je m'appelle Camille.", "Bonjour Camille !", "Et moi ?", said.strip()]
    session.history.clear()
    assert len(session.history) == 4


def test_an_unfinished_answer_enters_the_history_when_it_ends(session: LlamaChatSession) -> None:
    reply = session.reply("Compte.", CancelToken())
    next(reply)
    assert [m.role for m in session.history] == ["user"]
    rest = list(reply)
    assert rest
    assert [m.role for m in session.history] == ["user", "assistant"]


def test_facts_stand_in_the_system_prompt(session: LlamaChatSession) -> None:
    plain = session.system.text
    session.apply_facts("Habite à Nantes. ")
    assert session.system.text == f"{plain}\n\nCe que tu sais de l'utilisateur :\nHabite à Nantes."
    ask(session, "Bonjour")
    assert "Habite à Nantes.<|im_end|>" in text_of(session, session._model.tokens)
    session.apply_facts("")
    assert session.system.text == plain


def test_a_note_is_read_but_not_said(session: LlamaChatSession) -> None:
    ask(session, "Quelle heure est-il ?", "Il est 14 h 30.")
    assert session.history[0] == Message("user", "Quelle heure est-il ?", note="Il est 14 h 30.")
    prompt = session._prompts.write([session.system, *session._examples, *session.history[:1]]).tokens
    assert list(session._model.tokens[: len(prompt)]) == prompt
    assert "Quelle heure est-il ?\n\nIl est 14 h 30." in text_of(session, prompt)


def test_the_model_is_reminded_of_what_the_user_said_and_of_the_language(session: LlamaChatSession) -> None:
    session.restore(_TOLD)
    ask(session, "Comment je m'appelle ?")
    assert session.history[2].text == "Comment je m'appelle ?"
    assert session.history[2].note == "(L'utilisateur a dit : « Je m'appelle Camille. »)"
    assert "m'appelle ?\n\n(L'utilisateur a dit" in text_of(session, session._model.tokens)
    ask(session, "Answer in English, please.")
    assert session.history[4].note == "(Answer in English.)"
    ask(session, "Quelle est la capitale de la France ?", "(Autre chose.)")
    assert session.history[6].note == "(Autre chose.)"


def test_examples_stand_before_the_conversation_but_not_with_a_persona_of_the_users_own(
    session: LlamaChatSession,
) -> None:
    ask(session, "Il pleut.")
    read = text_of(session, session._model.tokens)
    assert 0 < read.index(EXAMPLES["fr"][0][1]) < read.index("Il pleut.")
    assert session.history[0].text == "Il pleut."
    session.apply(_GREEDY.model_copy(update={"persona": "Tu es un pirate."}))
    session.reset()
    ask(session, "Il pleut.")
    assert EXAMPLES["fr"][0][1] not in text_of(session, session._model.tokens)


def test_a_small_context_has_no_room_for_examples() -> None:
    small = LlamaChatSession(gguf(), _GREEDY.model_copy(update={"n_ctx": 512}))
    try:
        ask(small, "Il pleut.")
        assert EXAMPLES["fr"][0][1] not in text_of(small, small._model.tokens)
    finally:
        small.close()


def test_a_state_fits_a_history_that_was_kept_without_notes(session: LlamaChatSession, tmp_path: Path) -> None:
    session.restore(_TOLD)
    ask(session, "Comment je m'appelle ?")
    kept = [Message(m.role, m.text) for m in session.history]
    assert session.save_state(tmp_path / "state")
    session.reset()
    session.restore(kept)
    assert session.load_state(tmp_path / "state")
    ask(session, "Et puis ?")
    assert session.stats.prefilled_tokens < 40
    session.restore([*_TOLD, Message("user", "Comment je m'appelle ?", note="(Autre chose.)"), kept[3]])
    assert session.load_state(tmp_path / "state"), "what was before it"
    assert session.history[2].note == "(Autre chose.)" and not session.history[2].tokens


def test_a_question_is_answered_again_and_edited(session: LlamaChatSession) -> None:
    first = ask(session, "Bonjour")
    second = ask(session, "Quelle est la capitale de la France ?")
    assert "".join(session.regenerate(CancelToken())) == second
    assert session.stats.prefilled_tokens == 1
    assert len(session.history) == 4
    edited = "".join(session.edit(2, "Quelle est la capitale de l'Italie ?", CancelToken()))
    assert [m.text for m in session.history][2:] == ["Quelle est la capitale de l'Italie ?", edited.strip()]
    assert session.stats.prefilled_tokens < 40
    assert "".join(session.edit(0, "Bonjour", CancelToken())) == first
    assert len(session.history) == 2
    for index in (1, 2, -1):
        with pytest.raises(IndexError):
            session.edit(index, "x", CancelToken())
    session.reset()
    assert list(session.regenerate(CancelToken())) == []


def test_exchanges_are_forgotten_and_what_was_before_them_stays_read(session: LlamaChatSession) -> None:
    for text in ("Un", "Deux", "Trois"):
        ask(session, text)
    kept = session.history
    for first, end in ((1, 3), (0, 1), (0, 8), (-2, 2), (2, 2)):
        with pytest.raises(IndexError):
            session.forget(first, end)
    session.forget(2, 4)
    assert session.history == kept[:2] + kept[4:]
    session.forget(2, 4)
    ask(session, "Quatre")
    assert session.stats.prefilled_tokens < 20
    assert [m.text for m in session.history][::2] == ["Un", "Quatre"]


def test_an_aside_leaves_no_trace_and_keeps_to_its_grammar(session: LlamaChatSession) -> None:
    ask(session, "Bonjour")
    history, held = session.history, list(session._model.tokens)
    grammar = 'root ::= "<" [a-d]{3} ">" [0-9]'
    messages = [Message("system", "Tu choisis."), *history, Message("user", "Choisis.")]
    said = session.aside(messages, CancelToken(), grammar=grammar)
    assert re.fullmatch(r"<[a-d]{3}>[0-9]", said)
    assert session.aside(messages, CancelToken(), grammar=grammar) == said
    assert session.history == history
    assert list(session._model.tokens) == held
    after = ask(session, "Et demain ?")
    assert session.stats.prefilled_tokens < 40
    session.restore(history)
    session._model.context.keep(0)
    assert ask(session, "Et demain ?") == after
    with pytest.raises(InferenceError, match="grammar"):
        session.aside(messages, CancelToken(), grammar="root ::= (((")
    assert list(session._model.tokens)


def test_a_state_is_saved_and_taken_over(session: LlamaChatSession, tmp_path: Path) -> None:
    for question in ("Bonjour, je m'appelle Camille.", "Raconte une histoire."):
        ask(session, question)
    assert session.save_state(tmp_path / "a.state")
    assert [p.name for p in tmp_path.iterdir()] == ["a.state"]
    history = session.history
    expected = ask(session, "Merci.")

    again = LlamaChatSession(gguf(), _GREEDY)
    try:
        assert not again.load_state(tmp_path / "a.state"), "another history"
        again.restore(history)
        assert again.load_state(tmp_path / "a.state")
        assert ask(again, "Merci.") == expected
        assert again.stats.prefilled_tokens < 40
    finally:
        again.close()


def test_a_state_that_does_not_fit_is_not_taken(session: LlamaChatSession, tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    assert not session.load_state(path), "missing"
    ask(session, "Bonjour")
    assert session.save_state(path)
    whole = path.read_bytes()
    history = session.history
    session.restore(history)
    assert session.load_state(path)
    for damaged in (whole[:-1], whole[:1000], b"", whole[:500] + b"\x00\x01" + whole[502:], whole + b"x"):
        path.write_bytes(damaged)
        session.restore(history)
        assert not session.load_state(path)
    assert ask(session, "Merci.")
    other = LlamaChatSession(gguf(), _GREEDY.model_copy(update={"kv_type": "q8_0"}))
    try:
        path.write_bytes(whole)
        other.restore(history)
        assert not other.load_state(path), "another kind of context"
        assert not other.save_state(tmp_path / "missing" / "b.state")
    finally:
        other.close()
