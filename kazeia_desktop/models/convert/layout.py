"""What the two GGUF files of a converted model hold: told once, in `formats/voice_layout.py`, for writer and reader."""

from kazeia_desktop.formats.voice_layout import (
    CODE_PREDICTOR_ARCHITECTURE,
    OUTPUT,
    OUTPUT_NORM,
    TOKEN_EMBD,
    TokenTable,
    code_predictor_keys,
    code_predictor_plan,
    code_predictor_shapes,
    codec_token_names,
    layer_shapes,
    talker_keys,
    talker_plan,
    talker_shapes,
)

__all__ = [
    "CODE_PREDICTOR_ARCHITECTURE",
    "OUTPUT",
    "OUTPUT_NORM",
    "TOKEN_EMBD",
    "TokenTable",
    "code_predictor_keys",
    "code_predictor_plan",
    "code_predictor_shapes",
    "codec_token_names",
    "layer_shapes",
    "talker_keys",
    "talker_plan",
    "talker_shapes",
]
