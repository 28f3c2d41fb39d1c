"""`kazeia bench tts --voice-check`: does a voice with published weights speak as it should on this machine?

Three sentences, five seeds each. A row is as expected when the voice ends by itself and at most 40 % of it is
silence; how much of the text Whisper reads back is told beside.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.cli.output import load_settings, print_json, print_text
from kazeia_desktop.cli.tts_engines import KazeiaVoice, Voice
from kazeia_desktop.cli.word_errors import word_errors, words
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.frames import CAPTURE_RATE_HZ, FloatArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.translations import system_language, translate

SENTENCES: Final = (
    "Bonjour Kazeia",
    "Bonsoir, comment tu te sens ce soir ?",
    "Bonjour, je m'appelle Kazeia, je suis encore en phase de développement",
)
SEEDS: Final = (1, 42, 100, 777, 12345)
MOST_SILENCE_PCT: Final = 40.0
_SILENCE: Final = 0.01
_RATE_HZ: Final = 24_000

Reader = Callable[[FloatArray], str]
"""What a recogniser hears in (n,) float32 at 24 kHz."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence with one seed.

    Attributes:
        stop: eos, budget, silence, loop.
        rms: of full scale.
        heard: what Whisper read; None where there is no recogniser.
        word_errors: of `words` that the sentence has; None likewise.
        problems: what is not as expected.
    """

    text: str
    seed: int
    stop: str
    frames: int
    silence_pct: float
    rms: float
    heard: str | None
    word_errors: int | None
    words: int
    problems: tuple[str, ...]


def check(models: Sequence[Path], threads: int, voice: str | None, *, as_json: bool) -> int:
    """All rows of all models; 1 when one is not as expected, each such row told on standard error."""
    records, failed = [], []
    with _recogniser() as read:
        for model_dir in models:
            rows = []
            if not as_json:
                print_text(f"{model_dir}\n{'seed':>6}{'stop':>9}{'frames':>8}{'silence':>9}{'RMS':>8}{'errors':>10}")
            for row in rows_of(KazeiaVoice(model_dir, threads, voice), read):
                rows.append(row)
                if not as_json:
                    _print(row)
            failed += [row for row in rows if row.problems]
            records.append({"model": str(model_dir), "rows": [asdict(row) for row in rows]})
    if as_json:
        print_json({"models": records, "failed": len(failed)})
    for row in failed:
        _tell_failed(row)
    return 1 if failed else 0


def rows_of(voice: Voice, read: Reader | None) -> Iterator[Row]:
    """One row for each sentence and seed."""
    for text in SENTENCES:
        for seed in SEEDS:
            speech = voice.speak(text, seed, None)
            silence_pct = (
                round(100 * float(np.mean(np.abs(speech.sound) < _SILENCE)), 1) if len(speech.sound) else 100.0
            )
            rms = round(float(np.sqrt(np.mean(np.square(speech.sound)))), 4) if len(speech.sound) else 0.0
            heard = read(speech.sound) if read is not None else None
            errors = None if heard is None else word_errors(words(text), words(heard))
            problems = []
            if speech.stop != "eos":
                problems.append(f"stop {speech.stop}")
            if silence_pct > MOST_SILENCE_PCT:
                problems.append(f"silence {silence_pct} %")
            yield Row(
                text,
                seed,
                speech.stop,
                speech.frames,
                silence_pct,
                rms,
                heard,
                errors,
                len(words(text)),
                tuple(problems),
            )


@contextmanager
def _recogniser() -> Iterator[Reader | None]:
    """The Whisper of the settings, in French; None, told, where it cannot be used."""
    from kazeia_desktop.audio.resampler import resample
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.stt.whisper import WhisperRecognizer

    paths, settings = load_settings()
    try:
        model = ModelStore(paths.models_dir, Catalog.load()).require(settings.stt.model)
        recognizer = WhisperRecognizer(model, settings.stt.model_copy(update={"language": "fr"}))
    except KazeiaError as error:
        sys.stderr.write(f"kazeia: {error.told_in(system_language())}\n")
        yield None
        return
    try:
        yield lambda sound: recognizer.transcribe(resample(sound, _RATE_HZ, CAPTURE_RATE_HZ), 0, CancelToken()).text
    finally:
        recognizer.close()


def _print(row: Row) -> None:
    errors = "-" if row.word_errors is None else f"{row.word_errors}/{row.words}"
    mark = "" if not row.problems else "  !"
    print_text(
        f"{row.seed:6}{row.stop:>9}{row.frames:8}{row.silence_pct:7.1f} %{row.rms:8.4f}{errors:>10}{mark}"
        f"  {row.heard or ''}"
    )


def _tell_failed(row: Row) -> None:
    told = translate(
        "{text!r} with seed {seed} is not as expected: {problems}.",
        system_language(),
        text=row.text,
        seed=row.seed,
        problems=", ".join(row.problems),
    )
    sys.stderr.write(f"kazeia: {told}\n")
