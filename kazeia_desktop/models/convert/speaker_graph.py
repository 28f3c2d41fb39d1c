"""Writes the speaker encoder of a Qwen3-TTS Base model as an ONNX graph, without PyTorch.

The graph is that of `formats/speaker_network.py`. The weights stand in a file beside it and are written one after
the other, so that no more than one is in memory.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats import speaker_network
from kazeia_desktop.formats.problems import key_problem, tensor_problem
from kazeia_desktop.formats.speaker_network import PREFIX, STATISTICS, ShapeProblem, SpeakerLayout, build_graph
from kazeia_desktop.frames import FloatArray

GetTensor = Callable[[str], FloatArray]
"""Name -> tensor, float32 in the official shape; raises a ModelError that names file and tensor."""

_DEFAULTS: Final[Mapping[str, Sequence[int]]] = {
    "enc_kernel_sizes": (5, 3, 3, 3, 1),
    "enc_dilations": (1, 2, 3, 4, 1),
}
"""What the official configuration class has where config.json is silent, as it is in all published models."""
_RES2NET_SCALE: Final = 8
_N_MELS: Final = 128
_SIZES: Final = {
    "enc_dim": "fc.weight",
    "enc_attention_channels": "asp.tdnn.conv.weight",
    "enc_se_channels": "blocks.1.se_block.conv1.weight",
}
"""Key of the configuration -> a tensor with that many rows."""


def write_speaker_graph(path: Path, get: GetTensor, config: Mapping[str, object], source: Path | None = None) -> int:
    """Write the graph at `path` and its weights at `path` + ".data".

    Args:
        get: see GetTensor; asked once for each tensor of `tensor_names`, in its order.
        config: `speaker_encoder_config` of the model's config.json; may be empty. Sizes come from the tensors, and
            where the configuration has them they must agree.
        source: the file that is named when a tensor has the wrong shape.
    Returns:
        the x-vector's width.
    Raises:
        ModelCorruptError: a tensor has a shape that does not fit, or values that are not numbers; or the
            configuration is of another network.
        OSError: a file cannot be written.
    """
    source = source or path
    layout, kernels = _layout(config, source)
    data = path.with_name(path.name + ".data")
    shapes: dict[str, tuple[int, ...]] = {}
    with data.open("wb") as file:
        for name in speaker_network.tensor_names(layout):
            tensor = get(name)
            if not np.isfinite(tensor).all():
                raise tensor_problem(source, name, "values", "inf, nan", "finite")
            shapes[name] = tensor.shape
            parts = [tensor]
            if name == f"{PREFIX}asp.tdnn.conv.weight" and tensor.ndim == 3 and tensor.shape[1] % len(STATISTICS) == 0:
                parts = np.split(tensor, len(STATISTICS), axis=1)
            for part in parts:
                file.write(b"\0" * (speaker_network.aligned(file.tell()) - file.tell()))
                file.write(np.ascontiguousarray(part, "<f4").data)
    try:
        model = build_graph(layout, shapes, data.name)
    except ShapeProblem as error:
        name, found, expected = error.args
        raise tensor_problem(source, name, "shape", list(found), list(expected)) from error
    _compare(config, shapes, kernels, source)
    path.write_bytes(model.SerializeToString())
    return shapes[f"{PREFIX}fc.weight"][0]


def tensor_names(config: Mapping[str, object]) -> Iterator[str]:
    """The official names of all the tensors that `write_speaker_graph` asks for, in its order."""
    return speaker_network.tensor_names(_layout(config, Path("config.json"))[0])


_MMPROJ_WHOLE: Final = {
    "blocks.0.conv": "a.conv1d.0",
    "mfa.conv": "a.conv_out",
    "asp.conv": "a.asp_attn",
    "asp.tdnn.conv": "a.asp_tdnn",
    "fc": "mm.a.fc",
}
_MMPROJ_BLOCK: Final = {
    "tdnn1.conv": "conv_pw1",
    "tdnn2.conv": "conv_pw2",
    "se_block.conv1": "se_conv1",
    "se_block.conv2": "se_conv2",
}


def mmproj_name(official: str) -> str:
    """The name that llama.cpp's converter gives a speaker-encoder tensor in the mmproj GGUF.

    Args:
        official: for example "speaker_encoder.blocks.1.res2net_block.blocks.0.conv.weight" (a.blk.1.res2.0.weight).
    Raises:
        ModelIncompatibleError: not a tensor of this network.
    """
    inner, _, kind = official.removeprefix(PREFIX).rpartition(".")
    if inner in _MMPROJ_WHOLE:
        return f"{_MMPROJ_WHOLE[inner]}.{kind}"
    parts = inner.split(".")
    if parts[0] == "blocks" and len(parts) > 2:
        part = ".".join(parts[2:])
        if part in _MMPROJ_BLOCK:
            return f"a.blk.{parts[1]}.{_MMPROJ_BLOCK[part]}.{kind}"
        if parts[2:4] == ["res2net_block", "blocks"]:
            return f"a.blk.{parts[1]}.res2.{parts[4]}.{kind}"
    raise ModelIncompatibleError("The speaker encoder has no tensor {name!r}.", name=official)


def speaker_weights_from_mmproj(get: GetTensor) -> GetTensor:
    """A getter by official names over one by mmproj names.

    A kernel of one step may come without its last axis, and the file's converter may have dropped it: it is put back.
    """

    def official(name: str) -> FloatArray:
        tensor = get(mmproj_name(name))
        return tensor[:, :, None] if name.endswith(".weight") and tensor.ndim == 2 else tensor

    return official


def _layout(config: Mapping[str, object], source: Path) -> tuple[SpeakerLayout, tuple[int, ...]]:
    """The layout, and the kernels' sizes."""
    lists = {}
    for key, default in _DEFAULTS.items():
        value = config.get(key, default)
        listed = value if isinstance(value, list | tuple) else ()
        if not 3 <= len(listed) <= 64 or not all(type(item) is int and 0 < item < 64 for item in listed):
            raise key_problem(source, key, "value", value, list(default))
        lists[key] = tuple(listed)
    kernels, dilations = lists["enc_kernel_sizes"], lists["enc_dilations"]
    if len(kernels) != len(dilations):
        raise key_problem(source, "enc_dilations", "length", len(dilations), len(kernels))
    scale = _integer(config, "enc_res2net_scale", _RES2NET_SCALE, range(2, 65), source)
    n_mels = _integer(config, "mel_dim", _N_MELS, range(1, 4097), source)
    return SpeakerLayout(dilations, scale, n_mels), kernels


