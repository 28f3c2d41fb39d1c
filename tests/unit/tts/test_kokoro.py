"""The light voice on a model of ten nodes: every phoneme is 0.1 s of a level that is its id / 1000."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from kazeia_desktop.errors import InferenceError, ModelCorruptError, ModelIncompatibleError, SettingsError
from kazeia_desktop.frames import Clause, FloatArray, SpeechFrame
from kazeia_desktop.pipeline.builder import voices_dir
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts import kokoro
from kazeia_desktop.tts.kokoro import RATE_HZ, KokoroVoice
from kazeia_desktop.tts.voices import load_phoneme_ids

pytestmark = pytest.mark.unit

PER_PHONEME = RATE_HZ // 10


def write_model(path: Path, gain: float = 0.001, inputs: tuple[str, ...] = ("tokens", "style", "speed")) -> Path:
    """tokens [1, n] -> audio [n * 2400]; the 0 at both ends gives 0.1 s of silence each."""
    kinds: dict[str, tuple[int, list[str | int | None]]] = {
        "tokens": (TensorProto.INT64, [1, "n"]),
        "style": (TensorProto.FLOAT, [1, 256]),
    }
    constants = {"column": [-1, 1], "flat": [-1], "wide": [1, PER_PHONEME]}
    nodes = [
        helper.make_node("Cast", [inputs[0]], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["numbers", "column"], ["each"]),
        helper.make_node("Expand", ["each", "wide"], ["all"]),
        helper.make_node("Reshape", ["all", "flat"], ["line"]),
        helper.make_node("Mul", ["line", "gain"], ["scaled"]),
        helper.make_node("Div", ["scaled", inputs[2]], ["slowed"]),
        helper.make_node("ReduceMin", [inputs[1]], ["least"], keepdims=0),
        helper.make_node("Mul", ["least", "nothing"], ["none"]),
        helper.make_node("Add", ["slowed", "none"], ["audio"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, *kinds.get(name, (TensorProto.FLOAT, [1]))) for name in inputs],
        [helper.make_tensor_value_info("audio", TensorProto.FLOAT, ["samples"])],
        [
            *(numpy_helper.from_array(np.array(value, np.int64), name) for name, value in constants.items()),
            numpy_helper.from_array(np.array(gain, np.float32), "gain"),
            numpy_helper.from_array(np.array(0, np.float32), "nothing"),
        ],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny.onnx")


@pytest.fixture
def say_phonemes(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces espeak-ng: every clause has these phonemes."""

    def put(said: str) -> None:
        monkeypatch.setattr(kokoro, "phonemes", lambda text, language, cancel: said)

    return put


def spoken(voice: KokoroVoice, text: str = "texte", cancel: CancelToken | None = None) -> list[SpeechFrame]:
    return list(voice.synthesize(Clause(5, 2, text, text), cancel or CancelToken()))


def voiced(frame: SpeechFrame) -> FloatArray:
    return frame.samples[np.abs(frame.samples) > 0.003]


