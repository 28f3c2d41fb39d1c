"""llama.cpp's two files of a Qwen3-TTS: the talker (qwen3tts) and its "mmproj" with everything else.

Source: llama.cpp's conversion/qwen3tts.py, and tools/mtmd/clip.cpp for what the files leave out.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.json_fields import Fields
from kazeia_desktop.formats.lazy_tensor import LazyTensor
from kazeia_desktop.formats.problems import key_problem, one_line
from kazeia_desktop.formats.voice_description import (
    CODEBOOK,
    CODEBOOKS,
    CODEC_VOCAB,
    MOST_TOKENS,
    CodePredictorShape,
    SpeakerEncoderShape,
    TalkerShape,
    VoiceDescription,
    read_code_predictor,
    read_codec,
    read_codec_ids,
    read_sampling,
    read_talker,
    read_text_ids,
)
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.codec_weights import CodecGeometry
from kazeia_desktop.models.convert.finite import finite, naming
from kazeia_desktop.models.convert.layout import TokenTable, code_predictor_shapes, talker_shapes
from kazeia_desktop.models.convert.official_config import SAMPLING, model_name
from kazeia_desktop.models.convert.speaker_graph import mmproj_name, tensor_names

TALKER: Final = "qwen3tts"
MMPROJ: Final = "clip"
_GEN: Final = "clip.gen.audio"
_CODE: Final = "a.gen.code"
_CODE_ROPE_THETA: Final = 1_000_000.0  # the mmproj has no key for it: clip.cpp has the number in its code
_LAYER: Final = {"attn_norm": "ln1", "attn_output": "attn_out", "ffn_norm": "ln2"}
_TEXT_IDS: Final = {
    "im_start": "<|im_start|>", "im_end": "<|im_end|>", "assistant": "assistant",
    "tts_pad": "<tts_pad>", "tts_bos": "<tts_text_bos>", "tts_eos": "<tts_text_eod>",
}  # fmt: skip
_CODEC_IDS: Final = {
    "codec_pad": "<|codec_pad|>", "codec_bos": "<|codec_bos|>", "codec_eos": "<|codec_eos_token|>",
    "codec_think": "<|codec_think|>", "codec_nothink": "<|codec_nothink|>",
    "codec_think_bos": "<|codec_think_bos|>", "codec_think_eos": "<|codec_think_eos|>",
}  # fmt: skip
_DIALECTS: Final = {"dylan": "beijing_dialect", "eric": "sichuan_dialect"}
"""spk_is_dialect of the published CustomVoice models: no key of the GGUF has it."""


class PairSource:
    """See `source.VoiceSource`."""

    def __init__(self, talker: GgufFile, mmproj: GgufFile) -> None:
        """Raises:
        ModelCorruptError, ModelIncompatibleError: naming the file and the key or tensor.
        """
        self._talker, self._mmproj = talker, mmproj
        projector = mmproj.text(f"{_GEN}.projector_type")
        if projector != "qwen3tts_gen":
            raise ModelIncompatibleError(
                "The model {path} has {key} {found}: only {expected} can be converted.",
                path=str(mmproj.path), key=f"{_GEN}.projector_type", found=one_line(projector), expected="qwen3tts_gen",
            )  # fmt: skip
        names = talker.texts("tokenizer.ggml.tokens")
        n_text = len(names) - CODEC_VOCAB
        if not 1 <= n_text <= MOST_TOKENS:
            expected = f"{CODEC_VOCAB + 1}..{CODEC_VOCAB + MOST_TOKENS}"
            raise key_problem(talker.path, "tokenizer.ggml.tokens", "length", len(names), expected)
        shape = self._talker_shape(n_text)
        predictor = self._predictor_shape(shape)
        self.rope_sections = self._sections(shape)
        self.tokens = self._tokens(names[:n_text])
        self.talker: Mapping[str, LazyTensor] = {
            name: talker.tensor(name, size) for name, size in talker_shapes(shape).items()
        }
        self.code_predictor: Mapping[str, LazyTensor] = {
            name: self._predictor_tensor(name, size) for name, size in code_predictor_shapes(predictor, shape).items()
        }
        codec = {_codec_name(name): name for name in mmproj.tensors if name.startswith("a.gen.wav.")}
        self.codec: Mapping[str, Callable[[], FloatArray]] = {
            name: partial(_finite, mmproj, stored) for name, stored in codec.items()
        }
        self.codec_file = mmproj.path
        with naming(mmproj.path):
            self.codec_geometry = CodecGeometry.from_shapes(
                {name: mmproj.tensors[stored].shape for name, stored in codec.items()}
            )
        self.speaker_encoder_config: Mapping[str, Any] = {}
        self.speaker_encoder: Mapping[str, LazyTensor] = self._speaker_encoder()
        self.description = self._described(names, shape, predictor)

    def _talker_shape(self, n_text: int) -> TalkerShape:
        file = self._talker
        values = _decoder_values(file, TALKER, "layer_norm_rms_epsilon")
        values |= {
            "head_dim": file.integer(f"{TALKER}.attention.key_length", 1, 512),
            "rope_theta": _clean(file.number(f"{TALKER}.rope.freq_base", 1, 1e9)),
            "vocab": CODEC_VOCAB,
            "text_vocab": n_text,
            "max_positions": file.integer(f"{TALKER}.context_length", 1, 1 << 20),
        }
        return read_talker(Fields(file.path, values, f"{TALKER}."))

    def _predictor_shape(self, talker: TalkerShape) -> CodePredictorShape:
        file = self._mmproj
        values = _decoder_values(file, _GEN, "layer_norm_epsilon")
        values |= {
            "head_dim": file.info(f"{_CODE}.blk.0.attn_q_norm.weight").shape[0],
            "rope_theta": _CODE_ROPE_THETA,
            "vocab": CODEBOOK,
            "codebooks": CODEBOOKS - 1,
            "projection": f"{_CODE}.proj_in.weight" in file.tensors,
        }
        return read_code_predictor(Fields(file.path, values, f"{_GEN}."), talker)

    def _sections(self, shape: TalkerShape) -> tuple[int, ...]:
        key = f"{TALKER}.rope.dimension_sections"
        sections = tuple(self._talker.integers(key)[:4])
        if len(sections) < 3 or min(sections) < 0 or sum(sections[:3]) != shape.head_dim // 2:
            raise key_problem(self._talker.path, key, "value", list(sections), f"sum {shape.head_dim // 2}")
        return sections[:3]

    def _tokens(self, names: list[str]) -> TokenTable:
        types = self._talker.integers("tokenizer.ggml.token_type")[: len(names)]
        if len(types) < len(names) or not all(1 <= kind <= 6 for kind in types):
            found = f"{len(types)} * {min(types, default=0)}..{max(types, default=0)}"
            raise key_problem(self._talker.path, "tokenizer.ggml.token_type", "value", found, f"{len(names)} * 1..6")
        return TokenTable(names, types, self._talker.texts("tokenizer.ggml.merges"))

    def _predictor_tensor(self, name: str, size: tuple[int, ...]) -> LazyTensor:
        kind, number, *rest = name.split(".")
        if kind == "blk":
            return self._mmproj.tensor(f"{_CODE}.blk.{number}.{_LAYER.get(rest[0], rest[0])}.{rest[1]}", size)
        if kind == "codec_embd" and number == "0":
            return self._mmproj.tensor(f"{_CODE}.out_embd.weight", size)
        if kind in ("codec_embd", "head"):  # one stack of 15 pages
            stack = f"{_CODE}.{'head' if kind == 'head' else 'embd'}.weight"
            page = int(number) - 1
            return self._mmproj.tensor(stack, (CODEBOOKS - 1, *size)).slice(page, page + 1, size)
        if kind == "input_proj":
            return self._mmproj.tensor(f"{_CODE}.proj_in.{number}", size)
        return self._mmproj.tensor(f"{_CODE}.output_norm.weight", size)

    def _speaker_encoder(self) -> dict[str, LazyTensor]:
        """Official name -> tensor; nothing where the file has no speaker encoder."""
        found: dict[str, LazyTensor] = {}
        for name in tensor_names({}):
            stored = mmproj_name(name)
            if not found and stored not in self._mmproj.tensors:
                return {}
            tensor = self._mmproj.tensor(stored)
            if name.endswith(".weight") and len(tensor.shape) == 2:
                tensor = tensor.reshaped((*tensor.shape, 1))
            found[name] = tensor
        return found

    def _described(self, names: list[str], talker: TalkerShape, predictor: CodePredictorShape) -> VoiceDescription:
        path = self._talker.path
        rows: dict[str, object] = {}
        for row, name in enumerate(names[: talker.text_vocab]):
            rows.setdefault(name, row)
        codec_rows = {name: row for row, name in enumerate(names[talker.text_vocab :])}
        languages = _named(codec_rows, "<|codec_language_")
        speakers = _named(codec_rows, "<|spk_")
        kind = "custom_voice" if speakers else "base" if self.speaker_encoder else "voice_design"
        size = {1024: "0b6", 2048: "1b7"}.get(talker.hidden, "")
        geometry = asdict(self.codec_geometry) | {"samples_per_frame": self.codec_geometry.samples_per_frame}
        sampling = Fields(path, SAMPLING)
        return VoiceDescription(
            name=model_name(size, kind) if size else one_line(self._talker.text("general.name", "Qwen3-TTS")),
            model_type=kind,
            model_size=size,
            talker=talker,
            code_predictor=predictor,
            codec=read_codec(Fields(self._mmproj.path, geometry, "a.gen.wav.")),
            speaker_encoder=SpeakerEncoderShape(24000, talker.hidden) if self.speaker_encoder else None,
            ids=read_text_ids(Fields(path, rows, "tokenizer.ggml.tokens: ", _TEXT_IDS), talker)
            | read_codec_ids(Fields(path, codec_rows, "tokenizer.ggml.tokens: ", _CODEC_IDS), talker),
            languages=languages,
            speakers=speakers,
            speaker_dialects={name: told for name, told in _DIALECTS.items() if name in speakers and told in languages},
            talker_sampling=read_sampling(sampling, penalty=True),
            code_predictor_sampling=read_sampling(
                sampling.renamed({key: f"subtalker_{key}" for key in ("temperature", "top_k", "top_p")}), penalty=False
            ),
        )


def _decoder_values(file: GgufFile, prefix: str, epsilon: str) -> dict[str, object]:
    """What `voice_description` reads of a stack of layers; ranges are checked there."""
    most = 1 << 20
    return {
        "hidden": file.integer(f"{prefix}.embedding_length", 1, most),
        "layers": file.integer(f"{prefix}.block_count", 1, most),
        "heads": file.integer(f"{prefix}.attention.head_count", 1, most),
        "kv_heads": file.integer(f"{prefix}.attention.head_count_kv", 1, most),
        "ffn": file.integer(f"{prefix}.feed_forward_length", 1, most),
        "rms_norm_eps": _clean(file.number(f"{prefix}.attention.{epsilon}", 1e-12, 0.01)),
    }


def _finite(file: GgufFile, name: str) -> FloatArray:
    return finite(file.tensor(name))


def _clean(value: float) -> float:
    """1e-06 of the float32 nearest to it."""
    return float(f"{value:.7g}")


def _codec_name(stored: str) -> str:
    """The quantizers' tensors have a suffix in the file only."""
    return stored.removesuffix(".weight") if stored.startswith("a.gen.wav.quant.") else stored


def _named(rows: Mapping[str, int], prefix: str) -> dict[str, int]:
    """The rows whose names are `prefix`, a name and "|>"."""
    found = {}
    for name, row in rows.items():
        inner = name[len(prefix) : -2]
        if name.startswith(prefix) and name.endswith("|>") and 1 <= len(inner) <= 64 and inner.isprintable():
            found[inner] = row
    return found


def pair_of(paths: list[Path]) -> tuple[GgufFile, GgufFile] | None:
    """The talker and the mmproj among `paths`; None unless there is exactly one of each.

    Raises:
        ModelError: a file is no sound GGUF.
    """
    talkers, projectors = [], []
    for path in paths:
        file = GgufFile(path)
        architecture = file.text("general.architecture", "")
        if architecture == TALKER:
            talkers.append(file)
        elif architecture == MMPROJ:
            projectors.append(file)
    return (talkers[0], projectors[0]) if len(talkers) == len(projectors) == 1 else None
