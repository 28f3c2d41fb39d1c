"""Files that are no sound GGUF: one line, and the program lives on."""

import json
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.llm.gguf import check_header
from tests.realmodels import require_model

pytestmark = pytest.mark.unit

_LOAD = """
import json, sys
from pathlib import Path
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.settings.schema import LlmSettings
for name in sys.argv[1:]:
    print(json.dumps([name, "begin"]), flush=True)
    try:
        LlamaChatSession(Path(name), LlmSettings(n_ctx=512)).close()
        outcome = "loaded"
    except KazeiaError as error:
        outcome = f"{type(error).__name__}: {error}"
    print(json.dumps([name, outcome]), flush=True)
"""


@pytest.mark.parametrize(
    ("head", "kind", "said"),
    [
        (b"", ModelCorruptError, "not a GGUF"),
        (b"GGUF", ModelCorruptError, "not a GGUF"),
        (b"RIFF" + bytes(40), ModelCorruptError, "not a GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 1, 3, 3), ModelIncompatibleError, "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 99, 3, 3), ModelIncompatibleError, "version 99"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 3), ModelCorruptError, "key 0"),
        (b"GGUF" + struct.pack("<IQQ", 3, 3, 2**63), ModelCorruptError, "n_keys"),
    ],
)
def test_foreign_headers_are_told(tmp_path: Path, head: bytes, kind: type[ModelError], said: str) -> None:
    (tmp_path / "x.gguf").write_bytes(head)
    with pytest.raises(kind, match=said):
        check_header(tmp_path / "x.gguf")


def test_missing_and_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match="nothing"):
        check_header(tmp_path / "nothing.gguf")
    with pytest.raises(ModelMissingError, match="cannot be read"):
        check_header(tmp_path)


@pytest.mark.golden
def test_damaged_models_end_in_one_line_and_the_process_lives(tmp_path: Path) -> None:
    raw = next(require_model("smollm2-135m").glob("*.gguf")).read_bytes()
    files = []
    for length in (24, 30, 1000, 40_000, 1_000_000, len(raw) // 2, len(raw) - 1):
        files.append(tmp_path / f"cut-{length}.gguf")
        files[-1].write_bytes(raw[:length])
    rng = random.Random(7)
    for spot in [0, 4, 8, 16, 24, 32, 40, 60, 100, *(rng.randrange(24, 3000) for _ in range(12))]:
        flipped = bytearray(raw[:3_000_000] if spot % 2 else raw)
        flipped[spot] ^= 0xFF
        files.append(tmp_path / f"flip-{spot}.gguf")
        files[-1].write_bytes(flipped)
    files.append(tmp_path / "zeros.gguf")
    files[-1].write_bytes(raw[:24] + bytes(100_000))
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, *map(str, files)], capture_output=True, text=True, encoding="utf-8"
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (lines[-1:], done.stderr[-500:])
    outcomes = {Path(name).name: outcome for name, outcome in lines if outcome != "begin"}
    assert len(outcomes) == len(files)
    for name, outcome in outcomes.items():
        assert "\n" not in outcome, name
        if name.startswith(("cut", "zeros")):
            assert outcome.startswith("Model"), (name, outcome)
    assert done.stderr == ""
