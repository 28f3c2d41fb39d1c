"""On a real second device of llama.cpp, made for the tests: listed, checked, found wrong, and used by two contexts.

In processes of their own: ggml keeps a library that was loaded until the process ends.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import llama_cpp
import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.device_check import Check, check_device
from kazeia_desktop.llm.devices import Device, DeviceLister
from kazeia_desktop.llm.placement import read_facts
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import BackendSettings, LlmSettings, Settings
from tests.fakes.tiny_llms import ARCHITECTURES, tiny_llm
from tests.realmodels import require_model

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("c++") is None, reason="needs a compiler for Linux"),
]

_LLAMA = Path(llama_cpp.__file__).parent
_QUESTIONS = (
    "Le chat dort sur le tapis rouge et rêve d'une mer calme, bonjour.",
    "Quelle heure est-il, et comment t'appelles-tu ?",
    "Merci. The cat sleeps on the red carpet and dreams of a quiet sea.",
)
_TALK = """
import json, sys
from pathlib import Path
from kazeia_desktop.llm.check_store import CheckStore, Verdict
from kazeia_desktop.llm.device_check import subject_of
from kazeia_desktop.llm.devices import DEVICES
from kazeia_desktop.llm.node_watch import NodeWatch, as_record
from kazeia_desktop.llm.opening import open_session
from kazeia_desktop.llm.placement import read_facts
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
job = json.load(sys.stdin)
settings, gguf = Settings.model_validate(job["settings"]), Path(job["gguf"])
paths = Paths.from_environment()
store = CheckStore.of(paths)
for device in DEVICES.list(settings.backends).devices:
    store.put(subject_of(device, gguf, read_facts(gguf), settings, store), Verdict(True, computed_on=device.name))
told = []
opened = open_session(gguf, settings, paths, lambda one: told.append(one.template))
said = ["".join(opened.session.reply(question, CancelToken())) for question in job["questions"]]
context = opened.session._model.context
moves = getattr(context, "moves", 0)
can_move = getattr(context, "can_move", None)
opened.session.close()
print(json.dumps({"said": said, "where": opened.where, "told": told, "moves": moves, "can_move": can_move}))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The device's library."""
    built = tmp_path_factory.mktemp("second") / "libggml-second.so"
    source = Path(__file__).parents[2] / "fakes" / "second_device.cpp"
    lib = _LLAMA / "lib"
    command = ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{_LLAMA.parent / 'include'}", str(source)]
    command += ["-o", str(built), f"-L{lib}", "-lggml", "-lggml-base", "-lggml-cpu", f"-Wl,-rpath,{lib}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return built


def settings(library: Path, **backends: object) -> Settings:
    llm = LlmSettings(temperature=0.0, repeat_penalty=1.0, max_reply_tokens=24, threads=1, n_ctx=1024)
    return Settings(llm=llm, backends=BackendSettings.model_validate({"library": str(library), **backends}))


def second(library: Path) -> Device:
    return next(d for d in DeviceLister().list(settings(library).backends).devices if d.backend == "SECOND")


def test_it_is_listed(library: Path) -> None:
    found = second(library)
    assert (found.name, found.kind, found.is_cpu) == ("SECOND0", "gpu", False)
    assert found.description == "A second device, of a test"
    assert (found.memory_total_bytes, found.memory_free_bytes) == (4 << 30, 3 << 30)


def test_one_that_aborts_ends_only_the_probe(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KZ_SECOND_ABORT", "1")
    offer = DeviceLister().list(settings(library).backends)
    assert [device.kind for device in offer.devices] == ["cpu"]
    assert "exit code -6, last line: second device: firmware does not answer" in str(offer.problem)


def check(library: Path) -> Check:
    gguf = next(require_model("smollm2-135m").glob("*.gguf"))
    found = check_device(second(library), gguf, read_facts(gguf), settings(library), CancelToken())
    assert found is not None
    return found


@pytest.mark.golden
def test_it_passes_and_did_the_work(library: Path) -> None:
    found = check(library)
    assert found.verdict.ok
    assert found.verdict.computed_on == "SECOND0"
    assert found.work["SECOND0"].products == 65 * 271
    assert found.work["CPU"].nodes <= 65  # the token embeddings
    assert found.timed["SECOND0"].ms > found.timed["CPU"].ms


@pytest.mark.golden
def test_one_wrong_layer_is_found(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KZ_SECOND_ZERO", "blk.7.ffn_down")
    verdict = check(library).verdict
    assert not verdict.ok
    assert verdict.cosine < 0.9
    assert "cosine" in verdict.reason


@pytest.mark.golden
def test_where_the_processor_did_the_products_it_is_named(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KZ_SECOND_FEW", "1")
    found = check(library)
    assert found.verdict.ok
    assert found.verdict.computed_on == "CPU"
    assert found.work["SECOND0"].nodes > 1000
    assert found.work["SECOND0"].products == 0


@pytest.mark.golden
def test_a_driver_that_aborts_during_the_check_is_told(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = second(library)
    monkeypatch.setenv("KZ_SECOND_ABORT", "1")
    gguf = next(require_model("smollm2-135m").glob("*.gguf"))
    with pytest.raises(InferenceError, match="last line: second device: firmware"):
        check_device(device, gguf, read_facts(gguf), settings(library), CancelToken())


def talk(gguf: Path, chosen: Settings, home: Path) -> dict[str, Any]:
    job = {"settings": chosen.model_dump(), "gguf": str(gguf), "questions": _QUESTIONS}
    environment = {**os.environ, "KAZEIA_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", _TALK], input=json.dumps(job), capture_output=True, text=True, encoding="utf-8",
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-1000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("two_contexts", ["auto", "always"])
def test_three_turns_with_it_are_those_of_the_processor(
    library: Path, kazeia_home: Path, architecture: str, two_contexts: str
) -> None:
    gguf = tiny_llm(architecture)
    alone = talk(gguf, settings(library, llm_device="cpu"), kazeia_home)
    assert alone["where"] == "CPU"
    with_it = talk(gguf, settings(library, llm_device="second0", two_contexts=two_contexts), kazeia_home)
    assert with_it["said"] == alone["said"]
    two = two_contexts == "always" or architecture != "qwen3"
    assert with_it["where"] == ("SECOND0 + CPU" if two else "SECOND0")
    assert (with_it["moves"] >= 3) is two
    assert with_it["can_move"] is (True if two else None)
    assert ["experimental" in told for told in with_it["told"]] == [True]
