"""How far a converted voice is from the official implementation, stage by stage, at full width.

    DIR/bin/python tools/make_tts_goldens.py --size 0.6b --out REFERENCE     (see there; 5 minutes, 2.5 GB)
    kazeia models convert REFERENCE/checkpoint f32 --dtype f32
    kazeia models convert REFERENCE/checkpoint q8_0 --dtype q8_0
    .venv/bin/python tools/parity_report.py REFERENCE f32 q8_0

Each stage gets the official inputs, so that errors do not add up: the last lines alone are end to end. A model of
dtype f32 passes when every cosine is at least 0.99999, every RMSE at most 3e-3 and all greedy codes are equal; the
others are only reported. Exit code 1 when an f32 model does not pass.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from kazeia_desktop.frames import FloatArray, IntArray  # noqa: E402
from kazeia_desktop.tts.qwen3 import Qwen3Tts  # noqa: E402
from tests.golden import qwen3_sets as sets  # noqa: E402

COSINE: Final = 0.99999
RMSE: Final = 3e-3


@dataclass(frozen=True, slots=True)
class Figure:
    """One stage: figures that are compared as numbers, or codes that are equal or not."""

    stage: str
    cosine: float | None = None
    rmse: float | None = None
    max_error: float | None = None
    equal: int | None = None
    of: int | None = None
    frames: int | None = None
    """How many frames come before the first that differs: on random weights all after it are others."""

    @property
    def exact(self) -> bool:
        """Whether a float32 engine may say this."""
        if self.cosine is not None and self.rmse is not None:
            return self.cosine >= COSINE and self.rmse <= RMSE
        return self.equal == self.of

    def line(self) -> str:
        """A row of the report."""
        if self.cosine is not None:
            return f"{self.stage:36} {self.cosine:11.8f} {self.rmse:9.1e} {self.max_error:9.1e}"
        frames = "" if self.frames is None else f", the first {self.frames} frames wholly"
        return f"{self.stage:36} {self.equal} of {self.of} equal{frames}"


def numbers(stage: str, got: FloatArray, want: FloatArray) -> Figure:
    """Both (..., n): the least cosine of any row, the error of all."""
    a, b = (np.asarray(x, np.float64).reshape(-1, x.shape[-1]) for x in (got, want))
    cosines = np.sum(a * b, axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    error = a - b
    return Figure(stage, float(cosines.min()), float(np.sqrt(np.mean(error**2))), float(np.abs(error).max()))


def codes(stage: str, got: IntArray, want: IntArray) -> Figure:
    """(frames, codebooks)."""
    differs = np.flatnonzero((got != want).any(axis=1))
    return Figure(
        stage, equal=int((got == want).sum()), of=want.size, frames=int(differs[0]) if len(differs) else len(want)
    )


def report(tts: Qwen3Tts, figures: sets.Figures) -> Iterator[Figure]:
    """All stages of one model."""
    same = sum(np.array_equal(tts.tokenize(text), figures[f"tokens_{i}"]) for i, text in enumerate(sets.SENTENCES))
    yield Figure("tokens, sentences", equal=same, of=len(sets.SENTENCES))
    vector = figures["xvector"]
    yield numbers("speaker encoder: x-vector", tts.speaker_embedding(sets.clip())[None], vector[None])
    for mode in ("whole", "streamed"):
        prompt, rows = tts.prefill_embeds(sets.SENTENCES[1], voice=vector, text_mode=mode)
        yield numbers(f"prompt, {mode}", prompt, figures[f"prompt_{mode}_xvector_1"])
        yield numbers(f"text rows, {mode}", rows, figures[f"rows_{mode}_xvector_1"])
    yield numbers(
        "frame embeddings", tts.frame_embeds(figures["forced_codes"].astype(np.int32)), figures["frame_embeds"]
    )
    prompt = figures["prompt_whole_xvector_0"]
    hidden, logits = tts.talker_forward(np.concatenate([prompt, figures["frame_embeds"]]))
    first = len(prompt) - 1
    yield numbers("talker, at once: hidden", hidden[first:], figures["talker_hidden"])
    yield numbers("talker, at once: logits", logits[first:, :: sets.LOGIT_STRIDE], figures["talker_logits"])
    session = tts.talker_session()
    steps = [session.prefill(prompt), *(session.decode(embed) for embed in figures["frame_embeds"])]
    yield numbers("talker, step by step: hidden", np.stack([state for state, _ in steps]), figures["talker_hidden"])
    got = np.stack([logits[:: sets.LOGIT_STRIDE] for _, logits in steps])
    yield numbers("talker, step by step: logits", got, figures["talker_logits"])
    inputs = list(zip(figures["talker_hidden"][:-1], figures["forced_codes"].astype(np.int32), strict=True))
    got = np.stack([tts.code_predictor_logits(state, row)[:, :: sets.CODE_STRIDE] for state, row in inputs])
    yield numbers("code predictor: logits", got, figures["predictor_logits"])
    greedy = np.stack([tts.code_predictor_greedy(state, int(row[0])) for state, row in inputs])
    yield codes("code predictor: greedy codes", greedy, figures["predictor_greedy"])
    frames = figures["codec_codes"].astype(np.int32)
    stream = tts.codec_stream()
    pieces = np.concatenate([stream.push(frames[at : at + 4]) for at in range(0, len(frames), 4)])
    for name, audio in (("whole", tts.decode_codes(frames)), ("4 frames at a time", pieces)):
        yield numbers(f"codec, {name}", audio[None, :: sets.AUDIO_STRIDE], figures["codec_audio"][None])
    for mode in ("whole", "streamed"):
        want = figures[f"greedy_{mode}_xvector_0"].astype(np.int32)
        made = tts.generate_codes(sets.SENTENCES[0], voice=vector, text_mode=mode, max_frames=len(want))
        yield codes(f"end to end: greedy codes, {mode}", made, want)


def main() -> int:
    """Print the table of each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path, help="checkpoint/ and figures.npz, by tools/make_tts_goldens.py")
    parser.add_argument("models", type=Path, nargs="+", help="written by `kazeia models convert`")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--talker", choices=("native", "llama"), default="native", help="our kernels, or llama.cpp")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    with np.load(options.reference / "figures.npz") as file:
        figures = {name: file[name] for name in file.files}
    passed, results = True, {}
    for model in options.models:
        tts = Qwen3Tts.load(model, threads=options.threads, talker=options.talker)
        dtype = tts.manifest.dtype
        table = []
        if not options.json:
            sys.stdout.write(
                f"{f'{model.name} ({dtype}, {options.talker})':38} {'cosine':>11} {'RMSE':>9} {'largest':>9}\n"
            )
        for figure in report(tts, figures):
            table.append(figure)
            if not options.json:
                mark = "  FAILED" if dtype == "f32" and not figure.exact else ""
                sys.stdout.write(f"  {figure.line()}{mark}\n")
                sys.stdout.flush()
        passed = passed and (dtype != "f32" or all(figure.exact for figure in table))
        del tts  # one model in memory at a time
        results[model.name] = {"dtype": dtype, "stages": [asdict(figure) for figure in table]}
    if options.json:
        sys.stdout.write(json.dumps({"passed": passed, "models": results}) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
