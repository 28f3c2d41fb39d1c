"""What the conversation needs of a language model."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings


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

    def reply(self, user_text: str, cancel: CancelToken) -> Iterator[str]:
        """Append the user's message and stream the answer as the model writes it.

        Reasoning is still in it, for `text.think_filter` to remove. The user's message and what was
        yielded, without reasoning, enter the history, also when cancelled: iteration then just ends.
        Whole oldest turns are dropped when the context is full.

        Raises:
            InferenceError: the model failed.
        """
        ...

    def amend_last_reply(self, heard: str) -> None:
        """After a barge-in: replace the last answer by what was heard of it.

        When nothing was heard, the whole last exchange leaves the history: its question is asked again
        or was withdrawn.
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
