"""The light voice: Kokoro-82M on ONNX Runtime."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from kazeia_desktop.errors import InferenceError, ModelCorruptError, ModelIncompatibleError
from kazeia_desktop.frames import Clause, FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.phonemes import espeak, phonemes
from kazeia_desktop.tts.pieces import cut_into_pieces
from kazeia_desktop.tts.shaping import pause_after, shaped
from kazeia_desktop.tts.voices import DEFAULT_VOICE, load_phoneme_ids, load_style

RATE_HZ: Final = 24_000
_INPUTS: Final = {"tokens", "style", "speed"}
_POLL_S: Final = 0.02
_EDGE: Final = 0
"""Id of the padding that stands at both ends of the phonemes."""
_ORT_ERRORS: Final[tuple[type[Exception], ...]] = (
    ValueError,
    RuntimeError,
    *(kind for kind in vars(ort_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)),
)
"""ONNX Runtime's exceptions have no base of their own."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a clause is spoken with; replaced as a whole, so a clause never mixes two."""

    name: str
    style: FloatArray  # (510, 256)
    language: str
    speed: float


class KokoroVoice:
    """SpeechSynthesizer: a clause is one run of the model, a long one several.

    Args:
        model_file: the ONNX export (int8) with inputs tokens, style, speed.
        voices_dir: style tables and the phoneme table.
    Raises:
        ModelError: a file is missing or damaged.
        SettingsError: there is no such voice.
        InferenceError: espeak-ng is missing.
    """

    sample_rate_hz = RATE_HZ
    figures = None

    def __init__(self, model_file: Path, voices_dir: Path, settings: TtsSettings) -> None:
        espeak()
        self._voices_dir = voices_dir
        self._ids = load_phoneme_ids(voices_dir)
        self._chosen = self._choose(settings)
        self._session: Any = _load(model_file, settings.threads)
        self._run([self._ids["a"]], self._chosen, CancelToken())  # a model that loads but cannot run is told now

    def _choose(self, settings: TtsSettings) -> _Chosen:
        name = settings.voice or DEFAULT_VOICE
        return _Chosen(name, load_style(self._voices_dir, name), settings.language, settings.speed)

    @property
    def name(self) -> str:
        """See SpeechSynthesizer."""
        return f"Kokoro, {self._chosen.name}"

    def apply(self, settings: TtsSettings) -> None:
        """See SpeechSynthesizer. A voice that is not there raises SettingsError and leaves the one before."""
        self._chosen = self._choose(settings)

    def close(self) -> None:
        """See SpeechSynthesizer. A run under way ends by itself."""
        self._session = None

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        """See SpeechSynthesizer."""
        chosen = self._chosen
        said = phonemes(clause.spoken, chosen.language, cancel) if clause.spoken else ""
        pieces = cut_into_pieces("".join(symbol for symbol in said if symbol in self._ids))
        for at, piece in enumerate(pieces):
            sound = self._run([self._ids[symbol] for symbol in piece], chosen, cancel)
            if sound is None:
                return
            pause_s = pause_after(piece, ends_clause=at == len(pieces) - 1) / chosen.speed
            yield SpeechFrame(clause.turn_id, clause.index, shaped(sound, RATE_HZ, pause_s), RATE_HZ)
        if not cancel.is_set():
            yield SpeechFrame(clause.turn_id, clause.index, np.zeros(0, np.float32), RATE_HZ, end_of_clause=True)

    def _run(self, ids: list[int], chosen: _Chosen, cancel: CancelToken) -> FloatArray | None:
        """(n,) sound of at most 508 phonemes; None when cancelled, also in the middle of the run.

        The model runs in a thread of its own while this one waits for it or for the cancel token: ONNX
        Runtime then stops at its next node, within 3 ms mostly.
        """
        session = self._session
        if session is None:
            raise InferenceError("The voice is closed.")
        inputs = {
            "tokens": np.array([[_EDGE, *ids, _EDGE]], np.int64),
            "style": chosen.style[len(ids)][None, :],
            "speed": np.array([chosen.speed], np.float32),
        }
        run = _Run(session, inputs)
        while not run.done.wait(_POLL_S):
            if cancel.is_set():
                run.options.terminate = True
        if cancel.is_set():
            return None
        if run.error is not None:
            raise InferenceError("The voice failed ({reason}).", reason=_first_line(run.error)) from run.error
        sound: FloatArray = np.asarray(run.sound, np.float32).reshape(-1)
        if not np.isfinite(sound).all():
            raise InferenceError("The voice failed ({reason}).", reason="its sound is not finite")
        return sound


class _Run:
    """One run of the model in a thread; `done` is set when `sound` or `error` is there."""

    def __init__(self, session: Any, inputs: dict[str, Any]) -> None:  # noqa: ANN401 - untyped library
        self.options = ort.RunOptions()
        self.done = threading.Event()
        self.sound: Any = None
        self.error: Exception | None = None
        threading.Thread(target=self._run, args=(session, inputs), name="tts-kokoro").start()

    def _run(self, session: Any, inputs: dict[str, Any]) -> None:  # noqa: ANN401 - untyped library
        try:
            (self.sound,) = session.run(None, inputs, self.options)
        except _ORT_ERRORS as error:
            self.error = error
        finally:
            self.done.set()


def _load(model_file: Path, threads: int) -> Any:  # noqa: ANN401 - untyped library
    """The ONNX Runtime session.

    Other graph levels, no arena and no memory pattern were not clearly faster than the defaults.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = ort.InferenceSession(str(model_file), options, ["CPUExecutionProvider"])
    except _ORT_ERRORS as error:
        raise ModelCorruptError(
            "The voice model {file} cannot be loaded ({reason}): run `kazeia models get kokoro-82m`.",
            file=str(model_file),
            reason=_first_line(error),
        ) from error
    inputs = {part.name for part in session.get_inputs()}
    if inputs != _INPUTS:
        raise ModelIncompatibleError(
            "The voice model {file} is of another kind (inputs {inputs}): run `kazeia models get kokoro-82m`.",
            file=str(model_file),
            inputs=", ".join(sorted(inputs)),
        )
    return session


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0][:120] if lines else type(error).__name__
