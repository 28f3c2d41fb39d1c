"""The decision: Silero VAD on ONNX Runtime."""

from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime as ort

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, FloatArray

_CONTEXT: Final = 64
"""Samples of the frame before that the model wants in front of each frame, at 16 kHz."""
_STATE: Final = (2, 1, 128)


class SileroScorer:
    """SpeechScorer. One thread at a time.

    Args:
        model_file: `silero_vad.onnx` of the silero-vad package, version 5 or 6.
    Raises:
        ModelCorruptError: ONNX Runtime cannot load it, or it has other inputs.
    Source: Silero Team, Silero VAD (MIT).
    """

    def __init__(self, model_file: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = ort.InferenceSession(str(model_file), options, providers=["CPUExecutionProvider"])
            self._rate = np.array(CAPTURE_RATE_HZ, np.int64)
            self._input = np.zeros((1, _CONTEXT + CAPTURE_FRAME_SAMPLES), np.float32)
            self._state = np.zeros(_STATE, np.float32)
            self.probability(np.zeros(CAPTURE_FRAME_SAMPLES, np.float32))
        except Exception as error:  # ONNX Runtime raises its own kinds, without a common base
            reason = str(error).splitlines()[0]
            raise ModelCorruptError(
                "The speech detector {file} cannot be loaded ({reason}): run `kazeia models get silero-vad`.",
                file=str(model_file),
                reason=reason,
            ) from error
        self.reset()

    def probability(self, samples: FloatArray) -> float:
        """See SpeechScorer."""
        if not np.isfinite(samples).all():  # a damaged frame must not poison the state
            samples = np.nan_to_num(samples, nan=0.0, posinf=0.0, neginf=0.0)
        self._input[0, _CONTEXT:] = samples
        output, self._state = self._session.run(None, {"input": self._input, "state": self._state, "sr": self._rate})
        self._input[0, :_CONTEXT] = samples[-_CONTEXT:]
        value = float(output[0, 0])
        if not np.isfinite(value):
            self.reset()
            return 0.0
        return value

    def reset(self) -> None:
        """See SpeechScorer."""
        self._state = np.zeros(_STATE, np.float32)
        self._input[:] = 0.0
