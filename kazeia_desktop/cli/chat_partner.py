"""Who answers in `kazeia chat`: the tools, or the model with what it remembers."""

import sys
from collections.abc import Iterator

from kazeia_desktop.cli.output import keep_setting
from kazeia_desktop.events import Event, Notice, TurnEnded, UserText
from kazeia_desktop.llm.base import ChatSession
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value
from kazeia_desktop.translations import system_language, translate


class Partner:
    """A session with tools and memory. One thread; timers that are due are told on stderr.

    Attributes:
        by_tool: whether a tool gave the last answer.
    """

    def __init__(self, session: ChatSession, paths: Paths, settings: Settings, tools: bool) -> None:
        self._session = session
        self._paths = paths
        self._settings = settings
        self._memory = Memory(paths, settings.privacy, _tell)
        self._errands = Errands(paths.alarms_file, settings) if tools else None
        self._turn = 0
        self._busy = False
        self.by_tool = False
        if self._errands is not None:
            self._errands.start(self._announce, self._change)

    def resume(self, conversation: int) -> None:
        """Go on with a kept conversation. Raises StorageError: there is none."""
        self._memory.open(conversation, self._session, self._reserve)

    def _reserve(self, n: int) -> int:
        """The first of n turn ids, which count on behind them."""
        first = self._turn + 1
        self._turn += n
        return first

    def reply(self, message: str, cancel: CancelToken) -> Iterator[str]:
        """The answer as it is written, reasoning still in it. Raises InferenceError."""
        self._busy = True
        try:
            self._memory.before_reply(self._session)
            outcome = None if self._errands is None else self._errands.answer(message, self._session.aside, cancel)
            self.by_tool = outcome is not None
            if outcome is None:
                yield from self._session.reply(message, cancel)
            else:
                self._session.record(message, outcome.said)
                yield outcome.said
            self._keep(message, cancel)
        finally:
            self._busy = False

    def _keep(self, message: str, cancel: CancelToken) -> None:
        history = self._session.history
        said = history[-1].text if history else ""
        self._turn += 1
        self._memory.hear(UserText(self._turn, message, self._settings.llm.language))
        self._memory.hear(TurnEnded(self._turn, said, "interrupted" if cancel.is_set() else "done", {}))

    def close(self) -> None:
        """End the timers and keep what the session knows; the session stays open."""
        if self._errands is not None:
            self._errands.close()
        self._memory.leave(self._session)
        self._memory.close()

    def _announce(self, said: str) -> bool:
        if not self._busy:
            sys.stderr.write(f"Kazeia: {said}\n")
        return not self._busy

    def _change(self, key: str, value: float) -> None:
        self._settings = with_value(self._settings, key, value)
        if self._errands is not None:
            self._errands.apply(self._settings)
        keep_setting(self._paths, key, value)


def _tell(event: Event) -> None:
    if isinstance(event, Notice):
        sys.stderr.write(f"kazeia: {translate(event.template, system_language(), **event.values)}\n")
