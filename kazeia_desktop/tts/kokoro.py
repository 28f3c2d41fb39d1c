"""The light voice: Kokoro-82M on ONNX Runtime."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime as ort

from kazeia_desktop.errors import InferenceError, ModelCorruptError
from kazeia_desktop.frames import Clause, FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.phonemes import phonemes
from kazeia_desktop.tts.voices import load_phoneme_ids, load_style

RATE_HZ: Final = 24_000
_MAX_IDS: Final = 508
_SILENCE: Final = 0.003  # of full scale; what is below at a clause's ends is cut ...
_KEPT_S: Final = 0.03  # ... but for so much
_PAUSE_S: Final = {",": 0.08, ";": 0.15, ":": 0.15}
_SENTENCE_PAUSE_S: Final = 0.25
_CUTS: Final = re.compile(r"(?<=[,.;:!?…—]) | ")
_WATCH_S: Final = 0.02


class KokoroVoice:
    """SpeechSynthesizer: a clause is one run of the model, a long one several.

    Args:
        model_file: the ONNX export (int8) with inputs tokens, style, speed.
        voices_dir: style tables and the phoneme table.
    Raises:
        ModelError: a file is missing or damaged.
        InferenceError: espeak-ng is missing.
    """

    sample_rate_hz = RATE_HZ

    def __init__(self, model_file: Path, voices_dir: Path, settings: TtsSettings) -> None:
        self._voices_dir = voices_dir
        self._ids = load_phoneme_ids(voices_dir)
        self._settings = settings
        self._style_name = settings.voice
        self._style = load_style(voices_dir, settings.voice)
        self._lock = threading.Lock()
        options = ort.SessionOptions()
        options.intra_op_num_threads = settings.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = ort.InferenceSession(str(model_file), options, ["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime raises its own kinds, without a common base
            raise ModelCorruptError(
                "The voice model {file} cannot be loaded ({reason}): run `kazeia models get kokoro-82m`.",
                file=str(model_file),
                reason=str(error).splitlines()[0][:120],
            ) from error
        self._run(self._encode(phonemes("bonjour", "fr")), CancelToken())  # the first run allocates

    @property
    def name(self) -> str:
        """See SpeechSynthesizer."""
        return f"Kokoro, {self._style_name}"

    def apply(self, settings: TtsSettings) -> None:
        """See SpeechSynthesizer. From any thread; a voice that is not there leaves the one before."""
        if settings.voice != self._style_name:
            style = load_style(self._voices_dir, settings.voice)
            with self._lock:
                self._style, self._style_name = style, settings.voice
        self._settings = settings

    def close(self) -> None:
        """See SpeechSynthesizer."""
        with self._lock:
            self._session = None

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        """See SpeechSynthesizer."""
        pieces = self._pieces(phonemes(clause.spoken, self._settings.language)) if clause.spoken else []
        for at, piece in enumerate(pieces):
            if cancel.is_set():
                return
            sound = self._run(piece, cancel)
            if sound is None:
                return
            last = at == len(pieces) - 1
            yield SpeechFrame(
                clause.turn_id, clause.index, _shaped(sound, _pause_after(clause.spoken) if last else 0.0), RATE_HZ
            )
        if not cancel.is_set():
            yield SpeechFrame(clause.turn_id, clause.index, np.zeros(0, np.float32), RATE_HZ, end_of_clause=True)

    def _encode(self, said: str) -> list[int]:
        return [self._ids[symbol] for symbol in said if symbol in self._ids]

    def _pieces(self, said: str) -> list[list[int]]:
        """Ids of the clause in runs of at most 508, cut behind signs where possible, else between words."""
        pieces: list[list[int]] = []
        held = ""
        for part in _CUTS.split(said):
            joined = f"{held} {part}".strip()
            if held and len(self._encode(joined)) > _MAX_IDS:
                pieces.append(self._encode(held))
                held = part
            else:
                held = joined
        rest = self._encode(held)
        pieces += [rest[i : i + _MAX_IDS] for i in range(0, len(rest), _MAX_IDS)]
        return [piece for piece in pieces if piece]

    def _run(self, ids: list[int], cancel: CancelToken) -> FloatArray | None:
        """Sound of some phonemes at 24 kHz; None when cancelled, also in the middle of the run."""
        with self._lock:
            session, style = self._session, self._style
        if session is None:
            raise InferenceError("The voice is closed.")
        inputs = {
            "tokens": np.array([[0, *ids, 0]], np.int64),
            "style": style[len(ids)][None, :],
            "speed": np.array([self._settings.speed], np.float32),
        }
        options = ort.RunOptions()
        done = CancelToken()

        def watch() -> None:
            while not done.is_set():
                if cancel.wait(_WATCH_S):
                    options.terminate = True
                    return

        watcher = threading.Thread(target=watch, name="tts-cancel")
        watcher.start()
        try:
            (sound,) = session.run(None, inputs, options)
        except Exception as error:  # ONNX Runtime raises its own kinds, also for a terminated run
            if cancel.is_set():
                return None
            raise InferenceError("The voice failed ({reason}).", reason=str(error).splitlines()[0][:120]) from error
        finally:
            done.set()
            watcher.join()
        flat: FloatArray = np.asarray(sound, np.float32).reshape(-1)
        if not np.isfinite(flat).all():
            raise InferenceError("The voice failed ({reason}).", reason="its sound is not finite")
        return flat


def _shaped(sound: FloatArray, pause_s: float) -> FloatArray:
    """Silence at both ends cut to 30 ms, then the pause that the clause's last sign asks for."""
    loud = np.flatnonzero(np.abs(sound) > _SILENCE)
    if not len(loud):
        return sound[:0]
    kept = int(_KEPT_S * RATE_HZ)
    begin, end = max(0, loud[0] - kept), min(len(sound), loud[-1] + kept)
    return np.concatenate([sound[begin:end], np.zeros(int(pause_s * RATE_HZ), np.float32)])


def _pause_after(spoken: str) -> float:
    return _PAUSE_S.get(spoken.rstrip()[-1:], _SENTENCE_PAUSE_S)
