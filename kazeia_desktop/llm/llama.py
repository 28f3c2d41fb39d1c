"""llama.cpp as a chat session needs it: tokens in, tokens out, stoppable at any moment.

Through llama-cpp-python's C bindings, so that logits are not copied for every token.
"""

import codecs
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

# isort: off
from kazeia_desktop import _native  # noqa: F401 - says plainly when llama.cpp is missing or not the one built with
import llama_cpp

# isort: on
from kazeia_desktop.errors import InferenceError, ModelCorruptError, ModelError, ModelIncompatibleError
from kazeia_desktop.llm.context import LlamaContext, PutAway
from kazeia_desktop.llm.gguf import check_header
from kazeia_desktop.llm.llama_log import SPOKEN
from kazeia_desktop.llm.sampling import TokenSampler, likeliest
from kazeia_desktop.llm.spot import CPU, Spot, model_params
from kazeia_desktop.llm.state_file import fingerprint, read_note, seal
from kazeia_desktop.llm.vocabulary import Vocabulary
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings

_DAMAGE: Final = ("corrupted", "incomplete", "not within", "failed to read", "unexpectedly reached end", "invalid")


def _load_error(path: Path) -> ModelError:
    reason = SPOKEN.reason("no reason given")
    if any(word in reason for word in _DAMAGE):
        return ModelCorruptError("The model file {file} is damaged: {reason}", file=str(path), reason=reason)
    return ModelIncompatibleError("llama.cpp cannot load {file}: {reason}", file=str(path), reason=reason)


def load_model(path: Path, settings: LlmSettings, spot: Spot) -> Any:  # noqa: ANN401 - a C pointer
    """llama.cpp's handle of a model; the caller frees it.

    Raises:
        ModelError: with llama.cpp's own reason in one line.
        InferenceError: the device of `spot` is not there.
    """
    SPOKEN.forget()
    llama_cpp.llama_backend_init()
    params, _kept = model_params(settings, spot)
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
    if not model:
        raise _load_error(path)
    return model


