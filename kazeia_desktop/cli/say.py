"""`kazeia say`: text to speech alone, to the loudspeaker or a file."""

import argparse
import contextlib
import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from kazeia_desktop.audio.base import SpeechSink
from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.errors import AudioFormatError, UsageError
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import Clause, FloatArray, IntArray, SpeechFrame
from kazeia_desktop.pipeline.cushion import Cushion
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.translations import system_language, translate
from kazeia_desktop.tts.base import SpeechSynthesizer

if TYPE_CHECKING:
    from kazeia_desktop.tts.qwen3_options import SpeechStats
    from kazeia_desktop.tts.qwen3_voice import Qwen3Voice

FRAMES_PER_S: Final = 12.5
"""The unit of RTF everywhere: time / (frames / 12.5)."""
_SILENCE: Final = 0.01
_TURN: Final = 1
_INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, as a shell gives it."""


def register(commands: Subparsers) -> None:
    """Add `say`."""
    parser = commands.add_parser(
        "say", help="text to speech", description="Speaks a text, or writes it to a WAV file with -o."
    )
    parser.add_argument("text", metavar="TEXT", help='what to say; "-" reads standard input')
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.wav", help="write here instead of speaking")
    parser.add_argument("--voice", help="default: the setting tts.voice; `kazeia voices list` shows them")
    parser.add_argument(
        "--engine", choices=("auto", "qwen3", "kokoro", "system"), help="default: the setting tts.engine"
    )
    parser.add_argument("--language", choices=("fr", "en"), help="default: the setting tts.language")
    parser.add_argument("--seed", type=int, metavar="N", help="for voices that sample; the light voice does not")
    parser.add_argument("--model", metavar="DIR", help="Kazeia's own voice: a directory of `kazeia models convert`")
    parser.add_argument("--threads", type=int, metavar="N", help="Kazeia's own voice: of each of its stages")
    parser.add_argument("--stream-frames", type=int, metavar="K", help="Kazeia's own voice only")
    parser.add_argument("--codes-out", type=Path, metavar="F.npy", help="Kazeia's own voice only")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


@dataclass(slots=True)
class Said:
    """What was spoken. spent_s: time in the voice, waiting for the loudspeaker not counted."""

    sounds: list[FloatArray] = field(default_factory=list)
    rate_hz: int = 0
    spent_s: float = 0.0
    first_s: float | None = None
    cancelled: bool = False
    stats: "list[SpeechStats]" = field(default_factory=list)
    """One a clause, from Kazeia's own voice."""

    @property
    def codes(self) -> IntArray:
        """(frames, 16) int32."""
        return np.concatenate([stats.codes for stats in self.stats])

    @property
    def sound(self) -> FloatArray:
        return np.concatenate(self.sounds) if self.sounds else np.zeros(0, np.float32)


def run(options: argparse.Namespace) -> int:
    """Split, normalise and speak; figures as `kazeia say --json` promises them."""
    from kazeia_desktop.audio.wav import write_wav
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.pipeline.builder import make_synthesizer, voice_engine
    from kazeia_desktop.tts.qwen3_voice import Qwen3Voice

    text = sys.stdin.buffer.read().decode("utf-8", "replace") if options.text == "-" else options.text
    paths, settings = load_settings()
    settings = _with_flags(settings, options)
    clauses = _clauses(text, settings)
    if not clauses:
        raise UsageError("There is nothing to say in {text!r}.", text=text[:60])
    store = ModelStore(paths.models_dir, Catalog.load())
    if voice_engine(settings, store, paths) != "qwen3":
        _refuse_own_flags(options)
    if options.output is not None:
        _check_place(options.output)
    if options.codes_out is not None:
        _check_place(_codes_file(options.codes_out))
    cancel = CancelToken()
    with contextlib.ExitStack() as stack:
        sink = None if options.output is not None else _loudspeaker(settings, stack)
        voice = make_synthesizer(settings, store, paths)
        own = voice if isinstance(voice, Qwen3Voice) else None
        stack.callback(voice.close)
        stack.enter_context(_interrupt_sets(cancel))
        said = _speak(voice, clauses, sink, cancel, own)
        if sink is not None:
            sink.wait_played(_TURN, cancel)
        name = voice.name
        if own is not None:
            _tell_slow(own, said)
    if options.output is not None:
        write_wav(options.output, said.sound, said.rate_hz)
    if options.codes_out is not None:
        _write_codes(_codes_file(options.codes_out), said.codes)
    if options.json:
        print_json(_record(said, name, options))
    elif options.output is not None:
        seconds = len(said.sound) / said.rate_hz
        print_text(
            translate("{seconds:.1f} s of speech in {path}", system_language(), seconds=seconds, path=options.output)
        )
    return _INTERRUPTED if cancel.is_set() else 0


