"""The parent's end of `tts_engines`: a voice in a process of its own."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from kazeia_desktop.errors import InferenceError

_COMMAND: Final = (sys.executable, "-m", "kazeia_desktop.cli.tts_engines")
_PATIENCE_S: Final = 10.0


class EngineProcess:
    """Loads in `__enter__`, speaks on demand, ends in `__exit__`.

    Raises:
        InferenceError: from every method, when the voice fails or its process ends; with its last words.
    """

    def __init__(self, name: str, model_dir: Path, threads: int) -> None:
        self._name = name
        self._job = {"model_dir": str(model_dir), "threads": threads}
        self._process: subprocess.Popen[str] | None = None
        self._said: IO[str] | None = None

    def __enter__(self) -> "EngineProcess":
        # A file and not a pipe: nobody reads it while the voice speaks.
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            [*_COMMAND, self._name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            encoding="utf-8",
        )
        try:
            self.load_ms: float = self._ask(self._job)["load_ms"]
        except InferenceError:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None and self._said is not None
        if error is not None:
            self._process.kill()
        try:
            self._process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._said.close()

    def speak(self, text: str, seed: int, frames: int | None) -> dict[str, Any]:
        """The answer of `tts_engines` to one text."""
        return self._ask({"text": text, "seed": seed, "frames": frames})

    def speak_all(self, texts: Sequence[str], seed: int, frames: int, together: bool, streamed: bool) -> dict[str, Any]:
        """The answer of `tts_engines` to several texts, at once or one after the other."""
        return self._ask(
            {"texts": list(texts), "seed": seed, "frames": frames, "together": together, "streamed": streamed}
        )

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        line = self._process.stdout.readline()
        if not line:
            raise self._failure()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise InferenceError("{engine} failed: {reason}", engine=self._name, reason=answer["error"])
        return answer

    def _failure(self) -> InferenceError:
        assert self._process is not None and self._said is not None
        self._process.wait()
        self._said.seek(0)
        last = (self._said.read().strip().splitlines() or [f"exit code {self._process.returncode}"])[-1]
        return InferenceError("{engine} failed: {reason}", engine=self._name, reason=last)
