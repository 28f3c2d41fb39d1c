"""What stands between a model directory and native code: a file that is well formed, but not what the manifest says."""

import json
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from kazeia_desktop.errors import ModelCorruptError, ModelError
from kazeia_desktop.formats.voice_manifest import load_manifest
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_files import (
    check_code_predictor,
    check_talker,
    first_not_finite,
    load_code_predictor,
    load_codec,
    load_talker,
)
from kazeia_desktop.tts.qwen3_options import SpeechOptions
from tests.fakes.gguf_parts import GgufParts, KeyPart, TensorPart, text
from tests.fakes.micro_voice import FIRST_ADDED, N_TEXT, write_checkpoint

pytestmark = pytest.mark.unit

Change = Callable[[GgufParts], GgufParts]
TALKER, CODE_PREDICTOR = "talker.gguf", "code_predictor.gguf"
TOKENS, TYPES, MERGES = (f"tokenizer.ggml.{name}" for name in ("tokens", "token_type", "merges"))
SECTIONS = "qwen3tts.rope.dimension_sections"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted model, which nobody changes."""
    base = tmp_path_factory.mktemp("voice")
    return convert(OfficialSource(write_checkpoint(base / "checkpoint")), base / "q8_0", "q8_0").directory


@pytest.fixture
def model(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "model"))


def alter(model: Path, file: str, change: Change) -> None:
    path = model / file
    write(path, change(GgufParts.split(path.read_bytes())).build())


def write(path: Path, content: bytes) -> None:
    """Replace a file, and tell the manifest."""
    path.write_bytes(content)
    manifest = json.loads((path.parent / "manifest.json").read_text("utf-8"))
    manifest["files"][path.name]["bytes"] = len(content)
    (path.parent / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def refused(model: Path, file: str = TALKER) -> dict[str, object]:
    check = check_talker if file == TALKER else check_code_predictor
    with pytest.raises(ModelCorruptError) as caught:
        check(model, load_manifest(model))
    assert str(caught.value.values["file"]) == str(model / file)
    assert "\n" not in str(caught.value)
    return caught.value.values


def scalar(layout: str, value: float) -> Callable[[KeyPart], KeyPart]:
    return lambda key: replace(key, payload=struct.pack(layout, value))


def item(index: int, value: bytes) -> Callable[[KeyPart], KeyPart]:
    def change(key: KeyPart) -> KeyPart:
        items = key.items()
        items[index] = value
        return key.with_items(items)

    return change


def test_what_the_converter_writes_is_taken(sound: Path) -> None:
    manifest = load_manifest(sound)
    file, llama, none = load_talker(sound, manifest, native=False)
    assert llama.n_embd == manifest.description.talker.hidden and none is None
    _, vocabulary, native = load_talker(sound, manifest, native=True)
    assert native is not None and native.n_bytes > 0
    assert vocabulary.tokenize("oui", False).tolist() == llama.tokenize("oui", False).tolist()
    assert file.tensors
    assert load_code_predictor(sound, manifest).n_bytes_per_frame > 0
    assert first_not_finite(sound, manifest) is None


@pytest.mark.parametrize(
    ("name", "layout", "value"),
    [
        ("qwen3tts.block_count", "<I", 3),
        ("qwen3tts.block_count", "<I", 0),
        ("qwen3tts.embedding_length", "<I", 128),
        ("qwen3tts.feed_forward_length", "<I", 0),
        ("qwen3tts.attention.head_count", "<I", 0xFFFFFFFF),
        ("qwen3tts.attention.head_count_kv", "<I", 0),
        ("qwen3tts.attention.key_length", "<I", 64),
        ("qwen3tts.attention.value_length", "<I", 64),
        ("qwen3tts.attention.layer_norm_rms_epsilon", "<f", float("nan")),
        ("qwen3tts.rope.freq_base", "<f", -1.0),
        ("qwen3tts.context_length", "<I", 0),
        ("qwen3tts.vocab_size", "<I", 1),
        ("general.file_type", "<I", 99),
        ("tokenizer.ggml.eos_token_id", "<I", 1 << 30),
        ("tokenizer.ggml.padding_token_id", "<I", 0xFFFFFFFF),
        ("tokenizer.ggml.add_bos_token", "<B", 1),
    ],
)
def test_another_value_is_named_by_its_key(model: Path, name: str, layout: str, value: float) -> None:
    alter(model, TALKER, lambda parts: parts.change_key(name, scalar(layout, value)))
    assert refused(model)["key"] == name


@pytest.mark.parametrize("name", ["general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"])
def test_another_text_is_named_by_its_key(model: Path, name: str) -> None:
    alter(model, TALKER, lambda parts: parts.change_key(name, lambda key: replace(key, payload=text("llama"))))
    values = refused(model)
    assert (values["key"], values["found"]) == (name, "llama")


def test_every_key_is_needed_and_of_one_type(model: Path) -> None:
    whole = GgufParts.split((model / TALKER).read_bytes())
    for key in whole.keys:
        alter(model, TALKER, lambda _, key=key: replace(whole, keys=tuple(k for k in whole.keys if k != key)))  # type: ignore[misc]
        assert str(refused(model)["key"]).startswith(key.name.decode())
        other = KeyPart(key.name, 10, struct.pack("<Q", 1))
        alter(model, TALKER, lambda _, other=other: whole.change_key(other.name.decode(), lambda _: other))  # type: ignore[misc]
        values = refused(model)
        assert (values["key"], values["field"]) in (
            (key.name.decode(), "type"),
            ("general.alignment", "value"),
        )


@pytest.mark.parametrize(
    "name", ["tokenizer.chat_template", "qwen3tts.expert_count", "qwen3tts.rope.scaling.type", "split.count", "unknown"]
)
def test_a_key_that_is_not_ours_is_refused(model: Path, name: str) -> None:
    extra = KeyPart(name.encode(), 4, struct.pack("<I", 2))
    alter(model, TALKER, lambda parts: replace(parts, keys=(*parts.keys, extra)))
    assert refused(model)["key"] == name


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        (TOKENS, item(5, text("")), f"{TOKENS}[5]"),
        (TOKENS, item(5, text("on")), f"{TOKENS}[257]"),
        (TOKENS, item(0, text("xyz")), TOKENS),
        (TOKENS, item(FIRST_ADDED + 1, text("<|im_begin|>")), f"{TOKENS}[{FIRST_ADDED + 1}]"),
        (TOKENS, item(N_TEXT + 1, text("<|codec|>")), f"{TOKENS}[{N_TEXT + 1}]"),
        (TOKENS, item(5, text(b"\xff")), f"{TOKENS}[5]"),
        (TOKENS, lambda key: key.with_items(key.items()[:-1]), TOKENS),
        (TYPES, item(3, struct.pack("<i", 2)), f"{TYPES}[3]"),
        (TYPES, item(N_TEXT, struct.pack("<i", 1)), f"{TYPES}[{N_TEXT}]"),
        (TYPES, lambda key: key.with_items(key.items()[1:]), TYPES),
        (MERGES, item(0, text("ab")), f"{MERGES}[0]"),
        (MERGES, item(0, text(" b")), f"{MERGES}[0]"),
        (MERGES, item(1, text("a b c")), f"{MERGES}[1]"),
        (SECTIONS, item(0, struct.pack("<i", -24)), SECTIONS),
        (SECTIONS, item(3, struct.pack("<i", 1)), SECTIONS),
        (SECTIONS, lambda key: key.with_items(key.items()[:3]), SECTIONS),
        ("tokenizer.ggml.suppress_tokens", item(1, struct.pack("<i", -1)), "tokenizer.ggml.suppress_tokens[1]"),
        ("tokenizer.ggml.suppress_tokens", lambda key: key.with_items([]), "tokenizer.ggml.suppress_tokens[]"),
    ],
)
def test_a_wrong_item_is_named(model: Path, name: str, change: Callable[[KeyPart], KeyPart], told: str) -> None:
    alter(model, TALKER, lambda parts: parts.change_key(name, change))
    assert refused(model)["key"] == told


def swapped(tensor: TensorPart) -> TensorPart:
    return replace(tensor, sizes=tuple(reversed(tensor.sizes)))


def halves(tensor: TensorPart) -> TensorPart:
    """F16 twice as long: as many bytes."""
    return replace(tensor, kind=1, sizes=(tensor.sizes[0] * 2,))


@pytest.mark.parametrize(
    ("file", "name", "change", "field"),
    [
        (TALKER, "blk.0.ffn_down.weight", swapped, "shape"),
        (TALKER, "output_norm.weight", halves, "shape"),
        (TALKER, "blk.1.attn_k.weight", lambda t: replace(t, kind=9), "offset"),
        (TALKER, "output.weight", lambda t: replace(t, kind=36), "type"),
        (TALKER, "token_embd.weight", lambda t: replace(t, kind=30), "type"),
        (CODE_PREDICTOR, "head.3.weight", swapped, "shape"),
        (CODE_PREDICTOR, "codec_embd.0.weight", lambda t: replace(t, kind=30), "type"),
        (CODE_PREDICTOR, "output_norm.weight", lambda t: replace(t, sizes=(*t.sizes, 1)), "shape"),
    ],
)
def test_another_tensor_is_named(
    model: Path, file: str, name: str, change: Callable[[TensorPart], TensorPart], field: str
) -> None:
    alter(model, file, lambda parts: parts.change_tensor(name, change))
    values = refused(model, file)
    # a type of another size moves the tensors behind it
    assert values["field"] == field
    assert values["tensor"] == name or field == "offset"


@pytest.mark.parametrize("file", [TALKER, CODE_PREDICTOR])
def test_a_tensor_of_another_name_is_refused(model: Path, file: str) -> None:
    alter(
        model, file, lambda parts: parts.change_tensor("output_norm.weight", lambda t: replace(t, name=b"cls.weight"))
    )
    assert refused(model, file)["tensor"] == "output_norm.weight"


def test_one_tensor_more_is_refused(model: Path) -> None:
    def more(parts: GgufParts) -> GgufParts:
        extra = TensorPart(b"cls.output.weight", (8,), 0, len(parts.data))
        return replace(parts, tensors=(*parts.tensors, extra), data=parts.data + bytes(32))

    alter(model, TALKER, more)
    assert refused(model)["tensor"] == "cls.output.weight"


@pytest.mark.parametrize(("file", "arch"), [(TALKER, "qwen3tts"), (CODE_PREDICTOR, "kazeia-code-predictor")])
def test_the_manifest_must_say_the_same(model: Path, file: str, arch: str) -> None:
    path = model / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest[file.removesuffix(".gguf")]["rope_theta"] = 5000.0
    path.write_text(json.dumps(manifest), "utf-8")
    assert refused(model, file)["key"] == f"{arch}.rope.freq_base"


def test_a_width_that_no_kernel_has_is_named_in_the_manifest(model: Path) -> None:
    path = model / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["code_predictor"]["ffn"] = 100
    path.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ModelCorruptError, match=r"manifest\.json .*code_predictor\.ffn"):
        check_code_predictor(model, load_manifest(model))


def test_a_norm_that_is_not_finite_is_found_when_loading(model: Path) -> None:
    alter(model, TALKER, with_data(b"blk.1.attn_norm.weight", struct.pack("<f", np.nan)))
    assert refused(model)["tensor"] == "blk.1.attn_norm.weight"


def test_a_matrix_that_is_not_finite_is_found_when_asked(model: Path) -> None:
    alter(model, CODE_PREDICTOR, with_data(b"head.2.weight", b"\0\x7c"))
    found = first_not_finite(model, load_manifest(model))
    assert found is not None
    assert (found.values["file"], found.values["tensor"]) == (str(model / CODE_PREDICTOR), "head.2.weight")


def with_data(name: bytes, content: bytes) -> Change:
    """A tensor's first bytes changed."""

    def change(parts: GgufParts) -> GgufParts:
        at = next(tensor.offset for tensor in parts.tensors if tensor.name == name)
        return replace(parts, data=parts.data[:at] + content + parts.data[at + len(content) :])

    return change


