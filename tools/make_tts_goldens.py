"""Figures of the official Qwen3-TTS implementation, for tests/golden/test_qwen3_real.py.

    python -m venv DIR && DIR/bin/pip install torch transformers==4.57.3 accelerate librosa soundfile einops \
        onnxruntime safetensors && DIR/bin/pip install --no-deps qwen-tts==0.1.1
    DIR/bin/python tools/make_tts_goldens.py
    DIR/bin/python tools/make_tts_goldens.py --size 0.6b --out OUT     for tools/parity_report.py

PyTorch for the CPU is enough. Each set of tests/golden/qwen3_sets.py is drawn anew from its seed, run in float32, and
its figures are written to tests/golden/data/qwen3tts/. Beside each set its smallest margin is printed: by how much a
greedy choice won. Below 1e-4 another seed is better: float32's own noise, of about 1e-5, could change a code.
"""

import argparse
import importlib.abc
import importlib.machinery
import json
import sys
import tempfile
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from kazeia_desktop.formats.safetensors import Checkpoint  # noqa: E402
from kazeia_desktop.models.catalog import Catalog  # noqa: E402
from kazeia_desktop.models.store import ModelStore  # noqa: E402
from kazeia_desktop.paths import Paths  # noqa: E402
from tests.golden import qwen3_sets as sets  # noqa: E402

VOCABULARY = "qwen2.5-coder-0.5b"


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty modules in place of what only the 25 Hz tokenizer uses, and qwen-tts imports all the same."""

    names = ("torchaudio", "sox")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See MetaPathFinder."""
        if fullname.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """See Loader."""


sys.meta_path.append(Absent())
import torch  # noqa: E402
from qwen_tts.core.models.configuration_qwen3_tts import Qwen3TTSConfig  # noqa: E402
from qwen_tts.core.models.modeling_qwen3_tts import Qwen3TTSForConditionalGeneration  # noqa: E402
from qwen_tts.core.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Config  # noqa: E402
from qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Decoder  # noqa: E402
from transformers import AutoTokenizer, Qwen2Tokenizer  # noqa: E402
from transformers.generation.logits_process import (  # noqa: E402
    LogitsProcessorList,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)


class Captured(Exception):
    """Carries what generate() would have given to the talker."""


