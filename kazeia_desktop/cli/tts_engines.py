"""One voice in a process of its own, so that its memory is its own: what `kazeia bench tts` starts.

    python -m kazeia_desktop.cli.tts_engines kazeia|qwentts.cpp

Standard input: a JSON line with the job, then one a text to speak; each is answered by a JSON line on standard
output. The end of the input ends the process.
"""

import dataclasses
import importlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

import numpy as np

from kazeia_desktop.cli.say import FRAMES_PER_S
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken

if TYPE_CHECKING:
    from kazeia_desktop.tts.qwen3 import Qwen3Tts

OURS: Final = "kazeia"
PEER: Final = "qwentts.cpp"
PEER_MODULE: Final = "qwentts_cpp_cpu"
"""What the wheel realtimetts-qwen-native-cpu installs."""
STAGES: Final = ("talker_ms", "code_predictor_ms", "codec_ms")
_SAMPLES_PER_FRAME: Final = 1920
_UNLIMITED: Final = 4096
"""Frames; the voice's own budget ends a text long before."""


def qwentts_folder(paths: Paths) -> Path:
    """Where tools/make_qwentts_models.py puts the peer's files, a folder a weight type."""
    return paths.cache_dir / "qwentts"


@dataclass(slots=True)
class Speech:
    """One text spoken by one voice.

    Attributes:
        sound: (n,) float32 at 24 kHz.
        frames: codec frames of 80 ms.
        spent_s: from the call to the last sample.
        first_s: from the call to the first sample.
        stop: eos, budget, silence, loop or cancel; "" where the voice does not tell.
        stages: mean ms a frame of each of STAGES that the voice tells.
        profile: stage -> part -> ms a frame, where the voice tells.
    """

    sound: FloatArray
    frames: int
    spent_s: float
    first_s: float
    stop: str = ""
    stages: dict[str, float | None] = field(default_factory=dict)
    profile: Mapping[str, Any] | None = None


class Voice(Protocol):
    """Speaks one text at a time."""

    def speak(self, text: str, seed: int, max_frames: int | None) -> Speech:
        """`text` in French, streamed; at most `max_frames` frames where given."""
        ...


class KazeiaVoice:
    """Our own engine: the one place of the benchmarks that knows its interface.

    Args:
        voice: an added voice or one of the model's speakers; None: its first speaker, or none at all.
    Raises:
        ModelError: the directory is not a converted model.
        SettingsError: there is no such voice.
    """

    def __init__(self, model_dir: Path, threads: int, voice: str | None = None) -> None:
        from kazeia_desktop.tts.qwen3 import Qwen3Tts

        self._tts = Qwen3Tts.load(model_dir, threads=threads)
        self._voice = _voice(self._tts, model_dir, voice)

    def speak(self, text: str, seed: int, max_frames: int | None) -> Speech:
        """See Voice."""
        from kazeia_desktop.tts.qwen3_options import SpeechOptions

        options = SpeechOptions(language="french", seed=seed, max_frames=max_frames)
        speech = _timed(frame.samples for frame in self._tts.synthesize(text, self._voice, options, CancelToken()))
        stats = self._tts.stats
        speech.frames, speech.stop, speech.profile = max(1, stats.frames), stats.stop, stats.profile
        speech.stages = {name: getattr(stats, name) for name in STAGES}
        return speech

    def speak_all(self, texts: Sequence[str], seed: int, frames: int, together: bool, streamed: bool) -> Speech:
        """Several texts, each of exactly as many frames: at once, or one after the other.

        Args:
            streamed: the codec works while codes are drawn; else after those of a text.
        """
        from kazeia_desktop.tts.qwen3_clause import Spoken
        from kazeia_desktop.tts.qwen3_options import SpeechOptions

        def spoken(index: int) -> Spoken:
            options = SpeechOptions(language="french", seed=seed + index, max_frames=frames)
            if not streamed:
                options = dataclasses.replace(options, stream_frames=0)
            return Spoken(texts[index], self._voice, options)

        given = [spoken(index) for index in range(len(texts))]
        runs = [given] if together else [[one] for one in given]
        told = []
        started = time.perf_counter()
        for run in runs:
            told += [self._tts.stats for frame in self._tts.synthesize_all(run, CancelToken()) if frame.end_of_clause]
        spent_s = time.perf_counter() - started
        n = max(1, sum(stats.frames for stats in told))
        stages: dict[str, float | None] = {
            name: sum(getattr(stats, name) * stats.frames for stats in told) / n for name in STAGES
        }
        return Speech(np.zeros(0, np.float32), n, spent_s, 0.0, told[0].stop if told else "", stages)


