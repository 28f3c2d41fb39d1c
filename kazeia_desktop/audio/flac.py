"""FLAC files in, in bounded memory, through libsndfile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import FloatArray

_BLOCK_FRAMES: Final = 65_536
_NO_LENGTH: Final = 1 << 40
"""FLAC counts samples in 36 bits."""


def is_flac(path: Path) -> bool:
    """Whether the file begins as FLAC does. A file that cannot be read is not."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError:
        return False
    return head == b"fLaC" or (head[:3] == b"ID3" and path.suffix.lower() == ".flac")


def flac_info(path: Path) -> tuple[int, int | None]:
    """(samples a second, samples in each channel); None where the writer did not know the length.

    Raises:
        AudioFormatError: see read_flac_blocks.
    """
    with _opened(path) as file:
        return int(file.samplerate), _told_length(file)


def read_flac_blocks(path: Path) -> Iterator[FloatArray]:
    """The file in mono blocks of at most 65,536 samples: (n,) float32 in [-1, 1], channels averaged.

    Raises:
        AudioFormatError: not a FLAC file, damaged, cut off, without sound, or libsndfile is not there.
    """
    n_read = 0
    with _opened(path) as file:
        told = _told_length(file)
        while True:
            try:
                block = file.read(_BLOCK_FRAMES, dtype="float32", always_2d=True)
            except RuntimeError as error:
                raise _damaged(path, error) from error
            if not len(block):
                break
            n_read += len(block)
            yield block.mean(axis=1, dtype=np.float32)
    if n_read == 0:
        raise AudioFormatError("{path} holds no sound.", path=str(path))
    if told is not None and n_read < told:
        raise AudioFormatError("{path} ends before its sound does: it is cut off, copy it again.", path=str(path))


def _told_length(file: Any) -> int | None:  # noqa: ANN401 - soundfile.SoundFile, untyped
    """libsndfile gives the largest number there is for a length that is not in the header."""
    frames = int(file.frames)
    return frames if 0 < frames < _NO_LENGTH else None


def _opened(path: Path) -> Any:  # noqa: ANN401 - soundfile.SoundFile, untyped
    try:
        import soundfile
    except (ImportError, OSError) as error:  # OSError: the package without its library
        raise AudioFormatError(
            "{path} is a FLAC file, and the package soundfile is missing: convert it to WAV first.", path=str(path)
        ) from error

    class Forward(soundfile.SoundFile):  # type: ignore[misc]
        """soundfile seeks after each read where it can, and fails in a file that does not tell its length."""

        def seekable(self) -> bool:
            return False

    try:
        file = Forward(str(path))
    except RuntimeError as error:
        raise _damaged(path, error) from error
    if file.format != "FLAC":
        file.close()
        raise _damaged(path, file.format)
    return file


def _damaged(path: Path, reason: object) -> AudioFormatError:
    return AudioFormatError(
        "{path} is not a FLAC file that can be read ({reason}): copy it again, or convert it to WAV.",
        path=str(path),
        reason=str(reason).splitlines()[0][:120] if str(reason) else type(reason).__name__,
    )
