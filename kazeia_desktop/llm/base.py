"""What the conversation needs of a language model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    role: "system", "user" or "assistant". note: what the model reads after the text though nobody said it (the
    result of a tool).
    tokens: of the text, where they are known. opening: of an answer, the template's text that it was written
    after; templates write some things (an empty thought) before a new answer but not before an old one, and
    what the model has read stays. Both belong to one model.
    """

    role: str
    text: str
    tokens: tuple[int, ...] = ()
    opening: str = ""
    note: str = ""

    @property
    def read(self) -> str:
        """What the model reads."""
        return f"{self.text}\n\n{self.note}" if self.note else self.text


@dataclass(frozen=True, slots=True)
class ReplyStats:
    """Figures of the last reply. ttft_ms: from the call to the first token; None before it."""

    prefilled_tokens: int
    generated_tokens: int
    ttft_ms: float | None
    tokens_per_s: float | None
    dropped_turns: int = 0


class ChatSession(Protocol):
    """A conversation with a model that remembers it. One thread at a time, but `apply` may come from any."""

    def reply(self, user_text: str, cancel: CancelToken, note: str = "") -> Iterator[str]:
        """Append the user's message and stream the answer as the model writes it.

        Reasoning is still in it, for `text.think_filter` to remove. The user's message and what was
        yielded, without reasoning, enter the history, also when cancelled: iteration then just ends.
        Whole oldest turns are dropped when the context is full.

        Args:
            note: read with the message, see Message.
        Raises:
            InferenceError: the model failed.
        """
        ...

    def read_ahead(self, user_text: str, cancel: CancelToken) -> None:
        """Read what the user has probably finished saying: a `reply` to it then waits for its first token only.

        Nothing is remembered of it, and nothing lost when he goes on. Not done where the oldest turns would have to
        be dropped for it.

        Args:
            cancel: to be set when he goes on; what was read until then stays read.
        Raises:
            InferenceError: the model failed, or the text is too long.
        """
        ...

    def regenerate(self, cancel: CancelToken) -> Iterator[str]:
        """Answer the last question once more, as `reply` does; nothing when there is none."""
        ...

    def edit(self, index: int, user_text: str, cancel: CancelToken) -> Iterator[str]:
        """Put another text in the place of the user's message `history[index]`, forget what came after, and answer.

        Raises:
            IndexError: that is no message of the user's.
        """
        ...

    def aside(
        self, messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None
    ) -> str:
        """The likeliest answer to other messages (a system message first); the conversation knows nothing of it.

        Oldest turns of the messages are left out until they fit. Reasoning is not in it. What was made until then
        when cancelled.

        Args:
            grammar: GBNF with the rule `root`: the answer has this form, unless it was cut by `max_tokens`.
        Raises:
            InferenceError: the model failed, the messages are too long, or the grammar cannot be read.
        """
        ...

    def rest(self, cancel: CancelToken) -> None:
        """Work ahead while nobody waits, so that the next question waits for its own tokens only.

        Reads what the model does not hold of the conversation (after a change of persona, another model, a
        conversation taken up again). Drops oldest turns when the next question would not fit, and sums them up
        where the settings say so; the next reply's `dropped_turns` counts them.

        Args:
            cancel: to be set as soon as somebody speaks; what was read until then stays read.
        Raises:
            InferenceError: the model failed, or the persona is too long.
        """
        ...

    def generate_raw(self, prompt: str, cancel: CancelToken, max_tokens: int | None = None) -> Iterator[str]:
        """Continue a text as it stands, without template or history, until the model's own end.

        Args:
            prompt: may hold the model's control tokens.
            max_tokens: default: the settings' longest reply.
        Raises:
            InferenceError: the model failed, or the prompt is too long.
        """
        ...

    def amend_last_reply(self, heard: str) -> None:
        """After a barge-in: replace the last answer by what was heard of it.

        When nothing was heard, the whole last exchange leaves the history: its question is asked again
        or was withdrawn.
        """
        ...

    def forget(self, first: int, end: int) -> None:
        """Take whole exchanges out of the history: the messages `first` up to, without, `end`.

        What was computed of the messages before them stays.

        Raises:
            IndexError: `first` is no message of the user's, or between them are no whole exchanges.
        """
        ...

    @property
    def history(self) -> list[Message]:
        """The messages of user and assistant in turn, without the system's; a copy."""
        ...

    @property
    def system(self) -> Message:
        """The system's message: persona and facts."""
        ...

    def restore(self, history: Sequence[Message]) -> None:
        """Go on from another history: question and answer in turn, ending with an answer. What is not so is left out.

        Tokens and openings that the messages bring are ignored: they may be another model's.
        """
        ...

    def record(self, user_text: str, answer: str) -> None:
        """Append an exchange that was answered without the model; it reads it with the next reply."""
        ...

    def apply_facts(self, text: str) -> None:
        """What the system prompt says of the user besides the persona, from the next turn on; "" for nothing.

        At most a quarter of the context: the rest is left out.
        """
        ...

    def save_state(self, path: Path, max_bytes: int | None = None) -> bool:
        """Write what the model has computed of the conversation, so that a later `load_state` spares it.

        Returns:
            False when there is nothing to write, more than max_bytes, or the file cannot be written; there is then
            none.
        """
        ...

    def load_state(self, path: Path) -> bool:
        """After `restore`: take over what `save_state` wrote where it fits this model, as far as this history agrees.

        Returns:
            False when nothing of it fits, or it is damaged: the history is then read anew with the next reply.
        """
        ...

    def reset(self) -> None:
        """Forget the conversation, keep the system prompt."""
        ...

    @property
    def stats(self) -> ReplyStats:
        """Figures of the last reply."""
        ...

    def apply(self, settings: LlmSettings) -> None:
        """Take over the settings that need no reload (sampler, threads, persona)."""
        ...

    def close(self) -> None:
        """Free the model; closing twice is harmless."""
        ...
