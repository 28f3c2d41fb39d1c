"""`kazeia transcribe`: speech to text of files, whatever their length, rate and channels."""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.frames import CAPTURE_RATE_HZ, FloatArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.translations import system_language, translate

if TYPE_CHECKING:
    from kazeia_desktop.stt.whisper import WhisperRecognizer

_PROGRESS_FROM_S: Final = 60.0


def register(commands: Subparsers) -> None:
    """Add `transcribe`."""
    parser = commands.add_parser(
        "transcribe", help="speech to text", description="Speech to text of WAV files; the model is loaded once."
    )
    parser.add_argument("wav", type=Path, nargs="+", metavar="WAV")
    parser.add_argument("--language", choices=("fr", "en", "auto"), help="default: the setting stt.language")
    parser.add_argument("--model", help="default: the setting stt.model")
    parser.add_argument("--precision", choices=("mixed", "int8", "float32"), help="default: the setting stt.precision")
    parser.add_argument("--json", action="store_true", help="one JSON line a file")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """All files; a bad one is told and the others are still done, then the exit code is 1."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.settings.store import with_value
    from kazeia_desktop.stt.whisper import WhisperRecognizer

    paths, settings = load_settings()
    for name in ("language", "model", "precision"):
        if getattr(options, name):
            settings = with_value(settings, f"stt.{name}", getattr(options, name))
    store = ModelStore(paths.models_dir, Catalog.load())
    recognizer = WhisperRecognizer(store.require(settings.stt.model), settings.stt)
    failed = False
    try:
        for path in options.wav:
            try:
                _transcribe(recognizer, path, options)
            except KazeiaError as error:
                failed = True
                sys.stderr.write(f"kazeia: {error.told_in(system_language())}\n")
    finally:
        recognizer.close()
    return 1 if failed else 0


def _transcribe(recognizer: "WhisperRecognizer", path: Path, options: argparse.Namespace) -> None:
    from kazeia_desktop.audio.wav import wav_info
    from kazeia_desktop.stt.long_form import transcribe_long

    info = wav_info(path)
    started = time.perf_counter()
    windows = []
    try:
        for window in transcribe_long(recognizer, _blocks(path, info.rate_hz), CancelToken()):
            windows.append(window)
            if info.duration_s > _PROGRESS_FROM_S:
                _show_progress(window.segments[0].end_s if window.segments else 0.0, info.duration_s, started)
    finally:
        if info.duration_s > _PROGRESS_FROM_S:
            sys.stderr.write("\n")
    spoken = [window for window in windows if window.text]
    text = " ".join(window.text for window in spoken)
    if not options.json:
        print_text(text if len(options.wav) == 1 else f"{path}: {text}")
        return
    n_tokens = sum(window.n_tokens for window in windows)
    decoder_ms = sum(window.decoder_ms_per_token * window.n_tokens for window in windows)
    print_json(
        {
            "file": str(path),
            "text": text,
            "language": spoken[0].language if spoken else None,
            "segments": [
                {"start_s": round(s.start_s, 2), "end_s": round(s.end_s, 2), "text": s.text}
                for window in spoken
                for s in window.segments
            ],
            "rtf": round((time.perf_counter() - started) / info.duration_s, 4),
            "encoder_ms": round(sum(window.encoder_ms for window in windows), 1),
            "decoder_ms_per_token": round(decoder_ms / max(1, n_tokens), 2),
        }
    )


def _blocks(path: Path, rate_hz: int) -> Iterator[FloatArray]:
    """The file at 16 kHz, block by block."""
    from kazeia_desktop.audio.resampler import Resampler
    from kazeia_desktop.audio.wav import read_blocks

    if rate_hz == CAPTURE_RATE_HZ:
        yield from read_blocks(path)
        return
    resampler = Resampler(rate_hz, CAPTURE_RATE_HZ)
    for block in read_blocks(path):
        yield resampler.push(block)
    yield resampler.flush()


def _show_progress(done_s: float, total_s: float, started: float) -> None:
    spent = time.perf_counter() - started
    left_s = spent * (total_s - done_s) / max(done_s, 1.0)
    text = translate(
        "{percent:3.0f} %, {minutes:.0f} min left",
        system_language(),
        percent=min(100.0, 100 * done_s / total_s),
        minutes=left_s / 60,
    )
    sys.stderr.write(f"\r  {text}   ")
    sys.stderr.flush()
