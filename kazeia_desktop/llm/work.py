"""Real text through a model, token by token, and which device did what of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.frames import FloatArray
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.node_watch import NodeWatch, Work
from kazeia_desktop.llm.spot import Spot
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings

PROMPT_TOKENS: Final = 96
STEPS: Final = 64
_TIMED_STEPS: Final = 4
_CONTEXT: Final = 512

# Jules Verne, Vingt mille lieues sous les mers (1870), the beginning.
TEXT: Final = (
    "L'année 1866 fut marquée par un événement bizarre, un phénomène inexpliqué et inexplicable que personne n'a sans "
    "doute oublié. Sans parler des rumeurs qui agitaient les populations des ports et surexcitaient l'esprit public à "
    "l'intérieur des continents, les gens de mer furent particulièrement émus. Les négociants, armateurs, capitaines "
    "de navires, skippers et masters de l'Europe et de l'Amérique, officiers des marines militaires de tous pays, et, "
    "après eux, les gouvernements des divers États des deux continents, se préoccupèrent de ce fait au plus haut "
    "point. En effet, depuis quelque temps, plusieurs navires s'étaient rencontrés sur mer avec « une chose énorme », "
    "un objet long, fusiforme, parfois phosphorescent, infiniment plus vaste et plus rapide qu'une baleine."
)


def real_text(model: LlamaModel, n: int) -> list[int]:
    """n tokens of French prose."""
    tokens = model.tokenize(TEXT, special=False)
    return (tokens * (1 + n // len(tokens)))[:n]


def forced(model: LlamaModel, tokens: Sequence[int], steps: int) -> FloatArray:
    """(steps + 1, n_tokens) float32: the logits after the prompt and after each of the real tokens that follow it."""
    never = CancelToken()
    context = model.context
    context.prefill(tokens[: len(tokens) - steps], never)
    rows = [context.logits().copy()]
    for token in tokens[len(tokens) - steps :]:
        context.step(token, never)
        rows.append(context.logits().copy())
    return np.stack(rows)


def measure_work(gguf: Path, settings: LlmSettings, spot: Spot) -> dict[str, Work]:
    """Device -> what it did of a prompt and some steps, measured node by node.

    A run of its own: measuring keeps a backend from joining nodes, so the sum says who worked, not how fast.

    Raises:
        ModelError, InferenceError: the model cannot be loaded there.
    """
    watch = NodeWatch(timed=True)
    there = Spot(spot.device, spot.layers, spot.op_offload, watch)
    model = LlamaModel(gguf, settings.model_copy(update={"n_ctx": _CONTEXT}), spot=there)
    try:
        watch.forget()  # what llama.cpp tries at the start
        forced(model, real_text(model, PROMPT_TOKENS + _TIMED_STEPS), _TIMED_STEPS)
        return watch.work
    finally:
        model.close()
