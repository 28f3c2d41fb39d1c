"""Opens altered model directories in a process of its own, which may crash, hang or swell: that is what is looked for.

As a module, `python -m tests.voice_trial MODEL SEED RANDOM_BYTES GRAPH_CHANGES`: reads numbers of alterations from its
input, and writes one line of JSON for each.
"""

import faulthandler
import json
import os
import resource
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kazeia_desktop.errors import KazeiaError, ModelError
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_options import SpeechOptions
from tests.fakes.micro_voice import write_checkpoint
from tests.sanitized import environment
from tests.voice_fuzz import Alteration, Alterations

TIMEOUT_S = 20.0
MEMORY_BYTES = 1_000_000_000
"""That one model of some megabytes may take at most, on top of what the first took."""
ROOT = Path(__file__).parent.parent
GOOD = ("refused", "spoken")
PARTS = ("tensor", "key", "field", "reason")
"""What an error may name besides the file."""
SIZES = (400, 1500)
"""Of random bytes for each file, and of changes for each graph."""


def small_models(directory: Path) -> Iterator[Path]:
    """Converted models of some megabytes: Base in q8_0, CustomVoice with a projection in f32."""
    for dtype, options in (("q8_0", {}), ("f32", {"kind": "custom_voice", "projection": True, "seed": 2})):
        checkpoint = write_checkpoint(directory / f"{dtype} checkpoint", **options)  # type: ignore[arg-type]
        yield convert(OfficialSource(checkpoint), directory / dtype, dtype).directory


@dataclass
class Report:
    """What came of a number of alterations. counts: how often each outcome, and what the refusals named."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    peak_bytes: int = 0

    def add(self, name: str, outcome: str, told: str, seconds: float = 0.0, peak: int = 0) -> None:
        self.counts[outcome] += 1
        outcome = outcome.split()[0]
        self.slowest_s, self.peak_bytes = max(self.slowest_s, seconds), max(self.peak_bytes, peak)
        if outcome not in GOOD:
            self.problems.append(f"{outcome}: {name}: {told}")


def judge(directory: Path, seed: int, talker: str) -> tuple[str, str]:
    """(what came of it, what was said): "refused" by a ModelError that names a file, or "spoken", in finite sound."""
    try:
        tts = Qwen3Tts.load(directory, 1, talker=talker)
        options = SpeechOptions(language="auto", seed=seed, max_frames=2)
        frames = list(tts.synthesize("Bonjour, Kazeia.", None, options, CancelToken()))
        sound = np.concatenate([frame.samples for frame in frames])
        if tts.speaker_encoder is not None:
            noise = np.random.default_rng(seed).standard_normal(24_000, dtype=np.float32) * np.float32(0.1)
            sound = np.concatenate([sound, tts.speaker_embedding(noise)])
    except ModelError as error:
        line = str(error)
        place = str(error.values.get("file", error.values.get("path", "")))
        named = str(directory) in place and place in line
        one_line = line.count("\n") == 0 and len(line) < 1000 and error.told_in("fr") != line
        part = next((name for name in PARTS if name in error.values), "file")
        return (f"refused {part}" if named and one_line else "unnamed"), line
    except KazeiaError as error:
        return type(error).__name__, str(error)
    except Exception as error:  # noqa: BLE001 - it is told
        return "exception", f"{type(error).__name__}: {error}"
    return ("spoken" if np.isfinite(sound).all() else "not finite"), f"{len(sound)} numbers"


def serve(model: Path, seed: int, sizes: Sequence[int]) -> None:
    """Answers on standard output, until standard input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    alterations = Alterations(model, seed, *sizes)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what native code prints does not disturb
    with tempfile.TemporaryDirectory(dir=model.parent) as base:  # links need the same file system
        for line in sys.stdin:
            index = int(line)
            directory = Path(base) / str(index)
            faulthandler.dump_traceback_later(0.9 * TIMEOUT_S)  # where it hangs, for the report
            alterations.write(index, directory)
            began = time.monotonic()
            outcome, told = judge(directory, seed, ("native", "llama")[index % 2])
            seconds = time.monotonic() - began
            faulthandler.cancel_dump_traceback_later()
            shutil.rmtree(directory)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            answers.write(json.dumps([index, outcome, told, seconds, peak]) + "\n")


class Trial:
    """A process that tries one alteration after the other, replaced when it is lost."""

    def __init__(self, model: Path, seed: int, sizes: Sequence[int], extension: Path | None = None) -> None:
        module = (
            ["tests.voice_trial"] if extension is None else ["tests.sanitized", str(extension), "tests.voice_trial"]
        )
        self._command = [sys.executable, "-m", *module, str(model), str(seed), *map(str, sizes)]
        self._environment = None if extension is None else environment()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        self._first_peak = 0
        self._buffer = b""

    def run(self, index: int, alteration: Alteration, report: Report) -> None:
        """Try one."""
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(f"{index}\n".encode())
        process.stdin.flush()
        patience = 1 if self._first_peak and self._environment is None else 3  # a start, or sanitizers
        line = self._answer(process, TIMEOUT_S * patience)
        if line is None:
            self._lost(process, alteration.name, report)
            return
        _, outcome, told, seconds, peak = json.loads(line)
        grown = peak - (self._first_peak or peak)
        self._first_peak = self._first_peak or peak
        if grown > MEMORY_BYTES:
            outcome, told = "memory", f"{grown / 1e6:.0f} MB; {told}"
            self.close()
        report.add("" if outcome.split()[0] in GOOD else alteration.name, outcome, told, seconds, peak)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                pipe.close()
            self._process = None
        self._first_peak = 0
        self._buffer = b""

    def end(self) -> None:
        """End the process, and forget what it said."""
        self.close()
        self._errors.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self._errors.seek(0)
        self._errors.truncate()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=ROOT,
            env=self._environment,
        )
        return self._process

    def _answer(self, process: subprocess.Popen[bytes], timeout_s: float) -> bytes | None:
        assert process.stdout is not None
        end = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(end - time.monotonic(), 0)):
                    return None
                got = os.read(process.stdout.fileno(), 65536)
                if not got:
                    return None
                self._buffer += got
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _lost(self, process: subprocess.Popen[bytes], name: str, report: Report) -> None:
        try:
            outcome = f"crash {process.wait(0.5)}"
        except subprocess.TimeoutExpired:
            outcome = "hang"
        self.close()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        report.add(name, outcome, " | ".join(said[-12:])[-1000:])


def try_some(
    model: Path, count: int | None, seed: int = 0, only: str = "", report: Report | None = None,
    extension: Path | None = None,
) -> Report:  # fmt: skip
    """Try alterations one after the other.

    Args:
        count: how many, evenly spread over all that there are; None: all.
        only: how their names begin.
        report: grows meanwhile.
        extension: another build of it, with sanitizers; see tests/sanitized.py.
    """
    alterations, report, trial = (
        Alterations(model, seed, *SIZES),
        report or Report(),
        Trial(model, seed, SIZES, extension),
    )
    chosen = [index for index, one in enumerate(alterations.all) if not only or one.name.startswith(only)]
    if count is not None and count < len(chosen):
        chosen = [chosen[at * len(chosen) // count] for at in range(count)]
    try:
        for index in chosen:
            trial.run(index, alterations.all[index], report)
    finally:
        trial.end()
    return report


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), [int(value) for value in sys.argv[3:]])
