"""The tools of a conversation, and what they do to it: timers speak when they are due, the volume changes."""

from collections.abc import Callable
from pathlib import Path

from kazeia_desktop.llm.tools.base import Ask, Outcome
from kazeia_desktop.llm.tools.timers import Pending, Timers
from kazeia_desktop.llm.tools.toolbox import Toolbox
from kazeia_desktop.llm.tools.understanding import TOOLS, understand
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings


class Errands:
    """Tools that belong to one conversation. `answer` in the language model's thread; the rest from any.

    Args:
        alarms_file: keeps alarms over a restart; None: nothing does.
    """

    def __init__(self, alarms_file: Path | None, settings: Settings) -> None:
        self._settings = settings
        self._announce: Callable[[str], bool] = lambda said: False
        self._change: Callable[[str, float], None] = lambda key, value: None
        self._timers = Timers(alarms_file, self._ring, lambda: self._settings.privacy.keep_conversations)
        self._tools = Toolbox(
            settings.tools,
            settings.llm.language,
            self._timers,
            lambda: self._settings.audio.volume,
            lambda value: self._change("audio.volume", value),
        )

    def start(self, announce: Callable[[str], bool], change: Callable[[str, float], None]) -> None:
        """The conversation goes on: alarms may ring.

        Args:
            announce: says a sentence of its own accord; false: not now, somebody speaks.
            change: changes a setting, "section.field".
        """
        self._announce, self._change = announce, change
        for language in ("fr", "en"):  # patterns are made now, not at the first request
            understand("", language, frozenset(TOOLS))
        self._timers.start()

    def apply(self, settings: Settings) -> None:
        """From the next request on."""
        self._settings = settings
        self._tools.apply(settings.tools, settings.llm.language)

    def answer(self, text: str, ask: Ask, cancel: CancelToken) -> Outcome | None:
        """See llm.tools.base.Tools."""
        return self._tools.answer(text, ask, cancel)

    def pending(self) -> list[Pending]:
        """Timers and alarms that will ring, the next first."""
        return self._timers.pending()

    def cancel(self, gone: list[Pending]) -> None:
        """Those of `pending` will not ring."""
        self._timers.remove(gone)

    def close(self) -> None:
        """Timers end; alarms stay for the next time."""
        self._timers.close()

    def _ring(self, pending: Pending) -> bool:
        return self._announce(self._tools.ringing(pending))
