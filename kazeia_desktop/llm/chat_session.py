"""A conversation that remembers, and reads only what is new."""

import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.answer import Answer, shortened
from kazeia_desktop.llm.asides import Asides
from kazeia_desktop.llm.base import Message, ReplyStats
from kazeia_desktop.llm.context import PutAway, common_length
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.prompt import Prompt, PromptWriter
from kazeia_desktop.llm.prompts import EXAMPLES, system_prompt
from kazeia_desktop.llm.reminders import reminder
from kazeia_desktop.llm.session_state import joined, packed, unpacked
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings

_QUESTION: Final = "mot " * 40
"""As long as most questions are: for one of this length there is to be room without a wait."""
_ROOM_FOR_EXAMPLES: Final = 1024
"""Tokens of a context in which a hundred for examples are few."""
_ROLES: Final = ("user", "assistant")
_THOUGHT: Final = 4
"""A model that thinks aloud may think as many times longer than it may answer."""


class LlamaChatSession:
    """ChatSession on llama.cpp.

    Args:
        gguf: the model's file.
        share: tells how many cores the voice leaves; None: all.
        make_model: loads the file; where it is computed is its affair.
    Raises:
        ModelError: what is wrong with it.
    """

    def __init__(
        self,
        gguf: Path,
        settings: LlmSettings,
        share: CoreShare | None = None,
        make_model: Callable[[Path, LlmSettings, CoreShare | None], LlamaModel] = LlamaModel,
    ) -> None:
        self._lock = threading.Lock()  # held for a step, never while a reader looks at a piece
        self._settings = settings
        self._facts = ""
        self._history: list[Message] = []
        self._answer: Answer | None = None
        self._summary = ""
        self._forgotten = 0  # turns that were dropped while nobody waited, and not told yet
        self._away: PutAway | None = None  # the conversation, while something else is written
        self._stats = ReplyStats(0, 0, None, None)
        self._model = make_model(gguf, settings, share)
        try:
            model = self._model
            self._prompts = PromptWriter(model.chat_template(), model.vocabulary, model.n_ctx)
            self._asides = Asides(model, self._prompts)
            # Before anybody speaks: the first question then waits for its own tokens only.
            beginning = self._prompts.beginning(self.system, self._examples)
            if 0 < len(beginning) < model.n_ctx:
                model.prefill(beginning, CancelToken())
        except BaseException:
            self._model.close()
            raise

    def reply(self, user_text: str, cancel: CancelToken, note: str = "") -> Iterator[str]:
        """See ChatSession. An answer that was begun before and not read to its end counts as ended."""
        message = Message("user", unicodedata.normalize("NFC", user_text).strip(), note=note.strip())
        return self._replies(message, None, cancel)

    def read_ahead(self, user_text: str, cancel: CancelToken) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if self._model.closed:
                return
            _, prompt = self._asked(Message("user", unicodedata.normalize("NFC", user_text).strip()), None)
            if not prompt.n_dropped:
                self._model.prefill(prompt.tokens, cancel)

    def regenerate(self, cancel: CancelToken) -> Iterator[str]:
        """See ChatSession."""
        with self._lock:
            self._settle()
            at = max((i for i, message in enumerate(self._history) if message.role == "user"), default=None)
            if at is None:
                return iter(())
            return self._replies(self._history[at], at, cancel)

    def edit(self, index: int, user_text: str, cancel: CancelToken) -> Iterator[str]:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if not 0 <= index < len(self._history) or self._history[index].role != "user":
                raise IndexError(f"no message of the user's at {index}")
            message = Message("user", unicodedata.normalize("NFC", user_text).strip())
            return self._replies(message, index, cancel)

    def _replies(self, message: Message, at: int | None, cancel: CancelToken) -> Iterator[str]:
        """Answer to `message`, which takes the place of the history from `at` on, or its end."""
        called_s = time.perf_counter()
        with self._lock:
            self._settle()
            answer = self._begin(message, at, cancel, called_s)
        try:
            while (piece := self._next(answer)) is not None:
                if piece:
                    yield piece
        finally:
            # Also when the reader stops reading: what was said stays in the history.
            with self._lock:
                if self._answer is answer:
                    self._settle()

    def _begin(self, message: Message, at: int | None, cancel: CancelToken, called_s: float) -> Answer:
        if self._model.closed:
            raise InferenceError("The model is closed.")
        kept, prompt = self._asked(message, at)
        self._history = kept[prompt.n_dropped :]
        n_turns, self._forgotten = self._forgotten + prompt.n_dropped // 2, 0
        self._answer = Answer(
            prompt.tokens, prompt.opening, cancel, called_s, n_turns, self._settings.max_reply_tokens, prompt.thought
        )
        self._stats = self._answer.stats()
        return self._answer

    def _asked(self, message: Message, at: int | None) -> tuple[list[Message], Prompt]:
        """The history up to `at` with the question, and what the model reads of them."""
        kept = self._history[:at]
        if kept and not kept[-1].text:
            del kept[-2:]  # stopped before a word: the question was withdrawn
        if not message.note:
            message = replace(message, note=reminder(kept, message.text, self._settings.language))
        kept.append(message)
        settings = self._settings
        prompt = self._prompts.fit(self.system, kept, settings.max_reply_tokens, settings.thinking, self._examples)
        return kept, prompt

    def _next(self, answer: Answer) -> str | None:
        """Compute one more token; its text, or None at the end."""
        with self._lock:
            if self._answer is not answer or answer.spent >= answer.longest:
                return None
            if answer.pieces is None and answer.thought and not answer.said:
                answer.said.append(answer.thought)
                return answer.thought
            started_s = time.perf_counter()
            if answer.pieces is None:
                cut = answer.dropped > 0 and self._settings.when_full == "shift"
                answer.prefilled = self._model.prefill(answer.prompt, answer.cancel, cut)
                answer.pieces = self._model.generate((1 + _THOUGHT) * answer.longest, answer.cancel)
            token, text = next(answer.pieces, (-1, ""))
            if token < 0 or answer.may_end_before(text):
                return None
            now_s = time.perf_counter()
            if answer.ttft_ms is None:
                answer.ttft_ms = (now_s - answer.called_s) * 1000
            else:
                answer.writing_s += now_s - started_s
            answer.add(token, text)
            return text

    def _settle(self) -> None:
        """What is being written ends here; an answer enters the history."""
        away, self._away = self._away, None
        if away is not None and not self._model.closed:
            self._model.take_back(away)
        answer, self._answer = self._answer, None
        if answer is None:
            return
        self._history.append(answer.message())
        self._stats = answer.stats()

    def aside(
        self, messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None
    ) -> str:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if self._model.closed:
                raise InferenceError("The model is closed.")
            return self._asides.ask(messages, cancel, max_tokens, grammar)

    def rest(self, cancel: CancelToken) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if self._model.closed:
                return
            probe = Message("user", _QUESTION)
            n_reply = self._settings.max_reply_tokens
            prompt = self._prompts.fit(self.system, [*self._history, probe], n_reply, examples=self._examples)
            gone = self._history[: prompt.n_dropped]
            if gone and self._settings.summarise:
                summary = self._asides.summary(self._summary, gone, self._settings.language, cancel)
                if cancel.is_set():
                    return
                self._summary = summary
            self._history = self._history[len(gone) :]
            self._forgotten += len(gone) // 2
            ahead = self._prompts.beginning(self.system, [*self._examples, *self._history])
            if common_length(self._model.tokens, ahead) < len(ahead) < self._model.n_ctx:
                self._model.prefill(ahead, cancel)

    def generate_raw(self, prompt: str, cancel: CancelToken, max_tokens: int | None = None) -> Iterator[str]:
        """See ChatSession."""
        with self._lock:
            self._settle()
            self._away = away = self._model.put_away()
            pieces = self._model.generate_raw(prompt, cancel, max_tokens)
        try:
            while True:
                with self._lock:
                    piece = next(pieces, None) if self._away is away else None
                if piece is None:
                    return
                yield piece
        finally:
            with self._lock:
                if self._away is away:
                    self._settle()

    def amend_last_reply(self, heard: str) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if len(self._history) < 2:
                return
            if not heard.strip():
                del self._history[-2:]
            elif not self._model.closed:
                self._history[-1] = shortened(self._history[-1], heard.strip(), self._model.vocabulary)

    def forget(self, first: int, end: int) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            roles = [message.role for message in self._history[first:end]]
            if not 0 <= first < end <= len(self._history) or roles != ["user", "assistant"] * ((end - first) // 2):
                raise IndexError(f"no whole exchanges from {first} to {end}")
            del self._history[first:end]

    @property
    def history(self) -> list[Message]:
        """See ChatSession. From any thread; an answer enters it when it has ended."""
        return list(self._history)

    @property
    def system(self) -> Message:
        """See ChatSession."""
        settings = self._settings
        return Message("system", system_prompt(settings.persona, settings.language, self._facts, self._summary))

    @property
    def _examples(self) -> list[Message]:
        """How Kazeia answers; none with a persona of the user's own, and where they would fill the context."""
        settings = self._settings
        if settings.persona.strip() or self._model.n_ctx < _ROOM_FOR_EXAMPLES:
            return []
        return [
            Message(role, text) for pair in EXAMPLES[settings.language] for role, text in zip(_ROLES, pair, strict=True)
        ]

    def restore(self, history: Sequence[Message]) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            turns: list[Message] = []
            for message in history:
                if message.role == ("user", "assistant")[len(turns) % 2]:
                    turns.append(Message(message.role, message.text, note=message.note))
            self._history = turns[: len(turns) // 2 * 2]
            self._summary = ""

    def record(self, user_text: str, answer: str) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if self._history and not self._history[-1].text:
                del self._history[-2:]  # stopped before a word: the question was withdrawn
            question = unicodedata.normalize("NFC", user_text).strip()
            self._history += [Message("user", question), Message("assistant", answer.strip())]

    def apply_facts(self, text: str) -> None:
        """See ChatSession. From any thread."""
        room = self._model.n_ctx // 4
        while text and len(self._model.tokenize(text, special=False)) > room:
            text = text[: len(text) * 3 // 4]
        self._facts = text

    def save_state(self, path: Path, max_bytes: int | None = None) -> bool:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if self._model.closed:
                return False
            history = self._history
            if history and not history[-1].text:
                history = history[:-2]  # stopped before a word: the question was withdrawn
            # Not what the next question does not begin with: words that nobody heard, or that were taken back.
            ahead = self._prompts.beginning(self.system, [*self._examples, *history])
            self._model.context.keep(common_length(self._model.tokens, ahead))
            return self._model.save_state(path, packed(history, self._summary), max_bytes)

    def load_state(self, path: Path) -> bool:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if self._model.closed or (note := self._model.state_note(path)) is None:
                return False
            saved, summary = unpacked(note)
            history = joined(saved, self._history, self._model.vocabulary)
            if history is None or not self._model.load_state(path):
                return False
            self._history, self._summary = history, summary
            return True

    def reset(self) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            self._history = []
            self._summary = ""

    @property
    def stats(self) -> ReplyStats:
        """See ChatSession."""
        return self._stats

    def apply(self, settings: LlmSettings) -> None:
        """See ChatSession. From any thread."""
        self._settings = settings
        self._model.use(settings)

    def close(self) -> None:
        """See ChatSession. Waits for the token that is being computed."""
        with self._lock:
            self._settle()
            self._model.close()
