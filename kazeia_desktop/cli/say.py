"""`kazeia say`: text to speech alone, to the loudspeaker or a file."""

import argparse
import hashlib
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.errors import UsageError
from kazeia_desktop.frames import Clause, FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.translations import system_language, translate

FRAMES_PER_S: Final = 12.5
"""The unit of RTF everywhere: time / (frames / 12.5)."""
_SILENCE: Final = 0.01
_LONGEST_S: Final = 3600.0


def register(commands: Subparsers) -> None:
    """Add `say`."""
    parser = commands.add_parser(
        "say", help="text to speech", description="Speaks a text, or writes it to a WAV file with -o."
    )
    parser.add_argument("text", metavar="TEXT", help='what to say; "-" reads standard input')
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.wav", help="write here instead of speaking")
    parser.add_argument("--voice", help="default: the setting tts.voice")
    parser.add_argument("--engine", choices=("auto", "kokoro", "system"), help="default: the setting tts.engine")
    parser.add_argument("--language", choices=("fr", "en"), help="default: the setting tts.language")
    parser.add_argument("--seed", type=int, metavar="N", help="for voices that sample; the light voice does not")
    parser.add_argument("--stream-frames", type=int, metavar="K", help="Kazeia's own voice only")
    parser.add_argument("--codes-out", type=Path, metavar="F.npy", help="Kazeia's own voice only")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Split, normalise and speak; figures as `kazeia say --json` promises them."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.pipeline.builder import make_synthesizer
    from kazeia_desktop.settings.store import with_value

    for flag, value in (("--stream-frames", options.stream_frames), ("--codes-out", options.codes_out)):
        if value is not None:
            raise UsageError("{flag} needs Kazeia's own voice, which this version does not have yet.", flag=flag)
    paths, settings = load_settings()
    for name in ("voice", "engine", "language"):
        if getattr(options, name):
            settings = with_value(settings, f"tts.{name}", getattr(options, name))
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if options.text == "-" else options.text
    clauses = _clauses(text, settings.tts.language)
    if not clauses:
        raise UsageError("There is nothing to say in {text!r}.", text=text[:60])
    voice = make_synthesizer(settings, ModelStore(paths.models_dir, Catalog.load()))
    started = time.perf_counter()
    first_s: float | None = None
    frames: list[SpeechFrame] = []
    try:
        for clause in clauses:
            for frame in voice.synthesize(clause, CancelToken()):
                if len(frame.samples):
                    first_s = first_s or time.perf_counter()
                    frames.append(frame)
        spent_s = time.perf_counter() - started
        rate_hz, name = voice.sample_rate_hz, voice.name
    finally:
        voice.close()
    sound = np.concatenate([frame.samples for frame in frames]) if frames else np.zeros(0, np.float32)
    _deliver(frames, sound, rate_hz, options.output)
    record = _record(sound, rate_hz, len(frames), spent_s, None if first_s is None else first_s - started)
    record |= {"voice": name, "seed": options.seed, "output": str(options.output) if options.output else None}
    if options.json:
        print_json(record)
    elif options.output:
        done = translate(
            "{seconds:.1f} s of speech in {path}", system_language(), seconds=len(sound) / rate_hz, path=options.output
        )
        print_text(done)
    return 0


def _clauses(text: str, language: str) -> list[Clause]:
    from kazeia_desktop.text.clause_splitter import ClauseSplitter
    from kazeia_desktop.text.normalizer import normalize

    splitter = ClauseSplitter(early_comma=False)
    shown = [*splitter.push(text), *splitter.finish()]
    spoken = [(clause, said) for clause in shown if (said := normalize(clause, language))]
    return [Clause(1, i, clause, said, i == len(spoken) - 1) for i, (clause, said) in enumerate(spoken)]


def _deliver(frames: list[SpeechFrame], sound: FloatArray, rate_hz: int, output: Path | None) -> None:
    """To the file, or to the loudspeaker until it has been heard."""
    from kazeia_desktop.audio.playback import Playback
    from kazeia_desktop.audio.wav import write_wav

    if output is not None:
        write_wav(output, sound, rate_hz)
        return
    _, settings = load_settings()
    sink = Playback(settings.audio, lambda event: None)
    sink.start()
    cancel = CancelToken()
    try:
        sink.write(SpeechFrame(1, 0, sound, rate_hz, end_of_clause=True, end_of_turn=True), cancel)
        sink.wait_played(1, cancel)
    finally:
        sink.stop()


def _record(sound: FloatArray, rate_hz: int, n_chunks: int, spent_s: float, first_s: float | None) -> dict[str, object]:
    """The keys of `kazeia say --json`; what the light voice has no figure for is null."""
    seconds = len(sound) / rate_hz
    silent = float(np.mean(np.abs(sound) < _SILENCE)) if len(sound) else 1.0
    pcm = np.round(np.clip(sound, -1, 1) * 32767).astype("<i2")
    return {
        "frames": round(seconds * FRAMES_PER_S),
        "chunks": n_chunks,
        "stop": "eos",
        "audio_seconds": round(seconds, 3),
        "ttfa_ms": None if first_s is None else round(first_s * 1000, 1),
        "rtf": round(spent_s / seconds, 3) if seconds else None,
        "talker_ms": None,
        "code_predictor_ms": None,
        "codec_ms": None,
        "rms": round(float(np.sqrt(np.mean(np.square(sound)))), 4) if len(sound) else 0.0,
        "silence_pct": round(100 * silent, 1),
        "sha256": hashlib.sha256(pcm.tobytes()).hexdigest(),
    }
