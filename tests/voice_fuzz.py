"""Alterations of a converted model's directory: each a name and the files that it changes.

Sizes and hashes in the manifest are those of the altered files, so that only checks of the content can find them.
"""

import copy
import hashlib
import json
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx

from tests.fakes.gguf_parts import ARRAY, STRING, GgufParts, KeyPart, TensorPart, text

MANIFEST = "manifest.json"
Files = dict[str, bytes]
_HUGE = (1 << 62) + 1
_KINDS = (0, 1, 2, 8, 9, 10, 14, 24, 30, 36, 39, 99, 0xFFFFFFFF)
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}
_JSON_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 31, 64, 3073, 1 << 31, 1 << 63, 1 << 70, 0.5, -1e300, float("nan"), float("inf"), "", "x",
    "\ud800", "../talker.gguf", [], [1], [2, 2, 2], {}, {"x": 1},
)  # fmt: skip
_OPERATORS = (
    "Add", "Cast", "Concat", "Conv", "ConstantOfShape", "Expand", "Gather", "Gelu", "If", "LayerNormalization", "Loop",
    "MatMul", "MultiHeadAttention", "Pad", "Range", "Reshape", "Resize", "RotaryEmbedding", "ScatterND", "Slice",
    "SkipSimplifiedLayerNormalization", "Split", "Tile", "Transpose", "Unsqueeze", "Where", "NoSuchOperator", "",
)  # fmt: skip


@dataclass(frozen=True)
class Alteration:
    """`make` gives the changed files' content. told: what is changed."""

    told: str | Callable[[], str]
    make: Callable[[], Files]

    @property
    def name(self) -> str:
        return self.told if isinstance(self.told, str) else self.told()


