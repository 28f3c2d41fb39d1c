"""llama.cpp's own words: kept for the reason of a failed load, never printed."""

import ctypes
import logging
import re
import threading
from collections import deque
from typing import Final

import llama_cpp

_log = logging.getLogger(__name__)

_WARNING: Final = 3  # GGML_LOG_LEVEL_WARN
_CONTINUED: Final = 5  # GGML_LOG_LEVEL_CONT: goes on with the line before
_LONGEST: Final = 200
_WHO: Final = re.compile(r"^[a-z_0-9:~]+: ")  # the C function that speaks
_TELLING: Final = re.compile(r"^(?:error loading (?:model|vocab)[a-z ]*: |error: )+")
_HOLLOW: Final = re.compile(r"^failed to (?:load|initialize|create|open) (?:the )?(?:model|context)")
"""Lines that only say that it failed; those before them say why."""


class SpokenLines:
    """The last warnings and errors of llama.cpp, for one line that says why something failed.

    Safe from any thread; llama.cpp's are its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=30)
        self._keeps = False

    def hear(self, level: int, text: str) -> None:
        """A piece of log, as ggml hands it out: a line, or with level 5 the rest of one."""
        line = text.strip()
        if not line:
            return
        with self._lock:
            if level == _CONTINUED:
                if self._keeps and self._lines:
                    self._lines[-1] += " " + line
                return
            self._keeps = level >= _WARNING
            if self._keeps:
                self._lines.append(line)

    def forget(self) -> None:
        """What was said so far has nothing to do with what comes."""
        with self._lock:
            self._lines.clear()
            self._keeps = False

    def reason(self, otherwise: str) -> str:
        """The most telling line, without the C function's name, or `otherwise`."""
        with self._lock:
            heard = [_WHO.sub("", line) for line in self._lines]
        lines = [_WHO.sub("", _TELLING.sub("", line)) for line in heard]
        telling = [said for said, line in zip(lines, heard, strict=True) if _TELLING.match(line)]
        for some in (telling, lines):
            for line in reversed(some):
                if not _HOLLOW.match(line):
                    return _one_line(line)
        return _one_line(lines[-1]) if lines else otherwise


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]


SPOKEN: Final = SpokenLines()


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, user_data: object) -> None:
    words = text.decode("utf-8", "replace")
    SPOKEN.hear(level, words)
    if words.strip():
        _log.debug("llama.cpp: %s", words.strip())


llama_cpp.llama_log_set(_on_log, ctypes.c_void_p(0))  # the module keeps the callback alive
