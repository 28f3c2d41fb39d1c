"""A request in the forms that rules look at."""

import functools
import re
from typing import Final

from kazeia_desktop.llm.tools.numbers import fold, with_digits

_PERCENT: Final = re.compile(r"\bpour ?cents?\b|\bper ?cent\b")
_DECIMAL: Final = re.compile(r"\b(\d+) (euros?|metres?) (\d\d)\b(?! \w*metre)")
"""12 euros 50, 1 metre 80."""
_POLITE: Final = {
    "fr": r"(?:s ' il (?:te|vous) plait|stp|svp|kazeia|dis|dis - moi|hey|ok|alors|bonjour|salut|merci|et"
    r"|eh bien|bon|peux - tu"
    r"|tu peux|pouvez - vous|vous pouvez|pourrais - tu|est - ce que tu peux|je voudrais savoir|la|maintenant"
    r"|me dire"
    r"|me donner|donne - moi|donne|exactement|actuellement|au juste|en ce moment|1 peu|c ' est quoi|encore|juste"
    r"|bien"
    r"|je (?:ne )?t ' entends (?:pas|mal)(?: bien)?)",
    "en": r"(?:please|kazeia|hey|ok|okay|so|hello|hi|and|now|can you|could you|would you|will you|tell me"
    r"|do you know|give me"
    r"|right now|exactly|just|a bit|a little|currently|the)",
}  # fmt: skip


class Request:
    """A request in the forms that rules look at.

    Attributes:
        low: without case and accents, words and signs apart.
        plain: also with every number in digits.
    """

    def __init__(self, text: str, language: str) -> None:
        folded = _PERCENT.sub("%", fold(text))
        self.text = text
        self.language = language
        self.low = " ".join(re.findall(r"[^\W\d_]+|\d[\d.,]*\d|\d|\S", folded))
        self.plain = _DECIMAL.sub(r"\1.\3 \2", with_digits(folded, language))

    def whole(self, pattern: str) -> re.Match[str] | None:
        """`pattern` where nothing but politeness stands around it. "un" and "une" are 1 in it."""
        return _whole(pattern, self.language).fullmatch(self.plain)


@functools.cache
def _whole(pattern: str, language: str) -> re.Pattern[str]:
    around = rf"(?:{_POLITE[language]}\b|[?!.,:;…])"
    return re.compile(rf"(?:{around} ?)*{pattern}(?: ?{around})*")