class LlamaModel:
    """One model with one context. One thread at a time; `use` may come from any.

    Args:
        path: a GGUF file.
        share: tells how many cores the voice leaves; None: all.
        spot: where it is computed.
    Raises:
        ModelError: with llama.cpp's own reason in one line.
        InferenceError: the device of `spot` is not there.

    Attributes:
        vocabulary: its tokens.
        context: what it has read.
    """

    def __init__(self, path: Path, settings: LlmSettings, share: CoreShare | None = None, spot: Spot = CPU) -> None:
        check_header(path)
        self.path = path
        self._settings = settings
        self._sampler: TokenSampler | None = None
        self._context: LlamaContext | None = None
        self._fingerprint: bytes | None = None
        self._model: Any = load_model(path, settings, spot)
        self.vocabulary = Vocabulary(self._model)
        if llama_cpp.llama_model_has_encoder(self._model) or not llama_cpp.llama_model_has_decoder(self._model):
            self.close()
            raise ModelIncompatibleError("The model {file} reads texts but does not continue them.", file=str(path))
        try:
            self._context = self._make_context(settings, share, spot)
        except InferenceError as error:
            self.close()
            raise ModelIncompatibleError(
                "llama.cpp cannot run {file}: {reason}", file=str(path), reason=error.values.get("reason", error)
            ) from error

    def _make_context(self, settings: LlmSettings, share: CoreShare | None, spot: Spot) -> LlamaContext:
        return LlamaContext(self._model, self.vocabulary.n_tokens, settings, share, spot)

    def close(self) -> None:
        """Free context and model. Closing twice is harmless."""
        if self._sampler is not None:
            self._sampler.close()
            self._sampler = None
        if self._context is not None:
            self._context.close()
            self._context = None
        if self._model:
            llama_cpp.llama_model_free(self._model)
            self._model = None

    @property
    def closed(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._context is None

    @property
    def context(self) -> LlamaContext:
        """What the model has read.

        Raises:
            InferenceError: the model is closed.
        """
        if self._context is None:
            raise InferenceError("The model is closed.")
        return self._context

    @property
    def tokens(self) -> Sequence[int]:
        """What the context holds."""
        return self.context.tokens

    @property
    def n_ctx(self) -> int:
        """How many tokens it can hold."""
        return self.context.n_ctx

    def use(self, settings: LlmSettings) -> None:
        """Sampler from the next token on, threads from the next computation on."""
        self._settings = settings
        if (context := self._context) is not None:
            context.use(settings)

    def chat_template(self) -> str | None:
        """The template of the file, or None."""
        raw = llama_cpp.llama_model_chat_template(self._model, None)
        return None if not raw else raw.decode("utf-8", "replace")

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Tokens of `text`. special: names of control tokens become them; else they stay text."""
        return self.vocabulary.tokenize(text, special)

    def prefill(self, prompt: Sequence[int], cancel: CancelToken, cut: bool = False, mark: int = 0) -> int:
        """Read a prompt; see LlamaContext.prefill."""
        return self.context.prefill(prompt, cancel, cut, mark)

    def generate(
        self, max_tokens: int, cancel: CancelToken, grammar: str | None = None, greedy: bool = False
    ) -> Iterator[tuple[int, str]]:
        """Tokens after a prefill, each with the characters that it completes (maybe none).

        Ends at the model's own end, after max_tokens, when the context is full, when cancelled, or where the
        grammar leaves nothing more to say.

        Args:
            grammar: GBNF with the rule `root`, which the whole reply follows.
            greedy: take the likeliest token whatever the settings say.
        Raises:
            InferenceError: llama.cpp failed, or cannot read the grammar.
        """
        text = codecs.getincrementaldecoder("utf-8")("replace")
        sampler = self._sampler_for(grammar, greedy)
        context = self.context
        context.pace.another_reply()
        made = 0
        try:
            while not cancel.is_set():
                if not greedy:
                    sampler.use(self._settings)
                token = self._sample(sampler)
                if token < 0 or self.vocabulary.is_end(token):
                    return
                made += 1
                yield token, text.decode(self.vocabulary.piece(token))
                if made >= max_tokens or len(context.tokens) >= context.n_ctx or not context.step(token, cancel):
                    return
        finally:
            if sampler is not self._sampler:
                sampler.close()

    def generate_raw(self, prompt: str, cancel: CancelToken, max_tokens: int | None = None) -> Iterator[str]:
        """Continue a text as it stands; see ChatSession.

        Raises:
            InferenceError: llama.cpp failed, or the prompt does not fit.
        """
        bos = self.vocabulary.bos
        tokens = self.tokenize(prompt, special=True)
        if self.vocabulary.adds_bos and bos >= 0 and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        tokens = tokens or [max(0, self.vocabulary.eos)]  # something must be read
        self.prefill(tokens, cancel)
        for _, text in self.generate(max_tokens or self._settings.max_reply_tokens, cancel):
            if text:
                yield text

    def _sampler_for(self, grammar: str | None, greedy: bool) -> TokenSampler:
        if grammar is not None or greedy:
            settings = likeliest(self._settings) if greedy else self._settings
            return TokenSampler(self.vocabulary, settings, grammar)
        if self._sampler is None:
            self._sampler = TokenSampler(self.vocabulary, self._settings)
        self._sampler.restart()
        return self._sampler

    def _sample(self, sampler: TokenSampler) -> int:
        return sampler.choose(self.context.logits())

    def put_away(self) -> PutAway:
        """A copy of what the context holds, to read something else meanwhile."""
        return self.context.put_away()

    def take_back(self, away: PutAway) -> None:
        """Hold again what was put away."""
        self.context.take_back(away)

    def save_state(self, path: Path, note: bytes = b"", max_bytes: int | None = None) -> bool:
        """Write what the context holds to a file, with anything of the caller's.

        Returns:
            False when there is nothing, more than max_bytes, or the file cannot be written; there is then none.
        """
        part = path.with_name(path.name + ".part")
        try:
            if self.context.save(part, max_bytes) and seal(part, self._of_model(), note):
                part.replace(path)
                return True
            part.unlink(missing_ok=True)
        except OSError:
            pass
        return False

    def load_state(self, path: Path, tokens: Sequence[int] | None = None) -> bool:
        """Hold what `save_state` wrote, and nothing where that does not fit.

        Args:
            tokens: what it must begin with; None: anything.
        Returns:
            False when it is damaged, or of another model or other settings of the context.
        """
        context = self.context
        if read_note(path, self._of_model()) is None or not context.load(path):
            return False
        if tokens is not None and context.tokens[: len(tokens)] != list(tokens):
            context.keep(0)
            return False
        return True

    def state_note(self, path: Path) -> bytes | None:
        """What was given to `save_state`; None when the file does not fit this model or is damaged."""
        return read_note(path, self._of_model())

    def _of_model(self) -> bytes:
        """What a state belongs to."""
        if self._fingerprint is None:
            self._fingerprint = fingerprint(self.path, f"{self._settings.kv_type} {self._settings.flash_attention}")
        return self._fingerprint
