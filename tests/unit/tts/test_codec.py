"""The streaming codec on a small graph: chunkings, states, stops, and what it says of wrong codes and files."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import (
    Cancelled,
    InferenceError,
    ModelCorruptError,
    ModelError,
    ModelIncompatibleError,
    ModelMissingError,
)
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.models.convert.codec_graph import write_codec_graph
from kazeia_desktop.models.convert.codec_weights import official_codec_sources
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.codec import CodecDecoder
from tests import codec_reference as reference
from tests.codec_reference import GEOMETRY

pytestmark = pytest.mark.unit

PER_FRAME = GEOMETRY.samples_per_frame


def write(directory: Path, seed: int = 1) -> None:
    sources = official_codec_sources(reference.official_tensors(seed=seed).__getitem__, reference.official_config())
    write_codec_graph(directory / "codec.onnx", lambda name: sources[name](), GEOMETRY)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> CodecDecoder:
    directory = tmp_path_factory.mktemp("modèle codec")
    write(directory)
    return CodecDecoder.load(directory, threads=1)


def codes_of(n: int, seed: int = 5) -> IntArray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, GEOMETRY.codebook_size, (n, GEOMETRY.codebooks)).astype(np.int32)


def test_it_says_what_it_is(decoder: CodecDecoder) -> None:
    told = (decoder.sample_rate_hz, decoder.samples_per_frame, decoder.codebooks, decoder.codebook_size)
    assert told == (24_000, 48, 4, 16)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 50])
def test_a_whole_utterance(decoder: CodecDecoder, n: int) -> None:
    codes = codes_of(n)
    audio = decoder.decode(codes)
    assert audio.dtype == np.float32
    np.testing.assert_allclose(audio, reference.decode(codes, reference.official_tensors()), atol=5e-6)


def test_no_frames(decoder: CodecDecoder) -> None:
    assert decoder.decode(codes_of(0)).shape == (0,)
    stream = decoder.stream()
    first = stream.push(codes_of(3)[:2])
    assert stream.push(codes_of(0)).shape == (0,)
    np.testing.assert_allclose(np.concatenate([first, stream.push(codes_of(3)[2:])]), decoder.decode(codes_of(3)))


@settings(max_examples=60, deadline=None)
@given(plan=st.lists(st.integers(0, 19), max_size=20), seed=st.integers(0, 9))
def test_any_chunking_gives_the_same_audio(decoder: CodecDecoder, plan: list[int], seed: int) -> None:
    codes = codes_of(sum(plan), seed)
    stream, parts, at = decoder.stream(), [np.zeros(0, np.float32)], 0
    for k in plan:
        parts.append(stream.push(codes[at : at + k]))
        at += k
    np.testing.assert_allclose(np.concatenate(parts), decoder.decode(codes), rtol=0, atol=1e-6)


def test_streams_do_not_share_their_state(decoder: CodecDecoder) -> None:
    codes = [codes_of(12, seed) for seed in range(3)]
    streams = [decoder.stream() for _ in codes]
    parts: list[list[FloatArray]] = [[] for _ in codes]
    for at in range(0, 12, 2):
        for i, stream in enumerate(streams):
            parts[i].append(stream.push(codes[i][at : at + 2]))
    for i, whole in enumerate(codes):
        np.testing.assert_allclose(np.concatenate(parts[i]), decoder.decode(whole), rtol=0, atol=1e-6)


def test_streams_run_in_threads_of_their_own(decoder: CodecDecoder) -> None:
    codes = [codes_of(40, seed) for seed in range(4)]
    want = [decoder.decode(whole) for whole in codes]
    got = [np.zeros(0, np.float32)] * 4

    def work(i: int) -> None:
        stream = decoder.stream()
        got[i] = np.concatenate([stream.push(codes[i][at : at + 1 + i]) for at in range(0, 40, 1 + i)])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for i in range(4):
        np.testing.assert_allclose(got[i], want[i], rtol=0, atol=1e-6)


def test_the_audio_is_the_callers_to_keep(decoder: CodecDecoder) -> None:
    stream = decoder.stream()
    first = stream.push(codes_of(4))
    kept = first.copy()
    for _ in range(4):
        stream.push(codes_of(4, 9))
    np.testing.assert_array_equal(first, kept)


def test_reset_begins_anew(decoder: CodecDecoder) -> None:
    stream = decoder.stream()
    for n in (3, 4, 8, 1, 1):  # both directions between the states, and past the ring's end
        stream.push(codes_of(n, n))
    stream.reset()
    np.testing.assert_array_equal(stream.push(codes_of(5)), decoder.decode(codes_of(5)))


# Wrong codes


@pytest.mark.parametrize(("code", "frame"), [(-1, 0), (16, 2), (2**31 - 1, 1), (-(2**31), 2)])
def test_a_code_out_of_range_leaves_the_stream(decoder: CodecDecoder, code: int, frame: int) -> None:
    stream = decoder.stream()
    first = stream.push(codes_of(6)[:3])
    wrong = codes_of(3)
    wrong[frame, 1] = code
    with pytest.raises(InferenceError, match=f"code {code} in frame {frame}: codes go from 0 to 15"):
        stream.push(wrong)
    rest = stream.push(codes_of(6)[3:])
    np.testing.assert_allclose(np.concatenate([first, rest]), decoder.decode(codes_of(6)), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "codes",
    [
        np.zeros((2, 3), np.int32), np.zeros((2, 5), np.int32), np.zeros(4, np.int32), np.zeros((1, 2, 4), np.int32),
        np.zeros((2, 4), np.float32), np.full((2, 4), np.nan), np.zeros((2, 4), bool), np.zeros((2, 4), object),
        np.array("codes"), np.zeros((0, 3), np.int32), np.int32(3),
    ],
)  # fmt: skip
def test_codes_of_another_kind(decoder: CodecDecoder, codes: IntArray) -> None:
    with pytest.raises(InferenceError, match=r"whole numbers of shape \(frames, 4\)") as caught:
        decoder.decode(codes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int16, ">i4"])
def test_whole_numbers_of_any_size(decoder: CodecDecoder, kind: npt.DTypeLike) -> None:
    np.testing.assert_array_equal(decoder.decode(codes_of(4).astype(kind)), decoder.decode(codes_of(4)))


def test_codes_that_are_not_contiguous(decoder: CodecDecoder) -> None:
    np.testing.assert_array_equal(decoder.decode(np.asfortranarray(codes_of(9))[::2]), decoder.decode(codes_of(9)[::2]))


# Stopping


def test_a_set_cancel_token(decoder: CodecDecoder) -> None:
    token = CancelToken()
    stream = decoder.stream()
    first = stream.push(codes_of(6)[:3], token)
    token.set()
    with pytest.raises(Cancelled):
        stream.push(codes_of(6)[3:], token)
    rest = stream.push(codes_of(6)[3:])
    np.testing.assert_allclose(np.concatenate([first, rest]), decoder.decode(codes_of(6)), rtol=0, atol=1e-6)


def test_stop_holds_until_reset(decoder: CodecDecoder) -> None:
    stream = decoder.stream()
    stream.stop()
    with pytest.raises(Cancelled):
        stream.push(codes_of(1))
    stream.reset()
    np.testing.assert_array_equal(stream.push(codes_of(1)), decoder.decode(codes_of(1)))


class Held:
    """A session whose run lasts until it is terminated."""

    def __init__(self, inner: ort.InferenceSession) -> None:
        self.inner = inner
        self.began = threading.Event()

    def io_binding(self) -> ort.IOBinding:
        return self.inner.io_binding()

    def run_with_iobinding(self, binding: ort.IOBinding, options: ort.RunOptions) -> None:
        self.began.set()
        poll = threading.Event()
        for _ in range(10_000):
            if options.terminate:
                raise RuntimeError("Exiting due to terminate flag being set to true.")
            poll.wait(0.001)


def test_stop_ends_the_run_under_way(decoder: CodecDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(decoder._session)
    stream = decoder.stream()
    monkeypatch.setattr(decoder, "_session", held)
    ended: list[type[BaseException]] = []

    def work() -> None:
        try:
            stream.push(codes_of(1))
        except Cancelled as error:
            ended.append(type(error))

    thread = threading.Thread(target=work)
    thread.start()
    assert held.began.wait(10)
    stream.stop()
    thread.join(10)
    assert ended == [Cancelled]


def test_a_real_run_is_terminated(decoder: CodecDecoder) -> None:
    """ONNX Runtime itself looks at the options: a run that is told to stop does not end well."""
    stream = decoder.stream()
    ended = threading.Event()

    def work() -> None:
        try:
            while True:
                stream.push(codes_of(8))
        except Cancelled:
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    stream.stop()
    thread.join(10)
    assert ended.is_set()
    stream.reset()
    np.testing.assert_array_equal(stream.push(codes_of(8)), decoder.decode(codes_of(8)))


def test_a_run_that_fails_is_told(decoder: CodecDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = decoder.stream()

    class Broken:
        def io_binding(self) -> ort.IOBinding:
            return bound.io_binding()

        def run_with_iobinding(self, binding: ort.IOBinding, options: ort.RunOptions) -> None:
            raise RuntimeError("no memory\nat all")

    bound = decoder._session
    monkeypatch.setattr(decoder, "_session", Broken())
    with pytest.raises(InferenceError, match=r"^The codec failed \(no memory\)\.$"):
        stream.push(codes_of(1))


# Files


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"codec\.onnx"):
        CodecDecoder.load(tmp_path, 1)


@pytest.mark.parametrize("name", ["codec.onnx", "codec.onnx.data"])
@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_file_cut_short(name: str, size: int, tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / name
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(ModelError, match=r"codec\.onnx") as caught:
        CodecDecoder.load(tmp_path, 1)
    assert "\n" not in str(caught.value)


def test_weights_that_are_gone(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "codec.onnx.data").unlink()
    with pytest.raises(ModelMissingError, match=r"codec\.onnx\.data"):
        CodecDecoder.load(tmp_path, 1)


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    write(tmp_path)
    data = tmp_path / "codec.onnx.data"
    data.write_bytes(b"\xff" * data.stat().st_size)
    with pytest.raises(ModelCorruptError, match="not finite"):
        CodecDecoder.load(tmp_path, 1)


def rename_audio(model: onnx.ModelProto) -> None:
    model.graph.node[-1].output[0] = model.graph.output[0].name = "sound"


def codes_as_int64(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    cast = onnx.helper.make_node("Cast", ["codes"], ["codes32"], to=onnx.TensorProto.INT32)
    for node in model.graph.node:
        node.input[:] = ["codes32" if name == "codes" else name for name in node.input]
    model.graph.node.insert(0, cast)


def free_state(model: onnx.ModelProto) -> None:
    model.graph.input[-1].type.tensor_type.shape.dim[0].dim_param = "n"


def drop_state(model: onnx.ModelProto) -> None:
    del model.graph.output[-1]


def no_properties(model: onnx.ModelProto) -> None:
    del model.metadata_props[:]


def property_of(key: str, value: str) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        for prop in model.metadata_props:
            if prop.key == key:
                prop.value = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        rename_audio, codes_as_int64, free_state, drop_state, no_properties,
        property_of("samples_per_frame", "47"), property_of("samples_per_frame", "0"),
        property_of("samples_per_frame", "x"), property_of("samples_per_frame", "99999999999"),
        property_of("codebook_size", "-1"), property_of("max_frames", "0"),
    ],
)  # fmt: skip
def test_a_graph_of_another_kind(change: Callable[[onnx.ModelProto], None], tmp_path: Path) -> None:
    write(tmp_path)
    file = str(tmp_path / "codec.onnx")
    model = onnx.load(file, load_external_data=False)
    change(model)
    onnx.save(model, file)
    with pytest.raises((ModelIncompatibleError, ModelCorruptError), match=r"codec\.onnx") as caught:
        CodecDecoder.load(tmp_path, 1)
    assert "\n" not in str(caught.value)
