"""Prefill here, decode there: one context reads the prompt, another writes the answer.

Reading is many tokens at once, which an accelerator does best; writing is one after the other, which the CPU does as
well or better. What was read moves from one to the other as the state of a sequence.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import llama_cpp

from kazeia_desktop.errors import ModelError
from kazeia_desktop.llm.context import LlamaContext, common_length
from kazeia_desktop.llm.llama import LlamaModel, load_model
from kazeia_desktop.llm.spot import CPU, Spot
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings

_log = logging.getLogger(__name__)

_FEW: Final = 8
"""So many new tokens are read sooner where the rest already is than a state is moved there and back."""


class TwoContexts(LlamaContext):
    """A context that writes, with one beside it that reads for it.

    Both are made from the same settings: a state can be moved only between equal types of the cache and the same way
    of attention. The first token is chosen from what the reader computed; from then on the writer goes on.

    Args:
        model, reader_model: llama.cpp's handles of the same file, at their spots; they may be the same.
    Raises:
        InferenceError: with llama.cpp's own reason.

    Attributes:
        moves: how many times a state was moved.
        can_move: false once moving failed: everything is then computed by the writer.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - a C pointer
        reader_model: Any,  # noqa: ANN401
        n_tokens: int,
        settings: LlmSettings,
        share: CoreShare | None,
        spot: Spot,
        reader_spot: Spot,
    ) -> None:
        super().__init__(model, n_tokens, settings, share, spot)
        self.moves = 0
        self.can_move = True
        try:
            self.reader = LlamaContext(reader_model, n_tokens, settings, share, reader_spot)
        except BaseException:
            super().close()
            raise

    def close(self) -> None:
        """Free both; closing twice is harmless."""
        self.reader.close()
        super().close()

    def use(self, settings: LlmSettings) -> None:
        """See LlamaContext."""
        super().use(settings)
        self.reader.use(settings)

    def prefill(self, prompt: Sequence[int], cancel: CancelToken, cut: bool = False, mark: int = 0) -> int:
        """See LlamaContext. A few tokens that follow what the writer holds are read by itself."""
        shared = common_length(self.tokens, prompt)
        follows = shared == len(self.tokens)
        if not self.can_move or (follows and 0 < len(prompt) - shared <= _FEW):
            return super().prefill(prompt, cancel, cut, mark)
        reader = self.reader
        if (follows or self.goes_back) and shared > common_length(reader.tokens, prompt):
            self._move(self, reader)
        n_read = reader.prefill(prompt, cancel, cut, mark)
        if reader.tokens != list(prompt):  # cancelled
            return n_read
        if not self._move(reader, self):
            return super().prefill(prompt, cancel, cut, mark)
        self._logits = reader.logits().copy()
        return n_read

    def _move(self, one: LlamaContext, other: LlamaContext) -> bool:
        """Make `other` hold what `one` holds. What could not be written or read in whole counts as failed."""
        tokens = list(one.tokens)
        other.take_back(one.put_away())
        self.moves += 1
        if other.tokens == tokens:
            return True
        self.can_move = False
        _log.warning("the state of %d tokens could not be moved: one context reads and writes from now on", len(tokens))
        return False


class TwoContextModel(LlamaModel):
    """A LlamaModel whose prompts are read at another spot. One thread at a time; `use` may come from any.

    Args:
        reader: where prompts are read. At the writer's own spot both contexts share one copy of the weights.
    Raises:
        ModelError, InferenceError: as LlamaModel.
    """

    def __init__(
        self, path: Path, settings: LlmSettings, share: CoreShare | None = None, spot: Spot = CPU, reader: Spot = CPU
    ) -> None:
        self._reader_spot = reader
        self._reader_model: Any = None
        super().__init__(path, settings, share, spot)

    def _make_context(self, settings: LlmSettings, share: CoreShare | None, spot: Spot) -> LlamaContext:
        reads = self._model
        if self._reader_spot.device != spot.device:
            try:
                reads = self._reader_model = load_model(self.path, settings, self._reader_spot)
            except ModelError:
                self.close()
                raise
        return TwoContexts(self._model, reads, self.vocabulary.n_tokens, settings, share, spot, self._reader_spot)

    def close(self) -> None:
        """Free both contexts and models. Closing twice is harmless."""
        super().close()
        if self._reader_model:
            llama_cpp.llama_model_free(self._reader_model)
            self._reader_model = None
