"""The note of facts: a text file that the user reads and edits, and that Kazeia always knows."""

from pathlib import Path
from typing import Final

from kazeia_desktop.errors import StorageError
from kazeia_desktop.runtime.small_files import write_atomically

LIMIT: Final = 2000
"""Characters that the model is given: some 500 tokens, read once for each change."""


class FactsNote:
    """One UTF-8 file, read again when it changes. Not thread-safe: one owner.

    Attributes:
        problem: why the last `text` is not the whole file, or None.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._text = ""
        self.problem: StorageError | None = None

    @property
    def path(self) -> Path:
        return self._path

    def text(self) -> str:
        """The facts, at most LIMIT characters, cut at the end of a line; "" when there is no file."""
        try:
            found = self._path.stat()
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if stamp != self._stamp:
                with self._path.open("rb") as file:
                    raw = file.read(8 * LIMIT)
                self._stamp, self.problem = stamp, None
                self._text = self._bounded(raw.decode("utf-8-sig", "replace"))
        except FileNotFoundError:
            self._stamp, self._text, self.problem = None, "", None
        except OSError as error:
            self._stamp, self._text = None, ""
            self.problem = self._unusable(error)
        return self._text

    def _bounded(self, text: str) -> str:
        text = "\n".join(line.rstrip() for line in text.replace("\0", "").splitlines()).strip()
        if len(text) <= LIMIT:
            return text
        self.problem = StorageError(
            "The note of facts {path} is longer than {limit} characters: its end is not read. Shorten it.",
            path=str(self._path),
            limit=LIMIT,
        )
        head = text[: LIMIT + 1].rpartition("\n")[0]
        return (head or text[:LIMIT]).strip()

    def write(self, text: str) -> None:
        """Replace the file, atomically.

        Raises:
            StorageError: the text is too long, or the file cannot be written.
        """
        text = text.strip()
        if len(text) > LIMIT:
            raise StorageError("A note of facts has at most {limit} characters, not {n}.", limit=LIMIT, n=len(text))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, (text + "\n" if text else "").encode())
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> StorageError:
        return StorageError(
            "The note of facts {path} cannot be used ({reason}): check its permissions.",
            path=str(self._path),
            reason=error.strerror or str(error),
        )
