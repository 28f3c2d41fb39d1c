"""What endpointing needs of a voice activity detector."""

from typing import Protocol

from kazeia_desktop.frames import FloatArray


class SpeechGate(Protocol):
    """Nearly free and generous: closed means that surely nobody speaks."""

    def is_open(self, samples: FloatArray) -> bool:
        """samples: (512,) float32 at 16 kHz. Whether the frame may hold speech."""
        ...


class SpeechScorer(Protocol):
    """The decision; keeps state between frames."""

    def probability(self, samples: FloatArray) -> float:
        """samples: (512,) float32 at 16 kHz, the frame that follows the last one. Speech in [0, 1]."""
        ...

    def reset(self) -> None:
        """Forget what came before: the next frame begins a new sound."""
        ...
