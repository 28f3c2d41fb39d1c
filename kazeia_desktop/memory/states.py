"""The model's state at the end of a conversation, beside it, so that going on with it is instant.

Whoever writes a state makes sure that it is only read back where it fits; here it has its place and its end. A state
holds the conversation's words as tokens: it goes when the conversation goes.
"""

import contextlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

_ENDING: Final = ".state"


class StateFiles:
    """The states of one installation. One thread at a time; other processes may share the folder.

    A state is a convenience: whatever goes wrong here is logged, and the conversation is read anew next time.

    Args:
        folder: made when a state is first saved.
        max_bytes: of all states together; the ones used longest ago go first. 0 keeps none.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self.max_bytes = max_bytes

    def save(self, conversation: int, write: Callable[[Path, int], bool]) -> bool:
        """Keep the state of a conversation in place of an older one; whether it was kept.

        Args:
            write: writes the state to a path; false when it could not, or when it has more than so many bytes.
        """
        self.remove(conversation)
        if self.max_bytes <= 0:
            return False
        place = self._place(conversation)
        temporary = place.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # its words are the user's
            if not write(temporary, self.max_bytes) or temporary.stat().st_size > self.max_bytes:
                return False
            temporary.replace(place)
        except OSError as error:
            _log.info("the state of a conversation is not kept: %s", error.strerror)
            return False
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        self.trim()
        return True

    def load(self, conversation: int, read: Callable[[Path], bool]) -> bool | None:
        """Give the state of a conversation back to the model; whether it could be used. Else it is removed.

        None: there is none.

        Args:
            read: loads the state from a path; false where it does not fit or is damaged.
        """
        place = self._place(conversation)
        if not place.is_file():
            return None
        if read(place):
            with contextlib.suppress(OSError):
                os.utime(place)  # used now
            return True
        self.remove(conversation)
        return False

    def remove(self, conversation: int) -> None:
        """Forget the state of a conversation, if there is one."""
        with contextlib.suppress(OSError):
            self._place(conversation).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Forget every state."""
        for _, _, place in self._kept():
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)

    def trim(self) -> None:
        """Remove the states used longest ago until all fit into `max_bytes`."""
        kept = sorted(self._kept())
        total = sum(size for _, size, _ in kept)
        for _, size, place in kept:
            if total <= self.max_bytes:
                break
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)
                total -= size

    def _kept(self) -> list[tuple[float, int, Path]]:
        """(used at, bytes, file) of each state; also of what an interrupted save left."""
        kept = []
        for pattern in (f"*{_ENDING}", "*.tmp", "*.part") if self._folder.is_dir() else ():
            for place in self._folder.glob(pattern):
                with contextlib.suppress(OSError):
                    found = place.stat()
                    kept.append((found.st_mtime, found.st_size, place))
        return kept

    def _place(self, conversation: int) -> Path:
        return self._folder / f"{conversation}{_ENDING}"
