"""The child process of `kazeia bench tts`, on stand-ins for the engines."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kazeia_desktop.cli.tts_engines import STAGES, KazeiaVoice, QwenttsVoice, peak_rss_mb, serve
from kazeia_desktop.errors import ModelMissingError, SettingsError
from kazeia_desktop.frames import SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3_options import SpeechOptions, SpeechStats

pytestmark = pytest.mark.unit

QWENTTS = """
import os
import numpy as np

class QwenTTS:
    def __init__(self, talker, tokenizer, cpu_threads):
        assert talker.endswith("talker.gguf") and tokenizer.endswith("tokenizer.gguf")
        os.write(1, b"[Load] native chatter on standard output\\n")

    def set_log_callback(self, callback):
        self.log = callback

    def stream(self, *, text, lang, seed, max_new_tokens):
        assert lang == "french"
        for _ in range(max_new_tokens // 2):
            yield np.ones(3840, np.float32), 24000
        self.log(1, f"[Perf] TalkerDecode {60.0 * max_new_tokens} ms ({max_new_tokens} frames, 60.00 ms/frame)")
        self.log(1, f"[Perf] CodePredictor {90.5 * max_new_tokens} ms (90.50 ms/frame)")
        self.log(1, f"[Perf] CodecDecode {190.0 * max_new_tokens} ms")
        self.log(1, "[Perf] Total 1.0 ms")
"""


def qwentts(folder: Path) -> Path:
    package = folder / "qwentts_cpp_cpu"
    package.mkdir()
    (package / "__init__.py").write_text(QWENTTS, "utf-8")
    return folder


def lines(*records: dict[str, Any]) -> Iterator[str]:
    return iter([json.dumps(record) + "\n" for record in records])


def test_the_peer_in_its_process_answers_only_json(tmp_path: Path) -> None:
    asked = lines(
        {"model_dir": "somewhere", "threads": 2},
        {"text": "Bonjour.", "seed": 1, "frames": 8},
        {"text": "Bonsoir.", "seed": 2, "frames": 20},
    )
    done = subprocess.run(
        [sys.executable, "-m", "kazeia_desktop.cli.tts_engines", "qwentts.cpp"],
        input="".join(asked),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(qwentts(tmp_path))},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "native chatter" in done.stderr
    loaded, first, second = map(json.loads, done.stdout.splitlines())
    assert loaded["load_ms"] >= 0
    assert (first["frames"], second["frames"]) == (8, 20)
    assert [second[name] for name in STAGES] == [60.0, 90.5, 190.0]
    assert 0 < second["ttfa_ms"] <= second["rtf"] * 20 / 12.5 * 1000
    if sys.platform == "linux":
        assert 10 < second["peak_rss_mb"] < 1000


def test_stages_that_the_peer_does_not_tell_are_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(qwentts(tmp_path)))
    voice = QwenttsVoice(Path("x"), 1)
    monkeypatch.setattr(QwenttsVoice, "_TOLD", re.compile("(never) (1)"))
    speech = voice.speak("Bonjour.", 1, 4)
    assert speech.stages == dict.fromkeys(STAGES)
    assert len(speech.sound) == 4 * 1920
    monkeypatch.delitem(sys.modules, "qwentts_cpp_cpu")


class FakeTts:
    """What the adapter asks of kazeia_desktop.tts.qwen3."""

    manifest = SimpleNamespace(
        description=SimpleNamespace(
            name="fake", speakers={"vivian": 3065}, speaker_encoder=None, talker=SimpleNamespace(hidden=4)
        )
    )
    stats = SpeechStats()
    voice: object = None

    @classmethod
    def load(cls, model_dir: Path, threads: int) -> "FakeTts":
        if model_dir.name == "absent":
            raise ModelMissingError("The file {file} is missing.", file="talker.gguf")
        return cls()

    def synthesize(
        self, text: str, voice: object, options: SpeechOptions, cancel: CancelToken
    ) -> Iterator[SpeechFrame]:
        FakeTts.voice = voice
        assert (options.language, options.max_frames) == ("french", 5)
        for _ in range(5):
            yield SpeechFrame(0, 0, np.full(1920, 0.1, np.float32), 24_000)
        yield SpeechFrame(0, 0, np.zeros(0, np.float32), 24_000, end_of_clause=True)
        self.stats = SpeechStats(
            frames=5,
            stop="budget",
            talker_ms=1.0,
            code_predictor_ms=2.0,
            codec_ms=3.0,
            profile={"codec": {"compute": 0.5}},
        )


@pytest.fixture
def own_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("kazeia_desktop.tts.qwen3")
    module.__dict__.update(Qwen3Tts=FakeTts)
    monkeypatch.setitem(sys.modules, "kazeia_desktop.tts.qwen3", module)


@pytest.mark.usefixtures("own_engine")
def test_our_voice_tells_its_stages_and_profile() -> None:
    answers = serve(
        KazeiaVoice, lines({"model_dir": "here", "threads": 2}, {"text": "Bonjour.", "seed": 1, "frames": 5})
    )
    loaded, said = answers
    assert set(loaded) == {"load_ms"}
    assert (said["frames"], said["stop"]) == (5, "budget")
    assert [said[name] for name in STAGES] == [1.0, 2.0, 3.0]
    assert said["profile"] == {"codec": {"compute": 0.5}}
    assert said["rtf"] > 0


@pytest.mark.usefixtures("own_engine")
@pytest.mark.parametrize(("asked", "used"), [(None, "vivian"), ("Vivian", "Vivian")])
def test_a_speaker_of_the_model_is_a_voice(asked: str | None, used: str) -> None:
    KazeiaVoice(Path("here"), 1, asked).speak("Bonjour.", 1, 5)
    assert FakeTts.voice == used


@pytest.mark.usefixtures("own_engine", "kazeia_home")
def test_a_voice_that_is_not_there_is_told() -> None:
    with pytest.raises(SettingsError, match="nobody"):
        KazeiaVoice(Path("here"), 1, "nobody")


@pytest.mark.usefixtures("own_engine")
def test_an_error_of_ours_is_an_answer_and_the_end() -> None:
    job = {"model_dir": "absent", "threads": 2}
    assert list(serve(KazeiaVoice, lines(job, job))) == [{"error": "The file talker.gguf is missing."}]


def test_the_peak_is_this_process_only() -> None:
    script = "from kazeia_desktop.cli.tts_engines import peak_rss_mb; print(peak_rss_mb())"
    ballast = np.ones(50_000_000)  # 400 MB here must not count there
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    if sys.platform == "linux":
        mine = peak_rss_mb()
        assert mine is not None
        assert mine > 400
        assert float(done.stdout) < 300
    assert ballast[0] == 1
