"""What the converter needs of a source, whichever files it comes in."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from kazeia_desktop.formats.lazy_tensor import LazyTensor
from kazeia_desktop.formats.voice_description import VoiceDescription
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.layout import TokenTable


class VoiceSource(Protocol):
    """A Qwen3-TTS model whose tensors were all found with the right shapes.

    Attributes:
        rope_sections: M-RoPE's split of half a head: time, height, width.
        talker: the names of `layout.talker_shapes` -> tensor.
        code_predictor: the names of `layout.code_predictor_shapes` -> tensor.
        codec: `a.gen.wav.*` name -> function that reads it, constants folded.
        codec_file: where these are, for messages.
        codec_geometry: `codec_weights.CodecGeometry`.
        speaker_encoder: official name -> tensor; empty for a model without one.
        speaker_encoder_config: as config.json has it, with the official defaults.
    """

    description: VoiceDescription
    tokens: TokenTable
    rope_sections: tuple[int, ...]
    talker: Mapping[str, LazyTensor]
    code_predictor: Mapping[str, LazyTensor]
    codec: Mapping[str, Callable[[], FloatArray]]
    codec_file: Path
    codec_geometry: Any
    speaker_encoder: Mapping[str, LazyTensor]
    speaker_encoder_config: Mapping[str, Any]