def _with_flags(settings: Settings, options: argparse.Namespace) -> Settings:
    from kazeia_desktop.settings.store import with_value
    from kazeia_desktop.tts.voices import engine_of

    for name in ("voice", "engine", "language", "model", "seed", "stream_frames"):
        if getattr(options, name) is not None:
            settings = with_value(settings, f"tts.{name}", str(getattr(options, name)))
    if options.threads is not None:
        for stage in ("talker", "code_predictor", "codec"):
            settings = with_value(settings, f"tts.{stage}_threads", str(options.threads))
    if options.model is not None and options.engine is None:
        settings = with_value(settings, "tts.engine", "qwen3")
    if (
        options.engine is None
        and options.model is None
        and options.voice is not None
        and engine_of(options.voice) is not None
    ):
        settings = with_value(settings, "tts.engine", engine_of(options.voice) or "auto")
    return settings


def _clauses(text: str, settings: Settings) -> list[Clause]:
    """The clauses that have something to say, cut and read as those of a reply."""
    from kazeia_desktop.text.clause_splitter import ClauseSplitter
    from kazeia_desktop.text.normalizer import normalize

    splitter = ClauseSplitter(settings.tts.early_comma, settings.tts.language)
    shown = [*splitter.push(text), *splitter.finish()]
    spoken = [(clause, said) for clause in shown if (said := normalize(clause, settings.tts.language))]
    return [Clause(_TURN, i, clause, said, i == len(spoken) - 1) for i, (clause, said) in enumerate(spoken)]


def _check_place(path: Path) -> None:
    """Tell at once, and not after the whole text was spoken, that the file cannot be written."""
    folder = path.parent
    reason = ""
    if not folder.is_dir():
        reason = f"no folder {folder}"
    elif path.is_dir():
        reason = "is a folder"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        reason = "no permission"
    if reason:
        raise _not_written(path, reason)


def _not_written(path: Path, reason: str) -> AudioFormatError:
    return AudioFormatError("{path} cannot be written ({reason}): choose another place.", path=path, reason=reason)


def _codes_file(path: Path) -> Path:
    """NumPy appends its suffix where the name has none."""
    return path if path.name.endswith(".npy") else path.with_name(f"{path.name}.npy")


def _write_codes(path: Path, codes: IntArray) -> None:
    try:
        np.save(path, codes)
    except OSError as error:
        raise _not_written(path, error.strerror or str(error)) from error


def _loudspeaker(settings: Settings, stack: contextlib.ExitStack) -> SpeechSink:
    from kazeia_desktop.audio.playback import Playback

    sink = Playback(settings.audio, _tell)
    sink.start()
    stack.callback(sink.stop)
    return sink


def _tell(event: Event) -> None:
    if isinstance(event, Notice):
        sys.stderr.write(translate(event.template, system_language(), **event.values) + "\n")


def _tell_slow(voice: "Qwen3Voice", said: "Said") -> None:
    """One line where the voice is slower than it speaks."""
    frames = sum(stats.frames for stats in said.stats)
    elapsed_s = sum(stats.elapsed_s for stats in said.stats)
    if frames >= FRAMES_PER_S and (notice := voice.slowness(elapsed_s * FRAMES_PER_S / frames)) is not None:
        _tell(notice)


