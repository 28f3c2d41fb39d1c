"""A conversation that remembers, and reads only what is new."""

import logging
import re
import threading
import time
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.base import ReplyStats
from kazeia_desktop.llm.chat_template import ChatTemplate, Message
from kazeia_desktop.llm.llama import LlamaModel, common_length
from kazeia_desktop.llm.prompts import system_prompt
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings

_log = logging.getLogger(__name__)

_OPENINGS: Final = ("<think>", "<thinking>", "<thought>", "<reasoning>")  # as text.think_filter knows them
_NAMES: Final = "(?:think|thinking|thought|reasoning)"
_REASONING: Final = re.compile(rf"<{_NAMES}\s*>.*?(?:</{_NAMES}\s*>|\Z)|</{_NAMES}\s*>", re.DOTALL | re.IGNORECASE)
_THINKING: Final = re.compile(rf"\s*<{_NAMES}\s*>(?!.*</{_NAMES}\s*>)", re.DOTALL | re.IGNORECASE)
_THOUGHT: Final = 4
"""A model that thinks aloud may think as many times longer than it may answer."""
_KEPT_WHEN_FULL: Final = 0.7
"""Of the room for the prompt: dropping a little more than needed saves dropping every turn."""


@dataclass(slots=True)
class _Answer:
    """An answer that is being written."""

    prompt: list[int]
    opening: str
    cancel: CancelToken
    called_s: float
    dropped: int
    longest: int
    pieces: Iterator[tuple[int, str]] | None = None
    prefilled: int = 0
    said: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    spent: int = 0  # tokens of `longest`: all but those of a thought
    thinks: bool = True  # it may begin with a thought
    ttft_ms: float | None = None
    writing_s: float = 0.0

    def stats(self) -> ReplyStats:
        n = len(self.tokens)
        speed = (n - 1) / self.writing_s if n > 1 and self.writing_s > 0 else None
        return ReplyStats(self.prefilled, n, self.ttft_ms, speed, self.dropped)


def _is_thinking(said: str) -> bool:
    """Whether an answer so far is, or may become, a thought that is not closed."""
    begun = said.lstrip().lower()
    return any(tag.startswith(begun) for tag in _OPENINGS) or bool(_THINKING.match(said))


