"""The model's state at the end of a conversation, beside it, so that going on with it is instant.

A state is two files: what llama.cpp wrote, and a header that says which model, which build and which context it
fits and what its bytes are. A file that does not fit or is not what was written is removed: the conversation is
then read anew. A state holds the conversation's words as tokens: it goes when the conversation goes.
"""

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

_VERSION: Final = 1
_SAMPLED: Final = 64
_SAMPLE: Final = 64 * 1024
MIN_TOKENS: Final = 256
"""A shorter conversation is read as fast as a file."""


@dataclass(frozen=True, slots=True)
class StateKey:
    """What a state fits: model file (see `fingerprint`), llama.cpp's build, and the context's form."""

    model: str
    build: str
    kv_type: str
    n_ctx: int
    flash_attention: bool


def fingerprint(model: Path) -> str:
    """Tells model files apart without reading gigabytes: size, the header and 64 places evenly spread.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    size = model.stat().st_size
    digest.update(str(size).encode())
    with model.open("rb") as file:
        digest.update(file.read(1 << 20))
        for part in range(_SAMPLED):
            file.seek(size * part // _SAMPLED)
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


class StateFiles:
    """The states of one installation. One thread at a time; other processes may share the folder.

    Args:
        folder: made when a state is first saved.
        max_bytes: of all states together; the ones used longest ago go first. 0 keeps none.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self.max_bytes = max_bytes

    def save(self, conversation: int, key: StateKey, write: Callable[[Path], object]) -> bool:
        """Keep the state of a conversation in place of an older one; whether it was kept.

        A state is a convenience: whatever goes wrong is logged and the conversation is read anew next time.

        Args:
            write: writes the state to a path. May raise OSError.
        """
        self.remove(conversation)
        if self.max_bytes <= 0:
            return False
        header, state = self._places(conversation)
        temporary = state.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write(temporary)
            size = temporary.stat().st_size
            if size > self.max_bytes:
                return False
            about = {"version": _VERSION, "bytes": size, "sha256": _digest(temporary), **asdict(key)}
            temporary.replace(state)
            header.write_text(json.dumps(about), "utf-8")  # last: a state without its header is not used
        except OSError as error:
            _log.info("the state of a conversation is not kept: %s", error.strerror)
            return False
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        self.trim()
        return header.exists()

    def load(self, conversation: int, key: StateKey, read: Callable[[Path], bool]) -> bool:
        """Give the state of a conversation back to the model; whether it could be used.

        One that does not fit, is damaged, or that `read` refuses is removed.

        Args:
            read: loads the state from a path; false when the model refuses it.
        """
        header, state = self._places(conversation)
        try:
            about = json.loads(header.read_text("utf-8"))
            expected = {"version": _VERSION, **asdict(key)}
            fits = isinstance(about, dict) and all(about.get(name) == value for name, value in expected.items())
            whole = fits and about.get("bytes") == state.stat().st_size and about.get("sha256") == _digest(state)
            if whole and read(state):
                os.utime(header)  # used now
                return True
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            _log.info("the state of a conversation cannot be read: %s", type(error).__name__)
        self.remove(conversation)
        return False

    def remove(self, conversation: int) -> None:
        """Forget the state of a conversation, if there is one."""
        for place in self._places(conversation):
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Forget every state."""
        for _, conversation, _ in self._kept():
            self.remove(conversation)

    def trim(self) -> None:
        """Remove the states used longest ago until all fit into `max_bytes`, and what an interrupted save left."""
        kept = sorted(self._kept())
        total = sum(size for _, _, size in kept)
        for _, conversation, size in kept:
            if total <= self.max_bytes:
                break
            self.remove(conversation)
            total -= size
        with contextlib.suppress(OSError):
            for state in self._folder.glob("*.state"):
                if not state.with_suffix(".json").exists():
                    state.unlink(missing_ok=True)

    def _kept(self) -> list[tuple[float, int, int]]:
        """(used at, conversation, bytes) of each state."""
        kept = []
        for header in self._folder.glob("*.json") if self._folder.is_dir() else ():
            with contextlib.suppress(OSError, ValueError):
                state = header.with_suffix(".state")
                size = state.stat().st_size if state.exists() else 0
                kept.append((header.stat().st_mtime, int(header.stem), size))
        return kept

    def _places(self, conversation: int) -> tuple[Path, Path]:
        return self._folder / f"{conversation}.json", self._folder / f"{conversation}.state"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
