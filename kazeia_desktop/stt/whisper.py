"""Whisper as the conversation uses it: short windows, and guards against what it invents.

Rules and figures: docs/architecture.md, "Hearing".
"""

import logging
import threading
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np

from kazeia_desktop.errors import AudioFormatError, InferenceError
from kazeia_desktop.frames import CAPTURE_RATE_HZ, FloatArray, Segment, Transcript
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import SttSettings
from kazeia_desktop.stt.ctranslate2_file import WhisperWeights
from kazeia_desktop.stt.export import SLOTS, ensure_graphs
from kazeia_desktop.stt.graphs import PROMPT, Graphs
from kazeia_desktop.stt.log_mel import HOP, log_mel
from kazeia_desktop.stt.vocabulary import LANGUAGES, Vocabulary

_log = logging.getLogger(__name__)

WINDOW_S: Final = 30.0
_SHORTEST_WINDOW_S: Final = 5.0
_AFTER_SPEECH_S: Final = 2.0  # speech + 0 s gives 112 % word errors: the model needs to see the end
_TOKENS_PER_S: Final = 8
_TOKENS_MORE: Final = 10
_MAX_COMPRESSION: Final = 2.4  # Whisper's own bound for a text that repeats itself
_REPEATS: Final = ((4, 4), (8, 3))
"""(n, times): n tokens that come so often, one straight after the other, are no speech."""
_SAID_TWICE: Final = 8
"""So many tokens and at once the same ones again: rarely said, more often a loop that has just begun."""
_SPLIT_FROM_S: Final = 10.0
"""A longer sound that is heard as a loop is not given up as a whole: half of it may be well heard."""
_TEMPERATURES: Final = (0.4, 0.8)
_SHORTEST_S: Final = 0.1
_PAUSE_S: Final = 0.3
_SEED: Final = 20_221_206


@dataclass(frozen=True, slots=True)
class _Result:
    tokens: tuple[int, ...]
    text: str
    mean_logprob: float
    full: bool  # stopped by the cap and not by the model

    @property
    def loops(self) -> bool:
        # What a person says twice ends by itself; a loop goes on until the cap cuts it.
        return loops(self.tokens, self.text) or (self.full and self.said_twice)

    @property
    def said_twice(self) -> bool:
        return _repeats(self.tokens, _SAID_TWICE, 2)


def loops(tokens: tuple[int, ...], text: str) -> bool:
    """Whether a transcript repeats itself, as Whisper does when it is lost: with nothing else between.

    People repeat themselves too, but not so: of an hour of announcements ("... appuyez sur 3. ... appuyez sur 4.")
    a third was lost when repetitions were counted wherever they stood.
    """
    raw = text.encode()
    if len(raw) > 40 and len(raw) / len(zlib.compress(raw)) > _MAX_COMPRESSION:
        return True
    return any(_repeats(tokens, n, times) for n, times in _REPEATS)


def _repeats(tokens: tuple[int, ...], n: int, times: int) -> bool:
    """Whether at least n tokens come so many times, one straight after the other."""
    return any(
        _longest_run(a == b for a, b in zip(tokens, tokens[period:], strict=False)) >= (times - 1) * max(period, n)
        for period in range(1, len(tokens))
    )


def _longest_run(values: Iterable[bool]) -> int:
    """How many true ones follow each other at most."""
    return max((sum(1 for _ in run) for value, run in groupby(values) if value), default=0)