class Alterations:
    """All alterations of one model, always the same ones in the same order for the same seed."""

    def __init__(self, model: Path, seed: int = 0, random_bytes: int = 400, graph_changes: int = 1500) -> None:
        self._model = model
        self._seed = seed
        self._contents = {path.name: path.read_bytes() for path in sorted(model.iterdir())}
        self._manifest: dict[str, Any] = json.loads(self._contents[MANIFEST])
        self.all: list[Alteration] = []
        for file in self._contents:
            if file.endswith(".gguf"):
                self.all += self._gguf(file)
            if file.endswith(".onnx"):
                self.all += self._graph(file, graph_changes)
            self.all += self._bytes(file, random_bytes)
            self.all += self._cuts(file)
        self.all += self._manifest_values()

    def write(self, index: int, directory: Path) -> None:
        """Make the new `directory`: links to the files that stay, copies of the others."""
        files = self.all[index].make()
        manifest = self._manifest
        if MANIFEST not in files:
            told = {
                name: {"bytes": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
                if name in files
                else record
                for name, record in manifest["files"].items()
            }
            files[MANIFEST] = json.dumps({**manifest, "files": told}).encode()
        directory.mkdir()
        for name in self._contents:
            if name in files:
                (directory / name).write_bytes(files[name])
            else:
                (directory / name).hardlink_to(self._model / name)

    # GGUF

    def _gguf(self, file: str) -> Iterator[Alteration]:
        parts = GgufParts.split(self._contents[file])

        def one(name: str, altered: GgufParts) -> Alteration:
            return Alteration(f"{file}: {name}", lambda: {file: altered.build()})

        for tensor in parts.tensors:
            name = tensor.name.decode()
            for what, change in _tensor_changes(parts, tensor):
                yield one(f"tensor {name}: {what}", parts.with_tensor(name, change))
            others = tuple(other for other in parts.tensors if other != tensor)
            yield one(f"tensor {name}: removed", replace(parts, tensors=others))
        for key in parts.keys:
            name = key.name.decode()
            for what, other_key in _key_changes(key):
                yield one(f"key {name}: {what}", parts.with_key(name, other_key))
            if key.kind == ARRAY:
                yield from _array_changes(file, parts, key)
            yield one(f"key {name}: removed", replace(parts, keys=tuple(other for other in parts.keys if other != key)))
            yield one(f"key {name}: twice", replace(parts, keys=(*parts.keys, key)))
        for key in _foreign_keys(parts):
            yield one(f"key {key.name.decode()}: added", replace(parts, keys=(*parts.keys, key)))
        for magic in (b"GGML", b"FUGG"):
            yield one(f"magic {magic!r}", replace(parts, magic=magic))
        for version in (0, 1, 2, 4, 0x03000000):
            yield one(f"version {version}", replace(parts, version=version))
        for n in (0, 1, len(parts.keys) - 1, len(parts.keys) + 1, 1 << 31, _HUGE):
            yield one(f"n_keys {n}", replace(parts, n_keys=n))
        for n in (0, 1, len(parts.tensors) - 1, len(parts.tensors) + 1, 1 << 31, _HUGE):
            yield one(f"n_tensors {n}", replace(parts, n_tensors=n))
        tensors = (*parts.tensors, TensorPart(b"extra.weight", (8,), 0, len(parts.data)))
        yield one("tensor added", replace(parts, tensors=tensors, data=parts.data + bytes(32)))
        yield one("tensors in another order", replace(parts, tensors=tuple(reversed(parts.tensors))))

    # ONNX

    def _graph(self, file: str, n_changes: int) -> Iterator[Alteration]:
        content = self._contents[file]
        weights = f"{file}.data"
        sizes = (len(self._contents[weights]), len(content))

        def changed(seed: int) -> tuple[str, bytes]:
            graph = onnx.ModelProto.FromString(content)
            what = _change_graph(graph, random.Random(f"{self._seed} {file} {seed}"), sizes)
            return f"{file}: {what}", graph.SerializeToString()

        def one(seed: int) -> Alteration:
            return Alteration(lambda: changed(seed)[0], lambda: {file: changed(seed)[1]})

        yield from map(one, range(n_changes))
        for index, tensor in enumerate(onnx.ModelProto.FromString(content).graph.initializer):
            for what, change in _weight_changes(tensor):
                yield self._weight(file, index, f"{tensor.name}: {what}", change)

    def _weight(self, file: str, index: int, what: str, change: Callable[[Any], None]) -> Alteration:
        def make() -> Files:
            model = onnx.ModelProto.FromString(self._contents[file])
            change(model.graph.initializer[index])
            return {file: model.SerializeToString()}

        return Alteration(f"{file}: weight {what}", make)

    # Any file

    def _bytes(self, file: str, n_changes: int) -> Iterator[Alteration]:
        """Some random bytes: in the first part of a file, where headers are, more often than further on."""
        content = self._contents[file]
        for seed in range(n_changes):
            chance = random.Random(f"{self._seed} {file} {seed}")
            reach = chance.choice(
                (min(64, len(content)), min(4096, len(content)), min(40_000, len(content)), len(content))
            )
            places = sorted({chance.randrange(reach) for _ in range(chance.choice((1, 1, 2, 8)))})
            values = [chance.choice((0, 0x7F, 0x80, 0xFF, chance.randrange(256))) for _ in places]

            def make(places: list[int] = places, values: list[int] = values) -> Files:
                changed = bytearray(content)
                for place, value in zip(places, values, strict=True):
                    changed[place] = value
                return {file: bytes(changed)}

            yield Alteration(f"{file}: bytes {dict(zip(places, values, strict=True))}", make)

    def _cuts(self, file: str) -> Iterator[Alteration]:
        content, chance = self._contents[file], random.Random(f"{self._seed} {file}")
        lengths = {0, 1, 3, 4, 8, 23, 24, 25, 100, len(content) // 2, len(content) - 1, len(content) - 33}
        lengths |= {chance.randrange(len(content)) for _ in range(12)}
        lengths |= {chance.randrange(min(40_000, len(content))) for _ in range(12)}
        for length in sorted(length for length in lengths if 0 <= length < len(content)):
            yield self._resized(file, f"cut to {length}", length, 0)
        for more in (1, 32, 4096):
            yield self._resized(file, f"{more} bytes more", len(content), more)

    def _resized(self, file: str, what: str, length: int, more: int) -> Alteration:
        return Alteration(f"{file}: {what}", lambda: {file: self._contents[file][:length] + bytes(more)})

    # The manifest

    def _manifest_values(self) -> Iterator[Alteration]:
        for path in _paths(self._manifest):
            if path[:1] == ("files",) and path[-1] == "sha256":
                continue  # hashes are looked at when a model is fetched, not when it is opened
            here: Any = self._manifest
            for part in path:
                here = here[part]
            near: list[Any] = [here + 1, here - 1, here * 2, here / 2] if type(here) in (int, float) else []
            for value in (*_JSON_VALUES, *near):
                yield self._manifest_value(path, f"is {value!r}", {path[-1]: value})
            yield self._manifest_value(path, "removed", {})
            yield self._manifest_value(path, "renamed", {f"{path[-1]}_": here})

    def _manifest_value(self, path: tuple[str, ...], what: str, instead: Mapping[str, Any]) -> Alteration:
        """The manifest with the entry at `path` replaced by others."""

        def make() -> Files:
            manifest = copy.deepcopy(self._manifest)
            table = manifest
            for part in path[:-1]:
                table = table[part]
            del table[path[-1]]
            table.update(instead)
            return {MANIFEST: json.dumps(manifest).encode()}

        return Alteration(f"{MANIFEST}: {'.'.join(path)} {what}", make)


def _paths(table: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in table.items():
        yield (*before, key)
        if isinstance(value, dict):
            yield from _paths(value, (*before, key))


def _tensor_changes(parts: GgufParts, tensor: TensorPart) -> Iterator[tuple[str, TensorPart]]:
    sizes, n = tensor.sizes, len(tensor.sizes)
    shapes = {
        tuple(reversed(sizes)), (*sizes, 1), sizes[:-1], (*sizes[:-1], sizes[-1] + 1), (*sizes[:-1], sizes[-1] - 1),
        (*sizes[:-1], sizes[-1] * 2), (sizes[0] + 32, *sizes[1:]), (sizes[0] // 2, *sizes[1:]), (*sizes[:-1], 0),
        (*sizes[:-1], _HUGE), (1 << 32, 1 << 32), (*sizes, 1, 1, 1, 1), (1,) * 5,
        (sizes[0] * (sizes[1] if n > 1 else 1),), (32, *sizes),
    }  # fmt: skip
    for shape in sorted(shapes - {sizes}):
        yield f"shape {shape}", replace(tensor, sizes=shape)
    for n_dims in (0, 1, 2, 3, 4, 5, 0xFFFFFFFF):
        if n_dims != n:
            yield f"n_dims {n_dims}", replace(tensor, n_dims=n_dims)
    for kind in _KINDS:
        if kind != tensor.kind:
            yield f"type {kind}", replace(tensor, kind=kind)
    for offset in (
        0,
        tensor.offset + 1,
        tensor.offset + 32,
        max(tensor.offset - 32, 1),
        len(parts.data),
        1 << 63,
        _HUGE,
    ):
        if offset != tensor.offset:
            yield f"offset {offset}", replace(tensor, offset=offset)
    for name in (b"", b"x" * 63, b"x" * 64, b"\xff\xfe", tensor.name + b"s", parts.tensors[0].name, b"a\nb"):
        if name != tensor.name:
            yield f"name {name!r}", replace(tensor, name=name)


def _key_changes(key: KeyPart) -> Iterator[tuple[str, KeyPart]]:
    for kind in range(14):
        if kind != key.kind:
            yield f"type {kind}", replace(key, kind=kind)
    for kind, layout in _SCALARS.items():
        if kind != key.kind:
            yield f"is 1 of type {kind}", replace(key, kind=kind, payload=struct.pack(layout, 1))
    for name in (b"", b"x" * 70_000, b"\xff", key.name + b"_", b"general.alignment"):
        yield f"name {name[:20]!r}", replace(key, name=name)
    if key.kind == STRING:
        for word in (b"", b"llama", b"x" * 100_000, b"\xff\xfe", b"%s%n", b"gpt2\0", b"qwen3"):
            yield f"is {word[:20]!r}", replace(key, payload=text(word))
        yield "has no end", replace(key, payload=struct.pack("<Q", _HUGE) + key.payload[8:])
    elif key.kind != ARRAY:
        layout = _SCALARS[key.kind]
        extremes = {"<f": (0.0, -1.0, 1e38, float("nan"), float("inf"), 1e-45), "<B": (0, 1, 2, 255)}
        for value in extremes.get(layout, (0, 1, 2, 3, 63, 512, 513, 65536, 0x7FFFFFFF, 0xFFFFFFFF)):
            payload = struct.pack(layout, value)
            if payload != key.payload:
                yield f"is {value}", replace(key, payload=payload)


def _array_changes(file: str, parts: GgufParts, key: KeyPart) -> Iterator[Alteration]:
    """Made when they are asked for: a vocabulary is long."""
    kind, n = struct.unpack_from("<IQ", key.payload)

    def one(what: str, change: Callable[[list[bytes]], list[bytes]], **other: int) -> Alteration:
        def make() -> Files:
            return {file: parts.with_key(key.name.decode(), key.with_items(change(key.items()), **other)).build()}

        return Alteration(f"{file}: key {key.name.decode()}: {what}", make)

    def same(items: list[bytes]) -> list[bytes]:
        return items

    def placed(what: str, item: bytes) -> Iterator[Alteration]:
        yield one(f"first item {what}", lambda items: [item, *items[1:]])
        yield one(f"last item {what}", lambda items: [*items[:-1], item])

    yield one("empty", lambda _: [])
    yield one("one item less", lambda items: items[:-1])
    yield one("one item more", lambda items: [*items, items[-1]])
    for count in (n + 1, n - 1, 1 << 31, 1 << 61, _HUGE):
        yield one(f"count {count}", same, count=count)
    for other in (0, 4, 5, 6, 7, 8, 9, 10, 12, 13, 99):
        if other != kind:
            yield one(f"items of type {other}", same, kind=other)
    yield one("two items changed places", lambda items: [items[1], items[0], *items[2:]])
    yield one("an item twice", lambda items: [items[1], *items[1:]])
    if kind == STRING:
        for word in (b"", b" ", b"\xff", b"x" * 1_000_000, b"a b c", b"\0", b"<|im_start|>"):
            yield from placed(repr(word[:10]), text(word))
    else:
        for number in (-1, 0, 2, 6, 1 << 30, -(1 << 31)):
            yield from placed(str(number), struct.pack("<i", number))


def _foreign_keys(parts: GgufParts) -> Iterator[KeyPart]:
    """What llama.cpp reads from other models, and what it does not know."""
    arch = next(key.payload[8:].decode() for key in parts.keys if key.name == b"general.architecture")
    for name in (
        "expert_count", "expert_used_count", "expert_group_count", "nextn_predict_layers", "n_deepstack_layers",
        "rope.dimension_count", "attention.key_length_swa", "embedding_length_out", "pooling_type", "features_length",
        "attention.sliding_window",
    ):  # fmt: skip
        yield KeyPart(f"{arch}.{name}".encode(), 4, struct.pack("<I", 7))
    yield KeyPart(f"{arch}.rope.scaling.type".encode(), STRING, text("nonsense"))
    yield KeyPart(f"{arch}.rope.scaling.factor".encode(), 6, struct.pack("<f", 0.0))
    yield KeyPart(b"general.alignment", 4, struct.pack("<I", 64))
    yield KeyPart(b"split.count", 2, struct.pack("<H", 3))
    yield KeyPart(b"tokenizer.chat_template", STRING, text("{% for x in range(10**9) %}{% endfor %}"))
    yield KeyPart(b"tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 0xFFFFFFFF))
    yield KeyPart(b"tokenizer.ggml.scores", ARRAY, struct.pack("<IQf", 6, 1, 0.0))
    yield KeyPart(b"tokenizer.ggml.token_type_count", 4, struct.pack("<I", 0xFFFFFFFF))
    yield KeyPart(b"unknown", 4, struct.pack("<I", 0))


def _weight_changes(tensor: Any) -> Iterator[tuple[str, Callable[[Any], None]]]:  # noqa: ANN401 - onnx.TensorProto
    """Each thing that is told of a weight."""

    def shape(dims: Sequence[int]) -> Callable[[Any], None]:
        def change(weight: Any) -> None:  # noqa: ANN401
            del weight.dims[:]
            weight.dims.extend(dims)

        return change

    def entry(key: str, value: str) -> Callable[[Any], None]:
        def change(weight: Any) -> None:  # noqa: ANN401
            next(one for one in weight.external_data if one.key == key).value = value

        return change

    def kind(number: int) -> Callable[[Any], None]:
        return lambda weight: setattr(weight, "data_type", number)

    dims = list(tensor.dims)
    for other in ([*dims[::-1]], [*dims, 1], [1, *dims], dims[1:], [2 * size for size in dims], [0] * len(dims)):
        if other != dims:
            yield f"shape {other}", shape(other)
    for number in (1, 6, 7, 10):
        if number != tensor.data_type:
            yield f"type {number}", kind(number)
    told = {one.key: one.value for one in tensor.external_data}
    if told:
        for offset in (0, int(told["offset"]) + 4, int(told["offset"]) + 4096, 1 << 40):
            yield f"offset {offset}", entry("offset", str(offset))
        for length in (0, int(told["length"]) - 4, int(told["length"]) + 4, 1 << 40):
            yield f"length {length}", entry("length", str(length))
        yield "location", entry("location", "talker.gguf")


def _change_graph(model: Any, chance: random.Random, sizes: tuple[int, int]) -> str:  # noqa: ANN401 - onnx.ModelProto
    """Change one thing; returns what."""
    graph = model.graph
    what = chance.choice(("weight", "weight", "node", "node", "node", "attribute", "edge", "edge", "graph"))
    if what == "weight":
        return _change_initializer(chance.choice(graph.initializer), chance, sizes)
    if what == "node":
        node = chance.choice(graph.node)
        before = f"node {node.op_type} {node.output[0]}"
        how = chance.randrange(4)
        if how == 0:
            node.op_type = chance.choice(_OPERATORS)
            return f"{before}: operator {node.op_type}"
        if how == 1:
            node.domain = chance.choice(("", "com.microsoft", "x"))
            return f"{before}: domain {node.domain!r}"
        if how == 2:
            graph.node.remove(node)
            return f"{before}: removed"
        graph.node.add().CopyFrom(node)
        return f"{before}: twice"
    if what == "attribute":
        node = chance.choice([node for node in graph.node if node.attribute])
        return f"node {node.op_type} {node.output[0]}: " + _change_attribute(node, chance)
    if what == "edge":
        return _change_edge(graph, chance)
    return _change_frame(model, chance)


def _change_initializer(tensor: Any, chance: random.Random, sizes: tuple[int, int]) -> str:  # noqa: ANN401
    before = f"weight {tensor.name}"
    how = chance.randrange(6)
    external = {entry.key: entry for entry in tensor.external_data}
    if how == 0:
        dims = list(tensor.dims)
        at = chance.randrange(len(dims)) if dims else 0
        changed = [
            [*dims[::-1]], [*dims, 1], dims[:-1], [*dims[:at], chance.choice((0, 1, 2, -1, 1 << 40)), *dims[at + 1 :]],
            [*dims[:at], dims[at] + 1 if dims else 3, *dims[at + 1 :]],
            [*dims[:at], dims[at] * 2 if dims else 3, *dims[at + 1 :]],
        ]  # fmt: skip
        del tensor.dims[:]
        tensor.dims.extend([size for size in chance.choice(changed) if abs(size) < 1 << 62])
        return f"{before}: shape {list(tensor.dims)}"
    if how == 1:
        tensor.data_type = chance.choice((0, 1, 6, 7, 8, 9, 10, 11, 16, 22, 99))
        return f"{before}: type {tensor.data_type}"
    if how == 2 and external:
        key = chance.choice(("location", "offset", "length"))
        values = {
            "location": ("", "x", "../codec.onnx.data", "/etc/passwd", "/dev/zero", "codec.onnx", "manifest.json", "."),
            "offset": ("-1", "1", "4097", str(sizes[0]), str(1 << 62), "x", ""),
            "length": ("0", "-1", "1", str(sizes[0]), str(1 << 62), "x"),
        }[key]
        external[key].value = chance.choice(values)
        return f"{before}: {key} {external[key].value!r}"
    if how == 3 and external:
        if chance.random() < 0.5:
            tensor.external_data.remove(external[chance.choice(list(external))])
        else:
            tensor.external_data.add(key="checksum", value="0")
        return f"{before}: {[entry.key for entry in tensor.external_data]}"
    if how == 4:
        tensor.name = chance.choice(("", "x", "codes", f"{tensor.name}_"))
        return f"{before}: name {tensor.name!r}"
    raw = bytearray(tensor.raw_data)
    if raw:
        place = chance.randrange(len(raw))
        raw[place] = chance.choice((0, 0x7F, 0x80, 0xFF))
        tensor.raw_data = bytes(raw) if chance.random() < 0.7 else bytes(raw[:place])
        return f"{before}: byte {place}, {len(tensor.raw_data)} bytes"
    tensor.data_location = 1 - tensor.data_location
    return f"{before}: data_location {tensor.data_location}"


def _change_attribute(node: Any, chance: random.Random) -> str:  # noqa: ANN401
    attribute = chance.choice(node.attribute)
    how = chance.randrange(3)
    if how == 0:
        node.attribute.remove(attribute)
        return f"without {attribute.name}"
    if how == 1:
        attribute.name += "_"
        return f"attribute {attribute.name}"
    number = chance.choice((-(1 << 62), -1000, -2, -1, 0, 1, 2, 3, 7, 1000, 1 << 31, 1 << 62))
    if attribute.ints:
        attribute.ints[chance.randrange(len(attribute.ints))] = number
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = chance.choice((0.0, -1.0, 1e30, float("nan")))
        return f"{attribute.name} {attribute.f}"
    else:
        attribute.i = number
    return f"{attribute.name} {number}"


def _change_edge(graph: Any, chance: random.Random) -> str:  # noqa: ANN401
    node = chance.choice(graph.node)
    before = f"node {node.op_type} {node.output[0]}"
    how = chance.randrange(5)
    if how == 0 and node.input:
        at = chance.randrange(len(node.input))
        node.input[at] = chance.choice((
            "", "nothing", node.output[0], chance.choice(graph.initializer).name, chance.choice(graph.node).output[0],
            chance.choice(graph.input).name,
        ))  # fmt: skip
        return f"{before}: input {at} {node.input[at]!r}"
    if how == 1 and node.input:
        at = chance.randrange(len(node.input))
        del node.input[at]
        return f"{before}: without input {at}"
    if how == 2:
        node.input.append(chance.choice((*node.input, "codes", "")))
        return f"{before}: one input more, {node.input[-1]!r}"
    if how == 3:
        at = chance.randrange(len(node.output))
        node.output[at] = chance.choice(("", "t1", "audio", "codes", f"{node.output[at]}_"))
        return f"{before}: output {at} {node.output[at]!r}"
    node.output.append(chance.choice(("", "more")))
    return f"{before}: one output more"


def _change_frame(model: Any, chance: random.Random) -> str:  # noqa: ANN401
    graph = model.graph
    how = chance.randrange(7)
    value = chance.choice((*graph.input, *graph.output))
    dims = value.type.tensor_type.shape.dim
    if how == 0 and dims:
        dim = chance.choice(dims)
        dim.dim_value = chance.choice((0, -1, 1, 2, 3, 17, 100_000, 1 << 40))
        return f"{value.name}: size {dim.dim_value}"
    if how == 1:
        value.type.tensor_type.elem_type = chance.choice((0, 1, 6, 7, 8, 10, 11))
        return f"{value.name}: type {value.type.tensor_type.elem_type}"
    if how == 2:
        value.name = chance.choice(("", "x", f"{value.name}_", "codes"))
        return f"an input or output is {value.name!r}"
    if how == 3 and model.metadata_props:
        prop = chance.choice(model.metadata_props)
        prop.value = chance.choice(("", "x", "0", "-1", "1", "16", "1000000000", str(1 << 70), "[]", "{}"))
        return f"metadata {prop.key} {prop.value!r}"
    if how == 4:
        model.ir_version = chance.choice((0, 3, 99, 1 << 40))
        return f"ir_version {model.ir_version}"
    if how == 5:
        opset = chance.choice(model.opset_import)
        opset.version = chance.choice((0, 1, 7, 13, 18, 99, 1 << 40))
        return f"opset {opset.domain!r} {opset.version}"
    group = chance.choice((graph.input, graph.output))
    gone = chance.choice(group)
    group.remove(gone)
    return f"without {gone.name}"
