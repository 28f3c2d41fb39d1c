"""One clause of several that are spoken at once: what is asked, and how far it is."""

from dataclasses import dataclass, field

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.frames import IntArray
from kazeia_desktop.tts.qwen3_generator import Stop, Times
from kazeia_desktop.tts.qwen3_options import SpeechOptions, SpeechStats, Voice, account


@dataclass(frozen=True, slots=True)
class Spoken:
    """A clause that is to be spoken, and how."""

    text: str
    voice: Voice
    options: SpeechOptions


@dataclass(slots=True)
class Part:
    """A clause on its way.

    Attributes:
        first: whether it was there at the start.
        codes: (16,) each, as they were drawn; `taken` of them went to the codec.
        silent: nothing is left to be heard of it.
        error: why it cannot be begun; told when all before it were heard.
        elapsed_s: its share of the time, see Batch.
    """

    spoken: Spoken
    seed: int
    first: bool
    times: Times = field(default_factory=Times)
    codes: list[IntArray] = field(default_factory=list)
    taken: int = 0
    done: bool = False
    silent: bool = False
    audible: bool = False
    silence: int = 0
    stop: Stop = "eos"
    retries: int = 0
    chunks: int = 0
    codec_s: float = 0.0
    elapsed_s: float = 0.0
    ttfa_ms: float | None = None
    error: KazeiaError | None = None

    def stats(self) -> SpeechStats:
        """What is told of it."""
        stats = SpeechStats(chunks=self.chunks, seed=self.seed, retries=self.retries, ttfa_ms=self.ttfa_ms)
        stats.elapsed_s = self.elapsed_s
        account(stats, self.times, self.stop, self.codes, self.codec_s)
        return stats

    def again(self) -> None:
        """Back to the beginning, with another seed."""
        self.seed, self.retries = self.seed + 1, self.retries + 1
        self.times, self.codes, self.taken, self.codec_s = Times(), [], 0, 0.0
        self.done = self.silent = self.audible = False
        self.silence = 0
