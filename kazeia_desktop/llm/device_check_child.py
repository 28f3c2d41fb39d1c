"""The child of `device_check`: computes one text on the CPU and on the device, and compares.

    python -m kazeia_desktop.llm.device_check_child < JOB

Flags come with the environment. Prints one JSON object.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.llm.backend_flags import load_library
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.node_watch import NodeWatch, as_record
from kazeia_desktop.llm.prompt import PromptWriter
from kazeia_desktop.llm.prompts import system_prompt
from kazeia_desktop.llm.spot import CPU, Spot
from kazeia_desktop.llm.work import PROMPT_TOKENS, STEPS, forced, measure_work, real_text
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings

_CONTEXT: Final = 1024
_LONGEST: Final = 300

_QUESTION: Final = "Quelle est la capitale de la France ? Réponds en une phrase."


def compare(ours: FloatArray, theirs: FloatArray) -> dict[str, Any]:
    """cosine: the least of all rows; same_top: share of rows; finite: of both."""
    finite = bool(np.isfinite(ours).all() and np.isfinite(theirs).all())
    if not finite:
        return {"finite": False, "cosine": 0.0, "same_top": 0.0}
    one, other = ours.astype(np.float64), theirs.astype(np.float64)
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosine = (one * other).sum(axis=1) / np.maximum(norms, np.finfo(np.float64).tiny)
    same = np.mean(one.argmax(axis=1) == other.argmax(axis=1))
    return {"finite": True, "cosine": float(cosine.min()), "same_top": float(same)}


def free_run(model: LlamaModel) -> tuple[bool, int]:
    """Whether an answer ends by itself, and after how many tokens."""
    writer = PromptWriter(model.chat_template(), model.vocabulary, model.n_ctx)
    messages = [Message("system", system_prompt("", "fr")), Message("user", _QUESTION)]
    model.prefill(writer.write(messages).tokens, CancelToken())
    n = sum(1 for _ in model.generate(_LONGEST, CancelToken(), greedy=True))
    return n < _LONGEST, n


def run(job: dict[str, Any]) -> dict[str, Any]:
    """The whole check.

    Raises:
        KazeiaError: the model, the library or the device cannot be used.
    """
    if job["library"]:
        load_library(Path(job["library"]))
    settings = LlmSettings(**job["llm"]).model_copy(update={"n_ctx": _CONTEXT})
    gguf = Path(job["gguf"])
    model = LlamaModel(gguf, settings, spot=CPU)
    try:
        tokens = real_text(model, PROMPT_TOKENS + STEPS)
        reference = forced(model, tokens, STEPS)
    finally:
        model.close()
    layers = settings.gpu_layers
    watch = NodeWatch()
    model = LlamaModel(gguf, settings, spot=Spot(job["device"], layers, job["op_offload"], watch))
    try:
        watch.forget()  # what llama.cpp tries at the start
        seen = compare(reference, forced(model, tokens, STEPS))
        work = as_record(watch.work)
        seen["ended"], seen["free_tokens"] = free_run(model)
    finally:
        model.close()
    timed = measure_work(gguf, settings, Spot(job["device"], layers, job["op_offload"]))
    return {**seen, "work": work, "timed": as_record(timed)}


def main() -> None:
    """Read the job, compute, answer."""
    job = json.load(sys.stdin)
    try:
        answer = run(job)
    except KazeiaError as error:
        answer = {"error": [error.template, error.values]}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
