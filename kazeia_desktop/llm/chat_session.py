"""A conversation that remembers, and reads only what is new."""

import logging
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.base import ReplyStats
from kazeia_desktop.llm.chat_template import ChatTemplate, Message
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.prompts import system_prompt
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings

_log = logging.getLogger(__name__)

_REASONING: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)\s*", re.DOTALL | re.IGNORECASE)
_KEPT_WHEN_FULL: Final = 0.7
"""Of the room for the prompt: dropping a little more than needed saves reading all anew every turn."""


class LlamaChatSession:
    """ChatSession on llama.cpp.

    Args:
        gguf: the model's file.
    Raises:
        ModelError: what is wrong with it.
    """

    def __init__(self, gguf: Path, settings: LlmSettings) -> None:
        self._lock = threading.Lock()
        self._settings = settings
        self._model = LlamaModel(gguf, settings)
        try:
            model = self._model
            self._template = ChatTemplate(
                model.chat_template(), model.token_text(model.bos), model.token_text(model.eos)
            )
        except BaseException:
            self._model.close()
            raise
        self._history: list[Message] = []
        self._stats = ReplyStats(0, 0, None, None)
        self._read_system_prompt()

    def _read_system_prompt(self) -> None:
        """Before anybody speaks: the first question then waits for its own tokens only."""
        system = self._system()
        parts = self._template.parts([system, Message("user", "")])
        tokens: list[int] = []
        for part in parts:
            if isinstance(part, Message) and part.role == "user":
                break
            tokens += self._tokens_of(part)
        if 0 < len(tokens) < self._model.n_ctx:
            self._model.prefill(tokens, CancelToken())

    def _system(self) -> Message:
        return Message("system", system_prompt(self._settings.persona, self._settings.language))

    def _tokens_of(self, part: str | Message) -> list[int]:
        if isinstance(part, str):
            return self._model.tokenize(part, special=True)
        return list(part.tokens) or self._model.tokenize(part.text, special=False)

    def _prompt(self) -> tuple[list[int], int]:
        """Tokens for the next reply, and how many turns were dropped to make them fit.

        Raises:
            InferenceError: the last message alone is too long.
        """
        room = self._model.n_ctx - min(self._settings.max_reply_tokens, self._model.n_ctx // 4)
        limit, dropped = room, 0
        while True:
            parts = self._template.parts([self._system(), *self._history])
            tokens = [token for part in parts for token in self._tokens_of(part)]
            bos = self._model.bos
            if self._model.adds_bos and bos >= 0 and tokens[:1] != [bos]:
                tokens.insert(0, bos)
            if len(tokens) <= limit:
                return tokens, dropped
            if len(self._history) < 3:
                if len(tokens) <= room:
                    return tokens, dropped
                raise InferenceError(
                    "The message is too long: {n} tokens, and {room} fit. Shorten it, or raise the setting llm.n_ctx.",
                    n=len(tokens),
                    room=room,
                )
            limit = int(room * _KEPT_WHEN_FULL)
            del self._history[:2]  # a question and its answer
            dropped += 1

    def reply(self, user_text: str, cancel: CancelToken) -> Iterator[str]:
        """See ChatSession."""
        with self._lock:
            if self._model.closed:
                raise InferenceError("The model is closed.")
            started = time.perf_counter()
            self._history.append(Message("user", user_text.strip()))
            try:
                prompt, dropped = self._prompt()
            except InferenceError:
                self._history.pop()
                raise
            self._stats = ReplyStats(0, 0, None, None, dropped)
            made: list[int] = []
            said: list[str] = []
            n_prefilled = 0
            ttft_ms: float | None = None
            first_s = 0.0
            try:
                n_prefilled = self._model.prefill(prompt, cancel)
                if not cancel.is_set():
                    for token, text in self._model.generate(self._settings.max_reply_tokens, cancel):
                        if ttft_ms is None:
                            first_s = time.perf_counter()
                            ttft_ms = (first_s - started) * 1000
                        if token >= 0:
                            made.append(token)
                        said.append(text)
                        if text:
                            yield text
            finally:
                # Also when the reader stops reading: what was said stays in the history.
                text = "".join(said)
                visible = _REASONING.sub("", text)
                kept = tuple(made) if visible == text else ()
                self._history.append(Message("assistant", visible.strip(), kept))
                spent_s = time.perf_counter() - first_s
                speed = (len(made) - 1) / spent_s if len(made) > 1 and spent_s > 0 else None
                self._stats = ReplyStats(n_prefilled, len(made), ttft_ms, speed, dropped)

    def amend_last_reply(self, heard: str) -> None:
        """See ChatSession."""
        with self._lock:
            if len(self._history) < 2:
                return
            if heard.strip():
                self._history[-1] = Message("assistant", heard.strip())
            else:
                del self._history[-2:]

    def reset(self) -> None:
        """See ChatSession."""
        with self._lock:
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
        """See ChatSession."""
        with self._lock:
            self._model.close()