class LlamaChatSession:
    """ChatSession on llama.cpp.

    Args:
        gguf: the model's file.
        share: tells how many cores the voice leaves; None: all.
    Raises:
        ModelError: what is wrong with it.
    """

    def __init__(self, gguf: Path, settings: LlmSettings, share: CoreShare | None = None) -> None:
        self._lock = threading.Lock()  # held for a step, never while a reader looks at a piece
        self._settings = settings
        self._model = LlamaModel(gguf, settings, share)
        try:
            model = self._model
            self._template = ChatTemplate(
                model.chat_template(), model.token_text(model.bos), model.token_text(model.eos)
            )
            self._history: list[Message] = []
            self._opening = ""
            self._answer: _Answer | None = None
            self._stats = ReplyStats(0, 0, None, None)
            self._read_system_prompt()
        except BaseException:
            self._model.close()
            raise

    def _read_system_prompt(self) -> None:
        """Before anybody speaks: the first question then waits for its own tokens only."""
        one, other = (
            self._tokens(self._template.parts([self._system(), Message("user", text)])) for text in ("Moi", "?")
        )
        shared = common_length(one, other)
        if 0 < shared < self._model.n_ctx:
            self._model.prefill(one[:shared], CancelToken())

    def _system(self) -> Message:
        return Message("system", system_prompt(self._settings.persona, self._settings.language))

    def _tokens_of(self, part: str | Message) -> list[int]:
        if isinstance(part, str):
            return self._model.tokenize(part, special=True)
        return list(part.tokens) or self._model.tokenize(part.text, special=False)

    def _tokens(self, parts: Sequence[str | Message]) -> list[int]:
        tokens = [token for part in parts for token in self._tokens_of(part)]
        bos = self._model.bos
        if self._model.adds_bos and bos >= 0 and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return tokens

    def _prompt(self) -> tuple[list[int], int]:
        """Tokens for the next answer, and how many turns were dropped from the history to make them fit.

        Raises:
            InferenceError: the last message alone, or the persona, is too long.
        """
        room = self._model.n_ctx - min(self._settings.max_reply_tokens, self._model.n_ctx // 4)
        limit, dropped = room, 0
        while True:
            parts = self._template.parts([self._system(), *self._history])
            tokens = self._tokens(parts)
            if len(tokens) <= limit or (len(self._history) < 3 and len(tokens) <= room):
                self._opening = parts[-1] if isinstance(parts[-1], str) else ""
                return tokens, dropped
            if len(self._history) < 3:
                raise self._too_long(len(tokens), room)
            limit = int(room * _KEPT_WHEN_FULL)
            del self._history[:2]  # a question and its answer
            dropped += 1

    def _too_long(self, n: int, room: int) -> InferenceError:
        system = len(self._tokens_of(self._system()))
        if system > room // 2 and self._settings.persona.strip():
            return InferenceError(
                "The persona is too long: {n} tokens of {room}. Shorten the setting llm.persona, or raise llm.n_ctx.",
                n=system,
                room=room,
            )
        return InferenceError(
            "The message is too long: {n} tokens, and {room} fit. Shorten it, or raise the setting llm.n_ctx.",
            n=n,
            room=room,
        )

    def reply(self, user_text: str, cancel: CancelToken) -> Iterator[str]:
        """See ChatSession. An answer that was begun before and not read to its end counts as ended."""
        called_s = time.perf_counter()
        with self._lock:
            self._settle()
            answer = self._begin(user_text, cancel, called_s)
        try:
            while (piece := self._next(answer)) is not None:
                if piece:
                    yield piece
        finally:
            # Also when the reader stops reading: what was said stays in the history.
            with self._lock:
                if self._answer is answer:
                    self._settle()

    def _begin(self, user_text: str, cancel: CancelToken, called_s: float) -> _Answer:
        if self._model.closed:
            raise InferenceError("The model is closed.")
        if self._history and not self._history[-1].text:
            del self._history[-2:]  # stopped before a word: the question was withdrawn
        before = list(self._history)
        self._history.append(Message("user", unicodedata.normalize("NFC", user_text).strip()))
        try:
            prompt, dropped = self._prompt()
        except BaseException:
            self._history = before  # also the turns that were dropped in vain
            raise
        self._answer = _Answer(
            prompt, self._opening, cancel, called_s, dropped, longest=self._settings.max_reply_tokens
        )
        self._stats = self._answer.stats()
        return self._answer

    def _next(self, answer: _Answer) -> str | None:
        """Compute one more token; its text, or None at the end."""
        with self._lock:
            if self._answer is not answer or answer.spent >= answer.longest:
                return None
            started_s = time.perf_counter()
            if answer.pieces is None:
                answer.prefilled = self._model.prefill(answer.prompt, answer.cancel, cut=answer.dropped > 0)
                answer.pieces = self._model.generate((1 + _THOUGHT) * answer.longest, answer.cancel)
            token, text = next(answer.pieces, (-1, ""))
            if token < 0:
                return None
            now_s = time.perf_counter()
            if answer.ttft_ms is None:
                answer.ttft_ms = (now_s - answer.called_s) * 1000
            else:
                answer.writing_s += now_s - started_s
            answer.tokens.append(token)
            answer.said.append(text)
            if answer.thinks:
                answer.thinks = _is_thinking("".join(answer.said))
            answer.spent += not answer.thinks
            return text

    def _settle(self) -> None:
        """The answer that is being written ends here and enters the history."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        said = "".join(answer.said)
        visible = _REASONING.sub("", said)
        as_read = visible == said  # then the context holds what the history says
        self._history.append(
            Message(
                "assistant", visible.strip(), tuple(answer.tokens) if as_read else (), answer.opening if as_read else ""
            )
        )
        self._stats = answer.stats()

    def amend_last_reply(self, heard: str) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            if len(self._history) < 2:
                return
            if heard.strip():
                self._history[-1] = Message("assistant", heard.strip(), opening=self._history[-1].opening)
            else:
                del self._history[-2:]

    def reset(self) -> None:
        """See ChatSession."""
        with self._lock:
            self._settle()
            self._history.clear()

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