@pytest.mark.parametrize(
    ("talker", "file", "tensor", "content"),
    [
        ("native", TALKER, "blk.1.ffn_up.weight", b"\0\x7c"),  # q8_0's first scale is infinite
        ("native", TALKER, "output.weight", b"\0\x7e"),  # and here none at all
        ("llama", TALKER, "output.weight", b"\0\x7e"),
        ("native", CODE_PREDICTOR, "blk.0.attn_v.weight", b"\0\x7c"),
        ("native", CODE_PREDICTOR, "head.15.weight", b"\0\x7e"),
    ],
)
def test_the_engine_names_the_weight_that_is_to_blame(
    model: Path, talker: str, file: str, tensor: str, content: bytes
) -> None:
    alter(model, file, with_data(tensor.encode(), content))
    tts = Qwen3Tts.load(model, 1, talker=talker)
    options = SpeechOptions("auto", seed=1, max_frames=4)
    with pytest.raises(ModelCorruptError) as caught:
        list(tts.synthesize("Bonjour.", None, options, CancelToken()))
    assert (caught.value.values["file"], caught.value.values["tensor"]) == (str(model / file), tensor)
    with pytest.raises(ModelCorruptError):
        tts.generate_codes("Bonjour.", max_frames=4)


def test_a_weight_without_measure_is_to_blame_too(model: Path) -> None:
    """It is a number, and so are its products, until they are added up."""
    alter(model, TALKER, with_data(b"output_norm.weight", struct.pack("<f", 3e38)))
    tts = Qwen3Tts.load(model, 1)
    with pytest.raises(ModelCorruptError, match=r"talker\.gguf .* tensor output_norm\.weight: value is 3e\+38"):
        list(tts.synthesize("Bonjour.", None, SpeechOptions("auto", seed=1, max_frames=9), CancelToken()))


