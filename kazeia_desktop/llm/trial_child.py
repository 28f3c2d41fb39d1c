"""Loads a model and lets it say a few tokens: run in a process of its own by `trial.try_model`.

    python -m kazeia_desktop.llm.trial_child < {"path": ..., "kv_type": ..., "flash_attention": ...}

Prints {"ok": true} or {"error": [kind, template, values]}.
"""

import contextlib
import json
import sys
from pathlib import Path

from kazeia_desktop.errors import InferenceError, KazeiaError, ModelIncompatibleError
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.prompt import PromptWriter
from kazeia_desktop.llm.trial import told
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings

_TEXT = "Bonjour ! Hello, 1 2 3. "


def main() -> None:
    """Read the job, try, answer."""
    job = json.load(sys.stdin)
    settings = LlmSettings(n_ctx=512, threads=1, kv_type=job["kv_type"], flash_attention=job["flash_attention"])
    answer: dict[str, object] = {"ok": True}
    try:
        run(Path(job["path"]), settings)
    except KazeiaError as error:
        answer = {"error": told(error)}
    sys.stdout.write(json.dumps(answer) + "\n")


def run(path: Path, settings: LlmSettings) -> None:
    """Read some tokens at once, then one by one.

    Raises:
        ModelError: it cannot be loaded. ModelIncompatibleError: it does not answer.
    """
    model = LlamaModel(path, settings)
    try:
        template = model.chat_template()
        with contextlib.suppress(ModelIncompatibleError):  # told when it is to converse
            PromptWriter(template, model.vocabulary, model.n_ctx)
        for text in (template or "", _TEXT * 4):
            tokens = model.tokenize(text, special=True)[: model.n_ctx // 2]
            if tokens:
                model.prefill(tokens, CancelToken())
                for _ in model.generate(4, CancelToken()):
                    pass
    except InferenceError as error:
        raise ModelIncompatibleError("llama.cpp cannot run {file}: {reason}", file=str(path), reason=error) from error
    finally:
        model.close()


if __name__ == "__main__":
    main()