def _integer(config: Mapping[str, object], key: str, default: int, fits: range, source: Path) -> int:
    value = config.get(key, default)
    if type(value) is not int or value not in fits:
        raise key_problem(source, key, "value", value, default)
    return value


def _compare(
    config: Mapping[str, object], shapes: Mapping[str, tuple[int, ...]], kernels: tuple[int, ...], source: Path
) -> None:
    """The tensors fit each other; see that they are what the configuration says."""
    for key, name in _SIZES.items():
        found = shapes[PREFIX + name][0]
        if config.get(key, found) != found:
            raise key_problem(source, key, "value", config[key], found)
    width = shapes[f"{PREFIX}blocks.0.conv.weight"][0]
    channels = [width] * (len(kernels) - 1) + [shapes[f"{PREFIX}mfa.conv.weight"][0]]
    told = config.get("enc_channels", channels)
    if not isinstance(told, list | tuple) or list(told) != channels:
        raise key_problem(source, "enc_channels", "value", told, channels)
    blocks = [f"blocks.{i}.res2net_block.blocks.0.conv" for i in range(1, len(kernels) - 1)]
    for size, name in zip(kernels, ["blocks.0.conv", *blocks, "mfa.conv"], strict=True):
        found = shapes[f"{PREFIX}{name}.weight"][2]
        if found != size:
            raise key_problem(source, "enc_kernel_sizes", "value", list(kernels), f"{name}: {found}")