@contextlib.contextmanager
def _interrupt_sets(cancel: CancelToken) -> Iterator[None]:
    """Ctrl-C ends the speech at once, and what was said until then is still written and told."""
    before = signal.signal(signal.SIGINT, lambda *_: cancel.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _refuse_own_flags(options: argparse.Namespace) -> None:
    for flag in ("--stream-frames", "--codes-out", "--threads"):
        if getattr(options, flag[2:].replace("-", "_")) is not None:
            raise UsageError("{flag} needs Kazeia's own voice, which does not speak here.", flag=flag)


def _speak(
    voice: SpeechSynthesizer,
    clauses: Sequence[Clause],
    sink: SpeechSink | None,
    cancel: CancelToken,
    own: "Qwen3Voice | None",
) -> Said:
    """All clauses; each frame goes to the loudspeaker as it comes."""
    said = Said(rate_hz=voice.sample_rate_hz)
    cushion = Cushion(_tell)
    for clause in clauses:
        made = _made(voice, clause, cancel, said)
        if sink is not None and own is not None:
            made = cushion.frames(clause, made, own.pace, partial(_ahead_s, sink, said), cancel.wait)
        for frame in made:
            if sink is not None:
                sink.write(_ended(frame, clause), cancel)
        if own is not None:
            said.stats.append(own.stats)
        if cancel.is_set():
            break
    said.cancelled = cancel.is_set()
    return said


def _made(voice: SpeechSynthesizer, clause: Clause, cancel: CancelToken, said: Said) -> Iterator[SpeechFrame]:
    """The clause's frames, kept and timed."""
    resumed = time.perf_counter()
    for frame in voice.synthesize(clause, cancel):
        said.spent_s += time.perf_counter() - resumed
        if len(frame.samples):
            said.first_s = said.spent_s if said.first_s is None else said.first_s
            said.sounds.append(frame.samples)
            said.rate_hz = frame.sample_rate_hz
        yield frame
        resumed = time.perf_counter()


def _ahead_s(sink: SpeechSink, said: Said) -> float:
    """How long the loudspeaker still plays."""
    return sum(part.total_samples - part.played_samples for part in sink.heard(_TURN)) / said.rate_hz


def _ended(frame: SpeechFrame, clause: Clause) -> SpeechFrame:
    return replace(frame, end_of_turn=frame.end_of_clause and clause.last)


def _record(said: Said, voice: str, options: argparse.Namespace) -> dict[str, object]:
    """The keys of `kazeia say --json`; what the light voice has no figure for is null."""
    sound = said.sound
    seconds = len(sound) / said.rate_hz
    silent = float(np.mean(np.abs(sound) < _SILENCE)) if len(sound) else 1.0
    pcm = np.clip(np.round(sound * 32768.0), -32768, 32767).astype("<i2")  # as write_wav does
    frames = sum(stats.frames for stats in said.stats)

    def mean(stage: str) -> float | None:
        """Per frame, over all clauses."""
        if not frames:
            return None
        total: float = sum(getattr(stats, stage) * stats.frames for stats in said.stats)
        return round(total / frames, 2)

    stops = [stats.stop for stats in said.stats]
    return {
        "frames": frames or round(seconds * FRAMES_PER_S),
        "chunks": len(said.sounds),
        "seed": said.stats[0].seed if said.stats else options.seed,
        "stop": "cancel" if said.cancelled else next((stop for stop in stops if stop != "eos"), "eos"),
        "retries": sum(stats.retries for stats in said.stats),
        "audio_seconds": round(seconds, 3),
        "ttfa_ms": None if said.first_s is None else round(said.first_s * 1000, 1),
        "rtf": round(said.spent_s / seconds, 3) if seconds else None,
        "talker_ms": mean("talker_ms"),
        "code_predictor_ms": mean("code_predictor_ms"),
        "codec_ms": mean("codec_ms"),
        "rms": round(float(np.sqrt(np.mean(np.square(sound)))), 4) if len(sound) else 0.0,
        "silence_pct": round(100 * silent, 1),
        "sha256": hashlib.sha256(pcm.tobytes()).hexdigest(),
        "voice": voice,
        "output": str(options.output) if options.output is not None else None,
    }