class Official:
    """One checkpoint in the official implementation, float32."""

    def __init__(self, checkpoint: Path) -> None:
        config = json.loads((checkpoint / "config.json").read_text("utf-8"))
        self.model = Qwen3TTSForConditionalGeneration(Qwen3TTSConfig(**config)).eval()
        self.model.load_state_dict(_state(checkpoint))
        self.talker = self.model.talker
        self.predictor = self.talker.code_predictor
        codec = json.loads((checkpoint / "speech_tokenizer" / "config.json").read_text("utf-8"))
        self.codec = Qwen3TTSTokenizerV2Decoder(Qwen3TTSTokenizerV2Config(**codec).decoder_config).eval()
        weights = _state(checkpoint / "speech_tokenizer")
        self.codec.load_state_dict({name.removeprefix("decoder."): value for name, value in weights.items()})
        self.fast = AutoTokenizer.from_pretrained(str(checkpoint))
        self.slow = Qwen2Tokenizer.from_pretrained(str(checkpoint))

    def tokens(self, text: str) -> torch.Tensor:
        """(1, n): as the official processor wraps a text."""
        turn = f"<|im_start|>assistant\n{text}<|im_end|>\n<|im_start|>assistant\n"
        ids: torch.Tensor = self.fast(turn, return_tensors="pt")["input_ids"]
        return ids

    def neutral_tokens(self, text: str) -> np.ndarray:
        """(n,): the same where no part of the text counts as a special token."""
        whole = self.tokens("x")[0].tolist()
        body = self.slow.convert_tokens_to_ids(self.slow.tokenize("assistant\n" + text, split_special_tokens=True))
        return np.array([whole[0], *body, *whole[-5:]], np.int32)

    def prompt(
        self, text: str, whole: bool, language: str, xvector: torch.Tensor | None = None, speaker: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(T, hidden) input of the talker, (U, hidden) what later frames add."""

        def catch(**given: Any) -> None:  # noqa: ANN401
            raise Captured(given["inputs_embeds"], given["trailing_text_hidden"])

        generate, self.talker.generate = self.talker.generate, catch
        try:
            self._generate(text, whole, language, xvector, speaker)
        except Captured as caught:
            embeds, rows = caught.args
            return embeds[0].numpy(), rows[0].numpy()
        finally:
            self.talker.generate = generate
        raise RuntimeError("generate() did not call the talker")

    def greedy(self, text: str, whole: bool, xvector: torch.Tensor | None, speaker: str | None = None) -> np.ndarray:
        """(FRAMES, 16) int16."""
        codes = self._generate(
            text, whole, "french", xvector, speaker,
            do_sample=False, subtalker_dosample=False, max_new_tokens=sets.FRAMES + 1,
        )  # fmt: skip
        return codes[0].numpy().astype(np.int16)

    def _generate(
        self,
        text: str,
        whole: bool,
        language: str,
        xvector: torch.Tensor | None,
        speaker: str | None,
        **options: object,
    ) -> list[torch.Tensor]:
        voice = None
        if xvector is not None:
            voice = {
                "ref_spk_embedding": [xvector], "x_vector_only_mode": [True], "icl_mode": [False], "ref_code": None,
            }  # fmt: skip
        codes, _ = self.model.generate(
            input_ids=[self.tokens(text)], voice_clone_prompt=voice, languages=[language], speakers=[speaker],
            non_streaming_mode=whole, **options,
        )  # fmt: skip
        found: list[torch.Tensor] = codes
        return found

    def frame_embeds(self, codes: np.ndarray, pad: np.ndarray) -> torch.Tensor:
        """(n, hidden)."""
        tables = [self.talker.get_input_embeddings(), *self.predictor.get_input_embeddings()]
        columns = torch.from_numpy(codes).long().T
        return sum(table(column) for table, column in zip(tables, columns, strict=True)) + torch.from_numpy(pad)

    def talker_states(self, embeds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(n, hidden) to final states (n, hidden) and logits (n, 3072)."""
        n = len(embeds)
        states = self.talker.model(
            input_ids=None, inputs_embeds=embeds[None], attention_mask=torch.ones(1, n, dtype=torch.long),
            position_ids=torch.arange(n).expand(3, 1, n), use_cache=False,
        ).last_hidden_state[0]  # fmt: skip
        return states, self.talker.codec_head(states)

    def predictor_greedy(self, hidden: torch.Tensor, code0: int) -> np.ndarray:
        """(15,)."""
        first = self.talker.get_input_embeddings()(torch.tensor([[code0]]))
        inputs = torch.cat([hidden[None, None], first], dim=1)
        codes: np.ndarray = self.predictor.generate(inputs_embeds=inputs, max_new_tokens=15, do_sample=False)[0].numpy()
        return codes


def _state(directory: Path) -> dict[str, torch.Tensor]:
    weights = Checkpoint(directory)
    return {name: torch.from_numpy(weights.tensor(name).array()) for name in weights.names()}


def figures(official: Official, golden: sets.GoldenSet) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays of one set but its digest; see qwen3_sets."""
    speakers = golden.kind == "custom_voice"
    voices: dict[str, torch.Tensor | None] = {"none": None}
    if not speakers:
        for i, text in enumerate(sets.SENTENCES):
            yield f"tokens_{i}", official.tokens(text)[0].numpy().astype(np.int32)
        for i, text in enumerate(sets.NEUTRAL):
            yield f"neutral_{i}", official.neutral_tokens(text)
        vector = official.model.extract_speaker_embedding(sets.clip(), 24000).clone()
        voices["xvector"] = vector
        yield "xvector", vector.numpy()
        for language in sets.LANGUAGES:
            text = sets.SENTENCES[sets.SHORT]
            yield f"prompt_language_{language}", official.prompt(text, True, language, voices["xvector"])[0]
    for speaker, language in sets.SPOKEN if speakers else ():
        prompt, _ = official.prompt(sets.SENTENCES[sets.SHORT], True, language, speaker=speaker)
        yield f"prompt_speaker_{speaker}_{language}", prompt
    if speakers:
        yield "greedy_whole_vivian_0", official.greedy(sets.SENTENCES[0], True, None, "vivian")
        return
    for mode in ("whole", "streamed"):
        for voice, xvector in voices.items():
            for i in (0, 1):
                text = sets.SENTENCES[i]
                prompt, rows = official.prompt(text, mode == "whole", "french", xvector)
                yield f"prompt_{mode}_{voice}_{i}", prompt
                yield f"rows_{mode}_{voice}_{i}", rows
                if i == 0 or voice == "xvector":
                    yield f"greedy_{mode}_{voice}_{i}", official.greedy(text, mode == "whole", xvector)
    yield from forced_figures(official, voices["xvector"])


def forced_figures(official: Official, xvector: torch.Tensor | None) -> Iterator[tuple[str, np.ndarray]]:
    """Each stage on given codes."""
    codes = sets.forced_codes()
    prompt, pad = official.prompt(sets.SENTENCES[0], True, "french", xvector)
    embeds = official.frame_embeds(codes, pad[0])
    states, logits = official.talker_states(torch.cat([torch.from_numpy(prompt), embeds]))
    states, logits = states[len(prompt) - 1 :], logits[len(prompt) - 1 :]
    yield "forced_codes", codes.astype(np.int16)
    yield "frame_embeds", embeds.numpy()
    yield "talker_hidden", states.numpy()
    yield "talker_logits", logits[:, :: sets.LOGIT_STRIDE].numpy()
    predicted, _ = official.talker.forward_sub_talker_finetune(torch.from_numpy(codes).long(), states[:-1])
    yield "predictor_logits", predicted[:, :, :: sets.CODE_STRIDE].numpy()
    greedy = [official.predictor_greedy(state, int(row[0])) for state, row in zip(states[:-1], codes, strict=True)]
    yield "predictor_greedy", np.stack(greedy).astype(np.int16)
    frames = sets.codec_codes()
    audio = official.codec(torch.from_numpy(frames.T.copy()).long()[None])[0, 0].numpy()
    yield "codec_codes", frames.astype(np.int16)
    yield "codec_audio", audio[:: sets.AUDIO_STRIDE]


def processors() -> Iterator[tuple[str, np.ndarray]]:
    """What transformers' own processors make of some logits: probabilities, 0 where a token cannot be drawn."""
    for i, case in enumerate(sets.SAMPLING_CASES):
        logits, history = sets.sampling_inputs(i)
        chain = LogitsProcessorList(
            [RepetitionPenaltyLogitsProcessor(case.penalty), TemperatureLogitsWarper(case.temperature)]
        )
        if case.top_k:
            chain.append(TopKLogitsWarper(case.top_k))
        if case.top_p < 1:
            chain.append(TopPLogitsWarper(case.top_p))
        scores = chain(torch.from_numpy(history).long()[None], torch.from_numpy(logits)[None])
        yield f"probabilities_{i}", torch.softmax(scores.double(), dim=-1)[0].numpy()


class Margins:
    """Watches every greedy choice of a model: by how much the largest logit won, at least."""

    def __init__(self) -> None:
        self.smallest = float("inf")

    def __call__(self, _module: object, _inputs: object, logits: torch.Tensor) -> None:
        """A forward hook of a head."""
        best = logits[..., :2048].topk(2).values
        self.smallest = min(self.smallest, float((best[..., 0] - best[..., 1]).min()))


def say(line: str) -> None:
    """A line of the report."""
    sys.stdout.write(line + "\n")


@torch.no_grad()
def main() -> None:
    """Write all files of data/qwen3tts/, or one directory of full size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=Path, help="a GGUF with Qwen2's tokenizer (the starter language model's)")
    parser.add_argument("--size", choices=tuple(sets.FULL), help="one of the published sizes instead, written to --out")
    parser.add_argument("--out", type=Path, help="a new directory: checkpoint/ and figures.npz")
    options = parser.parse_args()
    vocabulary = options.vocabulary
    if vocabulary is None:
        store = ModelStore(Paths.from_environment().models_dir, Catalog.load())
        vocabulary = next(store.require(VOCABULARY).glob("*.gguf"))
    if options.size:
        if options.out is None:
            parser.error("--size needs --out")
        options.out.mkdir(parents=True)
        write_set(sets.FULL[options.size], options.out / "checkpoint", options.out / "figures.npz", vocabulary)
        return
    torch.set_num_threads(1)
    sets.DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for golden in sets.SETS:
            write_set(golden, Path(scratch) / golden.name, golden.figures_file, vocabulary)
    np.savez_compressed(sets.DATA / "processors.npz", **dict(processors()), allow_pickle=False)


def write_set(golden: sets.GoldenSet, checkpoint: Path, target: Path, vocabulary: Path) -> None:
    """Draw the checkpoint, and write its figures."""
    sets.write_checkpoint(golden, checkpoint, vocabulary)
    official, margins = Official(checkpoint), Margins()
    for head in (official.talker.codec_head, *official.predictor.lm_head):
        head.register_forward_hook(margins)
    arrays = dict(figures(official, golden))
    np.savez_compressed(target, digest=np.array(sets.digest(checkpoint)), **arrays, allow_pickle=False)
    size = target.stat().st_size / 1000
    say(f"{golden.name}: {len(arrays)} arrays, {size:.0f} kB, smallest margin {margins.smallest:.1e}")
    for name in ("xvector", "talker_hidden", "talker_logits", "predictor_logits", "codec_audio"):
        if name in arrays:
            say(f"  {name}: RMS {np.sqrt(np.mean(np.square(arrays[name]))):.3g}")


if __name__ == "__main__":
    main()
