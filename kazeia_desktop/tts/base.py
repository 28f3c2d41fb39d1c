"""What the conversation needs of a voice."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kazeia_desktop.events import Notice
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings


@dataclass(frozen=True, slots=True)
class SpeechFigures:
    """What one clause took, from a voice that can tell.

    frames: of 80 ms. rtf: time / length of the sound. Milliseconds are per frame. retries: how often it was begun
    again because the model did not end by itself.
    """

    frames: int
    rtf: float
    talker_ms: float
    code_predictor_ms: float
    codec_ms: float
    retries: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a voice is known to be.

    rtf: time / length of the sound. piece_s: length of the pieces that it comes in, once it runs.
    """

    rtf: float
    piece_s: float


class SpeechSynthesizer(Protocol):
    """Speaks one clause after the other. One thread at a time, but `apply` may come from any.

    Loading happens in the constructor.
    """

    @property
    def name(self) -> str:
        """What the window shows as the voice, for example "Kokoro, ff_siwis"."""
        ...

    @property
    def sample_rate_hz(self) -> int:
        """Rate of every frame."""
        ...

    @property
    def figures(self) -> SpeechFigures | None:
        """Of the last clause; None for a voice that has none."""
        ...

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        """Speak `clause.spoken`.

        Yields frames as soon as they exist; the last one has end_of_clause set. An empty clause
        yields that one frame without samples. When cancelled, iteration just ends.

        Raises:
            InferenceError: the voice failed.
        """
        ...

    def apply(self, settings: TtsSettings) -> None:
        """Take over voice, language, speed and threads; heard at the next clause."""
        ...

    def close(self) -> None:
        """Release the model; closing twice is harmless."""
        ...


@runtime_checkable
class BatchVoice(Protocol):
    """A voice that makes several clauses at once in less time. Besides SpeechSynthesizer; same threads."""

    def synthesize_all(
        self, first: Clause, more: Callable[[], Clause | None], cancel: CancelToken
    ) -> Generator[SpeechFrame, None, None]:
        """Speak `first`, and those that wait meanwhile, each as `synthesize` speaks it, one after the other.

        `first` is made alone; the others when it is there. `figures` are of the clause whose last frame came last.

        Args:
            more: the next clause if one waits, else None, at once; called from a thread of the voice's own. A clause
                that it hands out is spoken, unless `cancel` is set.
        Raises: as `synthesize`.
        """
        ...


@runtime_checkable
class MeasuredVoice(Protocol):
    """A voice that finds out how it is fastest on this machine. Besides SpeechSynthesizer; same threads."""

    @property
    def model(self) -> str:
        """Which model, of which weights: what was told of one need not be told again."""
        ...

    @property
    def pace(self) -> Pace | None:
        """As measured; None while it was not."""
        ...

    @property
    def wants_measuring(self) -> bool:
        """Whether `measure` has something to find out."""
        ...

    def measure(self, idle: CancelToken) -> None:
        """Find it out, silently, in about three seconds, and keep it. Ends within a frame when `idle` is set.

        Raises:
            KazeiaError: the voice failed.
        """
        ...

    def slowness(self, rtf: float | None = None) -> Notice | None:
        """What to tell of a voice that is slower than it speaks, and what would help; None where it is not.

        Args:
            rtf: as a clause was just made; None: as measured.
        """
        ...