def test_phonemes_become_ids_and_padding_is_cut(model: Path, say_phonemes: Callable[[str], None]) -> None:
    voice = KokoroVoice(model, voices_dir(), TtsSettings())
    ids = load_phoneme_ids(voices_dir())
    say_phonemes("bɔ̃€.")  # the euro sign has no id
    sound, end = spoken(voice)
    expected = [ids[symbol] / 1000 for symbol in "bɔ̃."]
    levels = sound.samples[int(0.03 * RATE_HZ) + PER_PHONEME // 2 :: PER_PHONEME][:4]
    assert levels == pytest.approx(expected)
    assert len(sound.samples) == pytest.approx(4 * PER_PHONEME + (0.03 + 0.06 + 0.25) * RATE_HZ, abs=2)
    assert (sound.turn_id, sound.clause_index, sound.sample_rate_hz) == (5, 2, RATE_HZ)
    assert not sound.end_of_clause and end.end_of_clause and len(end.samples) == 0
    voice.close()


def test_real_phonemes_reach_the_model(model: Path) -> None:
    frames = spoken(KokoroVoice(model, voices_dir(), TtsSettings()), "Bonjour !")
    assert len(frames) == 2 and len(voiced(frames[0])) > 5 * PER_PHONEME


def test_a_long_clause_comes_in_several_frames(model: Path, say_phonemes: Callable[[str], None]) -> None:
    say_phonemes(("abdef " * 12 + "ab, ") * 6)
    frames = spoken(KokoroVoice(model, voices_dir(), TtsSettings()))
    assert len(frames) == 7
    assert [frame.end_of_clause for frame in frames] == [False] * 6 + [True]


@pytest.mark.parametrize("n", [507, 508, 509, 1500])
def test_no_run_is_longer_than_the_model_takes(model: Path, say_phonemes: Callable[[str], None], n: int) -> None:
    say_phonemes("a" * n)
    frames = spoken(KokoroVoice(model, voices_dir(), TtsSettings()))
    assert max(len(frame.samples) for frame in frames) <= 508 * PER_PHONEME + 0.35 * RATE_HZ
    assert sum(len(voiced(frame)) for frame in frames) == pytest.approx(n * PER_PHONEME, rel=0.01)


@pytest.mark.parametrize("said", ["", "€€"])
def test_without_phonemes_only_the_end_comes(model: Path, say_phonemes: Callable[[str], None], said: str) -> None:
    say_phonemes(said)
    (frame,) = spoken(KokoroVoice(model, voices_dir(), TtsSettings()))
    assert frame.end_of_clause and len(frame.samples) == 0


def test_settings_are_heard_at_the_next_clause(model: Path, say_phonemes: Callable[[str], None]) -> None:
    say_phonemes(("abdef " * 12 + "ab, ") * 2)
    voice = KokoroVoice(model, voices_dir(), TtsSettings())
    frames = voice.synthesize(Clause(1, 0, "x", "x"), CancelToken())
    first = next(frames).samples.max()
    voice.apply(TtsSettings(speed=2.0))
    assert next(frames).samples.max() == first, "the clause under way keeps its speed"
    assert spoken(voice)[0].samples.max() == pytest.approx(first / 2)


def test_an_unknown_voice_leaves_the_one_before(model: Path) -> None:
    voice = KokoroVoice(model, voices_dir(), TtsSettings())
    with pytest.raises(SettingsError, match="ff_siwis"):
        voice.apply(TtsSettings(voice="nobody"))
    assert voice.name == "Kokoro, ff_siwis"
    assert len(spoken(voice, "Bonjour")) == 2


def test_cancelled_before_and_between_runs(model: Path, say_phonemes: Callable[[str], None]) -> None:
    say_phonemes(("abdef " * 12 + "ab, ") * 4)
    voice = KokoroVoice(model, voices_dir(), TtsSettings())
    cancel = CancelToken()
    heard = []
    for frame in voice.synthesize(Clause(1, 0, "x", "x"), cancel):
        heard.append(frame)
        cancel.set()
    assert len(heard) == 1 and not heard[0].end_of_clause
    assert spoken(voice, cancel=cancel) == []


class HangingSession:
    """Runs until it is told to terminate, as ONNX Runtime does at its next node."""

    def __init__(self, cancel: CancelToken) -> None:
        self.cancel = cancel

    def run(self, names: object, inputs: object, options: Any) -> list[FloatArray]:  # noqa: ANN401 - untyped library
        self.cancel.set()  # the user interrupts while the model is at work
        while not options.terminate:
            pass
        raise Fail("Exiting due to terminate flag being set to true.")


def test_cancelled_in_the_middle_of_a_run(model: Path, say_phonemes: Callable[[str], None]) -> None:
    say_phonemes("abdef.")
    voice = KokoroVoice(model, voices_dir(), TtsSettings())
    cancel = CancelToken()
    voice._session = HangingSession(cancel)
    assert spoken(voice, cancel=cancel) == []


class FailingSession:
    def run(self, *_: object) -> list[FloatArray]:
        raise Fail("out of memory\nat node 7")


def test_a_failing_run_is_told_in_one_line(model: Path, say_phonemes: Callable[[str], None]) -> None:
    say_phonemes("abdef.")
    voice = KokoroVoice(model, voices_dir(), TtsSettings())
    voice._session = FailingSession()
    with pytest.raises(InferenceError, match=r"^The voice failed \(out of memory\)\.$"):
        spoken(voice)


def test_a_sound_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InferenceError, match="not finite"):
        KokoroVoice(write_model(tmp_path / "nan.onnx", gain=float("nan")), voices_dir(), TtsSettings())


def test_use_after_close_is_told(model: Path, say_phonemes: Callable[[str], None]) -> None:
    say_phonemes("a")
    voice = KokoroVoice(model, voices_dir(), TtsSettings())
    voice.close()
    voice.close()
    with pytest.raises(InferenceError, match="closed"):
        spoken(voice)


@pytest.mark.parametrize("raw", [None, b"", b"\x00" * 100, b"not a model"])
def test_a_damaged_model_says_what_to_do(tmp_path: Path, raw: bytes | None) -> None:
    file = tmp_path / "modèle.onnx"
    if raw is not None:
        file.write_bytes(raw)
    with pytest.raises(ModelCorruptError, match="kazeia models get kokoro-82m") as caught:
        KokoroVoice(file, voices_dir(), TtsSettings())
    assert "\n" not in str(caught.value)


def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    file = write_model(tmp_path / "other.onnx", inputs=("ids", "style", "speed"))
    with pytest.raises(ModelIncompatibleError, match="ids, speed, style"):
        KokoroVoice(file, voices_dir(), TtsSettings())


def test_without_espeak_it_is_told_at_the_start(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(InferenceError, match="apt install espeak-ng"):
        KokoroVoice(model, voices_dir(), TtsSettings())