class WhisperRecognizer:
    """SpeechRecognizer on Whisper. Calls from two threads are taken one after the other.

    Args:
        model_dir: model.bin (CTranslate2, float16), config.json, tokenizer.json; the graphs are written
            beside them at the first use.
    Raises:
        ModelError: what is wrong with the files.
    """

    def __init__(self, model_dir: Path, settings: SttSettings) -> None:
        folder = ensure_graphs(model_dir, settings.precision)
        weights = WhisperWeights(model_dir)
        self._shape = weights.shape
        self._vocabulary = Vocabulary(model_dir, weights.config, weights.shape.n_vocab)
        self._graphs: Graphs | None = Graphs(folder, weights.shape, settings.threads)
        self._settings = settings
        self._lock = threading.Lock()
        self._penalty = np.zeros(weights.shape.n_vocab, np.float32)
        self._penalty[self._vocabulary.suppressed] = -np.inf
        self._begin_penalty = self._penalty.copy()
        self._begin_penalty[self._vocabulary.suppressed_at_begin] = -np.inf
        self._scores = np.zeros(weights.shape.n_vocab, np.float32)
        self.transcribe(np.zeros(CAPTURE_RATE_HZ, np.float32), 0, CancelToken())  # the first run allocates

    def apply(self, settings: SttSettings) -> None:
        """See SpeechRecognizer."""
        self._settings = settings

    def close(self) -> None:
        """See SpeechRecognizer."""
        with self._lock:
            self._graphs = None

    def transcribe(
        self, samples: FloatArray, turn_id: int, cancel: CancelToken, full_window: bool = False
    ) -> Transcript:
        """See SpeechRecognizer. full_window: 30 s, greedy, no second try, exactly as faster-whisper."""
        check_samples(samples)
        with self._lock:
            graphs = self._graphs
            if graphs is None:
                raise InferenceError("The recogniser is closed.")
            graphs.encoder_ms = graphs.decoder_ms = 0.0
            graphs.n_steps = 0
            language: str = self._settings.language
            text = ""
            if len(samples) >= _SHORTEST_S * CAPTURE_RATE_HZ:
                samples = np.ascontiguousarray(samples, np.float32)
                if full_window:
                    samples = samples[: int(WINDOW_S * CAPTURE_RATE_HZ)]
                language, text = self._recognize(graphs, samples, language, cancel, full_window)
            return Transcript(
                turn_id,
                text,
                language if language in LANGUAGES else "fr",
                (Segment(0.0, len(samples) / CAPTURE_RATE_HZ, text),) if text else (),
                round(graphs.encoder_ms, 1),
                round(graphs.decoder_ms / max(1, graphs.n_steps), 2),
                graphs.n_steps,
            )

    def _recognize(
        self, graphs: Graphs, samples: FloatArray, language: str, cancel: CancelToken, full_window: bool
    ) -> tuple[str, str]:
        seconds = len(samples) / CAPTURE_RATE_HZ
        if seconds > WINDOW_S + _PAUSE_S:
            at = longest_pause(samples)
            first, rest = (
                self._recognize(graphs, half, language, cancel, full_window) for half in (samples[:at], samples[at:])
            )
            return first[0], f"{first[1]} {rest[1]}".strip()
        window_s = min(WINDOW_S, max(_SHORTEST_WINDOW_S, seconds + _AFTER_SPEECH_S))
        if full_window:
            self._encode_as_faster_whisper(graphs, samples, cancel)
        else:
            self._encode(graphs, samples, window_s, cancel)
        if language not in LANGUAGES:
            language = self._detect(graphs, cancel)
        best = self._decode(graphs, seconds, language, cancel, 0.0)
        if full_window:
            return language, best.text
        if best.full and len(best.tokens) >= SLOTS - PROMPT - 1 and not best.loops:
            return language, self._in_two(graphs, samples, language, cancel)
        if (best.loops or best.said_twice) and window_s < WINDOW_S:
            self._encode(graphs, samples, WINDOW_S, cancel)
            best = self._decode(graphs, seconds, language, cancel, 0.0)
        if best.loops and seconds > _SPLIT_FROM_S:
            return language, self._in_two(graphs, samples, language, cancel)
        for temperature in _TEMPERATURES:
            if not best.loops:
                break
            best = self._decode(graphs, seconds, language, cancel, temperature)
        if best.loops or best.mean_logprob < self._settings.min_mean_logprob:
            _log.debug("dropped %r, mean log probability %.2f", best.text, best.mean_logprob)
            return language, ""
        return language, best.text

    def _encode(self, graphs: Graphs, samples: FloatArray, window_s: float, cancel: CancelToken) -> None:
        cancel.raise_if_set()
        n = int(window_s * CAPTURE_RATE_HZ) // 320 * 320  # a whole number of the encoder's positions
        window = np.zeros(n, np.float32)
        window[: min(n, len(samples))] = samples[:n]
        graphs.encode(log_mel(window, self._shape.n_mels), cancel)

    def _encode_as_faster_whisper(self, graphs: Graphs, samples: FloatArray, cancel: CancelToken) -> None:
        """30 s: its spectrogram ends 10 ms after the sound and is then filled with 0, which is not silence (-1.5)."""
        cancel.raise_if_set()
        window = np.zeros((self._shape.n_mels, int(WINDOW_S * CAPTURE_RATE_HZ) // HOP), np.float32)
        mel = log_mel(np.pad(samples, (0, HOP)), self._shape.n_mels)[:, :-1]
        window[:, : mel.shape[1]] = mel
        graphs.encode(window, cancel)

    def _detect(self, graphs: Graphs, cancel: CancelToken) -> str:
        """French or English, whichever is likelier: short words are otherwise taken for Russian."""
        graphs.rewind()
        logits = graphs.decode([self._vocabulary.start], cancel)
        return max(LANGUAGES, key=lambda language: logits[self._vocabulary.languages[language]])

    def _decode(
        self, graphs: Graphs, seconds: float, language: str, cancel: CancelToken, temperature: float
    ) -> _Result:
        v = self._vocabulary
        graphs.rewind()
        prompt = [v.start, v.languages[language], v.transcribe, v.no_timestamps]
        cap = min(int(seconds * _TOKENS_PER_S) + _TOKENS_MORE, SLOTS - PROMPT - 1)
        random = np.random.default_rng(_SEED)
        logits = graphs.decode(prompt, cancel)
        tokens: list[int] = []
        total = 0.0
        while True:
            scores = np.add(logits, self._penalty if tokens else self._begin_penalty, out=self._scores)
            token, logprob = _choose(scores, temperature, random)
            total += logprob
            if token == v.end or len(tokens) >= cap:
                break
            tokens.append(token)
            logits = graphs.decode([token], cancel)
        return _Result(tuple(tokens), v.text(tokens), total / (len(tokens) + 1), token != v.end)

    def _in_two(self, graphs: Graphs, samples: FloatArray, language: str, cancel: CancelToken) -> str:
        """More words than slots, or a loop in a long sound: each side of the longest pause by itself."""
        at = longest_pause(samples)
        halves = (samples[:at], samples[at:])
        return " ".join(self._recognize(graphs, half, language, cancel, False)[1] for half in halves).strip()


def _choose(scores: FloatArray, temperature: float, random: np.random.Generator) -> tuple[int, float]:
    """A token and its log probability. scores is overwritten."""
    best = int(scores.argmax())
    np.subtract(scores, scores[best], out=scores)
    if temperature > 0.0:
        weights = np.exp(scores / temperature)
        best = int(random.choice(len(weights), p=weights / weights.sum()))
    score = float(scores[best])
    return best, score - float(np.log(np.exp(scores, out=scores).sum()))


def check_samples(samples: Any) -> None:  # noqa: ANN401 - whatever a caller passes
    """Damaged sound passes every later threshold: it is refused here.

    Raises:
        AudioFormatError: not (n,) float32, not finite, or beyond full scale by far.
    """
    if not isinstance(samples, np.ndarray) or samples.ndim != 1 or samples.dtype != np.float32:
        kind = f"{samples.dtype} {samples.shape}" if isinstance(samples, np.ndarray) else type(samples).__name__
        raise AudioFormatError("Sound to recognise must be (n,) float32 at 16 kHz, not {kind}.", kind=kind)
    if len(samples) and not np.isfinite(samples).all():
        raise AudioFormatError("The sound holds samples that are not numbers: it is damaged.")
    if len(samples) and float(np.abs(samples).max()) > 4.0:
        raise AudioFormatError(
            "The sound is {times:.0f} times louder than full scale: scale it to [-1, 1].",
            times=float(np.abs(samples).max()),
        )


def longest_pause(samples: FloatArray, search: tuple[float, float] = (0.25, 0.75)) -> int:
    """The middle of the quietest third of a second in the given part of the sound; a sample's index."""
    width = int(_PAUSE_S * CAPTURE_RATE_HZ)
    first, last = int(search[0] * len(samples)), int(search[1] * len(samples))
    if last - first <= width:
        return len(samples) // 2
    energy = np.cumsum(np.square(samples[first:last], dtype=np.float64))
    return first + int(np.argmin(energy[width:] - energy[:-width])) + width // 2
