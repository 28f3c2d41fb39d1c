"""What the conversation needs of a speech recogniser."""

from typing import Protocol

from kazeia_desktop.frames import FloatArray, Transcript
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import SttSettings


class SpeechRecognizer(Protocol):
    """Turns one utterance into text. One thread at a time, but `apply` may come from any.

    Loading happens in the constructor.
    """

    def transcribe(self, samples: FloatArray, turn_id: int, cancel: CancelToken) -> Transcript:
        """Recognise one utterance.

        Args:
            samples: (n,) float32 mono in [-1, 1] at 16 kHz; of more than 30 s each part by itself, cut at pauses.
            turn_id: copied into the transcript.
            cancel: stops the encoder within 100 ms; polled once per token.
        Returns:
            The transcript; its text is empty when no words were understood.
        Raises:
            Cancelled: cancel was set.
            AudioFormatError: not one-dimensional finite float32 in range.
            InferenceError: the model failed, or was closed.
        """
        ...

    def apply(self, settings: SttSettings) -> None:
        """Take over the settings that need no reload (language, thresholds)."""
        ...

    def close(self) -> None:
        """Release the model; closing twice is harmless."""
        ...
