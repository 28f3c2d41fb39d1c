"""The talker's input: what it hears before it speaks, and what each frame adds.

The prompt is a sequence of embeddings, each the sum of a text row and a codec row. Source: the official
generate() of Qwen3-TTS, arXiv:2601.15621.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.formats.lazy_tensor import LazyTensor
from kazeia_desktop.formats.voice_description import VoiceDescription
from kazeia_desktop.frames import FloatArray, IntArray

AUTO: Final = "auto"
_CHINESE: Final = "chinese"
LANGUAGES: Final[Mapping[str, str]] = {
    "fr": "french", "en": "english", "de": "german", "es": "spanish", "it": "italian", "pt": "portuguese",
    "zh": "chinese", "ja": "japanese", "ko": "korean", "ru": "russian",
}  # fmt: skip
"""Language tag -> the model's name for it."""


class PromptBuilder:
    """Rows of the talker's embedding table, put together.

    Args:
        description: ids, languages, speakers.
        table: token_embd: the folded text rows, then the codec's.
    """

    def __init__(self, description: VoiceDescription, table: LazyTensor) -> None:
        self._told = description
        self._table = table
        ids = description.ids
        self.pad = self.text_row(ids["tts_pad"])
        """What a frame adds when no text is left: (hidden,)."""
        self.end = self.text_row(ids["tts_eos"])
        """What a frame adds after the last text token: (hidden,)."""
        self._bos = self.text_row(ids["tts_bos"])
        self._codec_pad = self._codec_row(ids["codec_pad"])
        self._codec_bos = self._codec_row(ids["codec_bos"])

    def text_row(self, token: int) -> FloatArray:
        """(hidden,) of one text token."""
        row: FloatArray = self._table.rows(token, token + 1)[0]
        return row

    def _codec_row(self, code: int) -> FloatArray:
        return self.text_row(self._told.talker.text_vocab + code)

    def prefix(self, role: IntArray, voice: FloatArray | str | None, language: str) -> FloatArray:
        """The positions before the text: they depend on voice and language only.

        Args:
            role: the tokens before the text.
            voice: (hidden,) x-vector, the name of one of the model's speakers, or None.
            language: the model's name of it, or "auto".
        Returns:
            (P, hidden) float32.
        Raises:
            SettingsError: there is no such language or speaker.
        """
        ids, codec = self._told.ids, []
        code = self._language_code(language, voice if isinstance(voice, str) else None)
        if code is None:
            codec = [ids["codec_nothink"], ids["codec_think_bos"], ids["codec_think_eos"]]
        else:
            codec = [ids["codec_think"], ids["codec_think_bos"], code, ids["codec_think_eos"]]
        rows = [self.text_row(int(token)) for token in role]
        rows += [self.pad + self._codec_row(item) for item in codec]
        if isinstance(voice, str):
            rows.append(self.pad + self._codec_row(self._speaker_code(voice)))
        elif voice is not None:
            rows.append(self.pad + self._checked(voice))
        rows.append(self._bos + self._codec_pad)
        return np.stack(rows)

    def whole(self, prefix: FloatArray, text: IntArray) -> FloatArray:
        """(T, hidden): the prefix, the whole text, and the start of speech; each frame then adds `pad`."""
        rows = [self.text_row(int(token)) + self._codec_pad for token in text]
        rows.append(self.end + self._codec_pad)
        rows.append(self.pad + self._codec_bos)
        return np.concatenate([prefix, np.stack(rows)])

    def streamed(self, prefix: FloatArray, first: int | None) -> FloatArray:
        """(P + 1, hidden): the prefix and the first text token; each frame then adds the next, then `end`, then `pad`.

        Without any text, the end stands for the first token.
        """
        row = self.end if first is None else self.text_row(first)
        return np.concatenate([prefix, (row + self._codec_bos)[None]])

    def _checked(self, voice: FloatArray) -> FloatArray:
        vector = np.asarray(voice, np.float32)
        hidden = self._told.talker.hidden
        if vector.shape != (hidden,) or not np.isfinite(vector).all():
            raise SettingsError(
                "The voice has {found} numbers and the model {model} needs {expected}: add the voice again.",
                found=vector.size, model=self._told.name, expected=hidden,
            )  # fmt: skip
        return vector

    def _speaker_code(self, speaker: str) -> int:
        code = self._told.speakers.get(speaker.lower())
        if code is None:
            there = ", ".join(self._told.speakers) or "-"
            raise SettingsError("There is no voice {name!r}: choose {there}.", name=speaker, there=there)
        return code

    def _language_code(self, language: str, speaker: str | None) -> int | None:
        """None: the model finds out. A speaker of a dialect speaks it instead of Chinese."""
        name = LANGUAGES.get(language, language).lower()
        if name in (_CHINESE, AUTO) and speaker is not None:
            dialect = self._told.speaker_dialects.get(speaker.lower())
            if dialect is not None:
                return self._told.languages[dialect]
        if name == AUTO:
            return None
        code = self._told.languages.get(name)
        if code is None:
            there = ", ".join([AUTO, *self._told.languages])
            raise SettingsError(
                "The voice does not speak {language!r}: choose {there}.", language=language, there=there
            )
        return code