@pytest.mark.parametrize(
    ("key", "value"),
    [("codebook_size", "16"), ("samples_per_frame", "960"), ("sample_rate_hz", "48000"), ("max_frames", "9")],
)
def test_the_codec_must_say_what_the_manifest_says(model: Path, key: str, value: str) -> None:
    graph = onnx.load(str(model / "codec.onnx"), load_external_data=False)
    next(prop for prop in graph.metadata_props if prop.key == key).value = value
    write(model / "codec.onnx", graph.SerializeToString())
    with pytest.raises(ModelError, match=r"codec\.onnx"):
        load_codec(model, load_manifest(model), 1)


def test_the_codec_of_a_good_model_is_taken(sound: Path) -> None:
    assert load_codec(sound, load_manifest(sound), 1).codebooks == 16


@pytest.mark.parametrize("file", [TALKER, CODE_PREDICTOR])
def test_a_shorter_file_is_refused(model: Path, file: str) -> None:
    content = (model / file).read_bytes()
    for size in (0, 10, 100, 1000, len(content) // 2, len(content) - 1):
        write(model / file, content[:size]) if size else (model / file).write_bytes(b"")
        with pytest.raises(ModelError, match=r"\.gguf"):
            (check_talker if file == TALKER else check_code_predictor)(model, load_manifest(model))