def _voice(tts: "Qwen3Tts", model_dir: Path, name: str | None) -> FloatArray | str | None:
    from kazeia_desktop.tts.speaker_encoder import SpeakerEncoder
    from kazeia_desktop.tts.voice_store import VoiceStore

    told = tts.manifest.description
    if name is None:
        return next(iter(told.speakers), None)
    if name.lower() in told.speakers:
        return name
    store = VoiceStore.of(Paths.from_environment())
    encoder = SpeakerEncoder.load(model_dir) if told.speaker_encoder else None
    return store.xvector_for(store.get(name), told.name, told.talker.hidden, encoder)


class QwenttsVoice:
    """qwentts.cpp, with its defaults: decoding in turn with generating is its fastest on two cores."""

    _TOLD = re.compile(r"\[Perf\] (TalkerDecode|CodePredictor|CodecDecode) +([0-9.]+) ms")

    def __init__(self, model_dir: Path, threads: int) -> None:
        module = importlib.import_module(PEER_MODULE)
        files = (str(model_dir / "talker.gguf"), str(model_dir / "tokenizer.gguf"))
        self._tts: Any = module.QwenTTS(*files, cpu_threads=threads)
        self._told: list[str] = []
        self._tts.set_log_callback(lambda _level, text: self._told.append(str(text)))

    def speak(self, text: str, seed: int, max_frames: int | None) -> Speech:
        """See Voice."""
        self._told.clear()
        stream = self._tts.stream(text=text, lang="french", seed=seed, max_new_tokens=max_frames or _UNLIMITED)
        speech = _timed(samples for samples, _ in stream)
        found = {m[1]: float(m[2]) for line in self._told if (m := self._TOLD.search(line))}
        names = zip(STAGES, ("TalkerDecode", "CodePredictor", "CodecDecode"), strict=True)
        speech.stages = {ours: found[its] / speech.frames if its in found else None for ours, its in names}
        return speech


def _timed(chunks: Iterable[FloatArray]) -> Speech:
    """Runs through `chunks`, whose making starts here."""
    started = time.perf_counter()
    first_s, sounds = 0.0, []
    for chunk in chunks:
        if len(chunk):
            first_s = first_s or time.perf_counter() - started
            sounds.append(chunk)
    spent_s = time.perf_counter() - started
    sound = np.concatenate(sounds) if sounds else np.zeros(0, np.float32)
    return Speech(sound, max(1, round(len(sound) / _SAMPLES_PER_FRAME)), spent_s, first_s)


def peak_rss_mb() -> float | None:
    """The most memory that this process had resident; None where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would tell the parent's peak: Linux keeps it across fork and exec
        (line,) = (line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM:"))
        return round(int(line.split()[1]) / 1024, 1)
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return None
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    peak: float = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return round(peak, 1)


_MODULES: Final = {OURS: "kazeia_desktop.tts.qwen3", PEER: PEER_MODULE}
_MAKERS: Final[dict[str, Callable[[Path, int], Voice]]] = {OURS: KazeiaVoice, PEER: QwenttsVoice}


def serve(make: Callable[[Path, int], Voice], lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """An answer to each line.

    The first line is {"model_dir", "threads"}, the others {"text", "seed", "frames"}, or for Kazeia's own
    {"texts", "seed", "frames", "together", "streamed"}. A KazeiaError is answered by {"error"} and ends it; other
    errors are the caller's.
    """
    job = json.loads(next(lines))
    started = time.perf_counter()
    try:
        voice = make(Path(job["model_dir"]), job["threads"])
        yield {"load_ms": round((time.perf_counter() - started) * 1000, 1)}
        for line in lines:
            asked = json.loads(line)
            if "texts" in asked and isinstance(voice, KazeiaVoice):
                yield _record(voice.speak_all(**asked))
            else:
                yield _record(voice.speak(asked["text"], asked["seed"], asked["frames"]))
    except KazeiaError as error:
        yield {"error": str(error)}


def _record(speech: Speech) -> dict[str, Any]:
    return {
        "frames": speech.frames,
        "rtf": speech.spent_s * FRAMES_PER_S / speech.frames,
        "ttfa_ms": speech.first_s * 1000,
        **{name: speech.stages.get(name) for name in STAGES},
        "stop": speech.stop,
        "profile": speech.profile,
        "peak_rss_mb": peak_rss_mb(),
    }


def _own_stdout() -> TextIO:
    """The real standard output; what native libraries print goes to standard error instead."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def main() -> None:
    """Serve standard input until its end."""
    answers = _own_stdout()
    importlib.import_module(_MODULES[sys.argv[1]])  # before the time to load is taken
    for answer in serve(_MAKERS[sys.argv[1]], iter(sys.stdin.readline, "")):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
