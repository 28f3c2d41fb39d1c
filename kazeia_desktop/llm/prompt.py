"""A conversation as the tokens that the model reads, made to fit its context."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.chat_template import ChatTemplate, open_thought
from kazeia_desktop.llm.context import common_length
from kazeia_desktop.llm.vocabulary import Vocabulary

_KEPT_WHEN_FULL: Final = 0.7
"""Of the room for the prompt: dropping a little more than needed saves dropping every turn."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """opening: the template's text that the answer is written after. thought: the tag of a thought that it opens.

    n_dropped: messages left out at the beginning.
    """

    tokens: list[int]
    opening: str
    thought: str = ""
    n_dropped: int = 0


class PromptWriter:
    """Writes the prompts of one model.

    Raises:
        ModelIncompatibleError: it has no chat template, or one that cannot be used.
    """

    def __init__(self, template: str | None, vocabulary: Vocabulary, n_ctx: int) -> None:
        self._vocabulary = vocabulary
        self._template = ChatTemplate(template, vocabulary.text(vocabulary.bos), vocabulary.text(vocabulary.eos))
        self._n_ctx = n_ctx

    def tokens_of(self, part: str | Message) -> list[int]:
        """Of the template's own text, or of a message's."""
        if isinstance(part, str):
            return self._vocabulary.tokenize(part, special=True)
        return list(part.tokens) or self._vocabulary.tokenize(part.read, special=False)

    def write(self, messages: Sequence[Message], thinking: bool = False) -> Prompt:
        """The prompt for an answer to `messages`, a system message first, whatever its length.

        Args:
            thinking: let a model that has the switch think first.
        Raises:
            ModelIncompatibleError: the template fails on them.
        """
        parts = self._template.parts(messages, thinking)
        tokens = [token for part in parts for token in self.tokens_of(part)]
        bos = self._vocabulary.bos
        if self._vocabulary.adds_bos and bos >= 0 and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        opening = parts[-1] if isinstance(parts[-1], str) else ""
        return Prompt(tokens, opening, open_thought(opening))

    def beginning(self, system: Message, history: Sequence[Message] = ()) -> list[int]:
        """What the next prompt begins with, whatever will be asked."""
        one, other = (self.write([system, *history, Message("user", text)]).tokens for text in ("Moi", "?"))
        return one[: common_length(one, other)]

    def fit(
        self,
        system: Message,
        history: Sequence[Message],
        n_reply: int,
        thinking: bool = False,
        examples: Sequence[Message] = (),
    ) -> Prompt:
        """The prompt for an answer of up to `n_reply` tokens; oldest turns are left out until it fits.

        Args:
            examples: questions and answers that stand before the conversation and are never left out.
        Raises:
            InferenceError: the last message alone, or the system's, is too long.
        """
        room = self._n_ctx - min(n_reply, self._n_ctx // 4)
        n_dropped = self._surely_dropped(history, room)
        limit = int(room * _KEPT_WHEN_FULL) if n_dropped else room
        while True:
            prompt = self.write([system, *examples, *history[n_dropped:]], thinking)
            n, left = len(prompt.tokens), len(history) - n_dropped
            if n <= limit or (left < 3 and n <= room):
                return replace(prompt, n_dropped=n_dropped)
            if left < 3:
                raise self._too_long(n, room, system)
            limit = int(room * _KEPT_WHEN_FULL)
            n_dropped += 2  # a question and its answer

    def _surely_dropped(self, history: Sequence[Message], room: int) -> int:
        """How many of the oldest messages cannot fit, by their own tokens alone.

        A conversation of thousands of turns, taken up again, is otherwise written once for each turn that is left out.
        """
        n_whole = 0
        kept_from = len(history)
        for at in range(len(history) - 1, -1, -1):
            n_whole += len(self.tokens_of(history[at]))
            if n_whole <= int(room * _KEPT_WHEN_FULL):
                kept_from = at
            if n_whole > room:
                return min(kept_from + kept_from % 2, max(0, (len(history) - 1) // 2 * 2))
        return 0

    def _too_long(self, n: int, room: int, system: Message) -> InferenceError:
        n_system = len(self.tokens_of(system))
        if n_system > room // 2:
            return InferenceError(
                "The persona is too long: {n} tokens of {room}. Shorten the setting llm.persona, or raise llm.n_ctx.",
                n=n_system,
                room=room,
            )
        return InferenceError(
            "The message is too long: {n} tokens, and {room} fit. Shorten it, or raise the setting llm.n_ctx.",
            n=n,
            room=room,
        )
