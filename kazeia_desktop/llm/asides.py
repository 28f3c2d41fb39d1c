"""Questions to the model that are not the conversation's."""

from collections.abc import Sequence

from kazeia_desktop.llm.answer import visible_text
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.context import PutAway, common_length
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.prompt import PromptWriter
from kazeia_desktop.llm.prompts import SUMMARY
from kazeia_desktop.runtime.cancel import CancelToken

_SUMMARY_TOKENS = 90


class Asides:
    """Asks a model something and leaves its context as it was. One thread at a time, and nothing else meanwhile."""

    def __init__(self, model: LlamaModel, prompts: PromptWriter) -> None:
        self._model = model
        self._prompts = prompts
        self._last: PutAway | None = None  # asides are mostly alike in their beginning

    def ask(self, messages: Sequence[Message], cancel: CancelToken, max_tokens: int, grammar: str | None = None) -> str:
        """See ChatSession.aside."""
        prompt = self._prompts.fit(messages[0], messages[1:], max_tokens).tokens
        away = self._model.put_away()
        try:
            same = common_length(self._last.tokens, prompt) if self._last is not None else 0
            if self._last is not None and same > common_length(away.tokens, prompt):
                self._model.take_back(self._last)
            self._model.prefill(prompt, cancel, mark=same)
            pieces = self._model.generate(max_tokens, cancel, grammar, greedy=True)
            return visible_text("".join(text for _, text in pieces)).strip()
        finally:
            self._last = self._model.put_away()
            self._model.take_back(away)

    def summary(self, before: str, turns: Sequence[Message], language: str, cancel: CancelToken) -> str:
        """Some turns, and what was said before them, in a sentence or two; "" when cancelled."""
        words = SUMMARY[language]
        lines = [f"{words.user if m.role == 'user' else 'Kazeia'} : {m.text}" for m in turns]
        most = self._model.n_ctx // 3
        while len(lines) > 1 and self._length(before, lines) > most:
            del lines[0]
        told = "\n".join(filter(None, [before, *lines]))
        if self._length(told, ()) > most:
            told = told[-most:]  # a token is a character or more
        messages = [Message("system", words.task), Message("user", f"{told}\n\n{words.question}")]
        said = self.ask(messages, cancel, _SUMMARY_TOKENS)
        return "" if cancel.is_set() else " ".join(said.split())

    def _length(self, before: str, lines: Sequence[str]) -> int:
        return len(self._model.tokenize("\n".join([before, *lines]), special=False))
