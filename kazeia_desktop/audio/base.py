"""What the conversation needs of a microphone and of a loudspeaker."""

from dataclasses import dataclass
from typing import Protocol

from kazeia_desktop.frames import AudioFrame, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings


class FrameSource(Protocol):
    """A microphone, or a file read as if it were one."""

    def start(self) -> None:
        """Begin to listen.

        Raises:
            AudioDeviceError: no such device, or it refuses every format.
        """
        ...

    def read(self, timeout_s: float) -> AudioFrame | None:
        """The next 32 ms; None when `timeout_s` passed without them.

        Raises:
            EOFError: a file is at its end, or the source was stopped.
        """
        ...

    def apply(self, settings: AudioSettings) -> None:
        """Take over another device; from any thread, takes effect within a second."""
        ...

    def stop(self) -> None:
        """Close the device; a waiting `read` returns. Stopping twice is harmless."""
        ...


@dataclass(frozen=True, slots=True)
class Heard:
    """How much of a clause the loudspeaker has played."""

    clause_index: int
    played_samples: int
    total_samples: int
    complete: bool  # the clause's last frame was written, so total_samples is final


class SpeechSink(Protocol):
    """A loudspeaker, or a file written as if it were one."""

    def start(self) -> None:
        """Open the device.

        Raises:
            AudioDeviceError: no such device, or it refuses every format.
        """
        ...

    def write(self, frame: SpeechFrame, cancel: CancelToken) -> None:
        """Queue a frame; waits while more than a few seconds are queued.

        Returns at once, and drops the frame, when `cancel` is set.
        """
        ...

    def all_played(self, turn_id: int) -> bool:
        """Whether the frame with end_of_turn was written and everything up to it has been heard."""
        ...

    def wait_played(self, turn_id: int, cancel: CancelToken) -> None:
        """Wait until all that was written for the turn has been heard, or `cancel` is set."""
        ...

    def flush(self) -> None:
        """Silence now: drop what is queued, the device's own buffer included."""
        ...

    def heard(self, turn_id: int) -> tuple[Heard, ...]:
        """What was played of each clause of the turn; still known after `flush`."""
        ...

    def first_sample_time(self, turn_id: int) -> float | None:
        """time.monotonic() when the turn's first sample was handed to the device, or None."""
        ...

    @property
    def rms(self) -> float:
        """Loudness of what is being played now, in [0, 1]."""
        ...

    def apply(self, settings: AudioSettings) -> None:
        """Take over the volume, and another device from the next turn on; from any thread."""
        ...

    def stop(self) -> None:
        """Close the device; waiting calls return. Stopping twice is harmless."""
        ...
