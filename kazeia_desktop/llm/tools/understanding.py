"""What a request asks of a tool, by its words alone: nothing is computed by a model.

Each rule wants the whole request: what it does not know makes it fail, so that ordinary talk ("j'ai une heure devant
moi", "le volume d'une sphère") stays talk. What may be a tool's but is not understood is left to `elicit`.
"""

import re
from collections.abc import Callable, Mapping, Set
from typing import Final

from kazeia_desktop.llm.tools.ask_clock import date_call, time_call
from kazeia_desktop.llm.tools.ask_distress import distress_call
from kazeia_desktop.llm.tools.ask_elsewhere import elsewhere_call
from kazeia_desktop.llm.tools.ask_harm import harm_call
from kazeia_desktop.llm.tools.ask_timers import timer_call, timer_words
from kazeia_desktop.llm.tools.ask_volume import volume_call
from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.calculator import CannotCompute, calculate
from kazeia_desktop.llm.tools.measures import conversion_in, unit_words
from kazeia_desktop.llm.tools.request import Request
from kazeia_desktop.llm.tools.sums import expression_in

CLOCK, TIMERS, CALCULATOR, UNITS, VOLUME, LIMITS = "clock", "timers", "calculator", "units", "volume", "limits"
TOOLS: Final = (CLOCK, TIMERS, CALCULATOR, UNITS, VOLUME, LIMITS)
_LONGEST: Final = 200
"""Characters of a request to a tool; a longer text is a story."""


def understand(text: str, language: str, enabled: Set[str]) -> Call | None:
    """The call that `text` asks for, of an enabled tool; None when it is none or not understood."""
    if len(text) > _LONGEST:
        return None
    request = Request(text, language)
    for tool, rule in _RULES:
        if tool in enabled and (call := rule(request)) is not None:
            return call
    return None


def candidates(text: str, language: str, enabled: Set[str]) -> tuple[str, ...]:
    """The enabled tools that `text` may ask for though `understand` knew none: worth asking the model."""
    if len(text) > _LONGEST:
        return ()
    request = Request(text, language)
    return tuple(tool for tool, may in _MAYBE.items() if tool in enabled and may(request))


def _calculation(request: Request) -> Call | None:
    expression = expression_in(request.plain, request.language)
    if not expression:
        return None
    try:
        calculate(expression)
    except CannotCompute as error:
        if error.reason == "form":
            return None
    return Call("calculate", {"expression": expression})


def _conversion(request: Request) -> Call | None:
    found = conversion_in(request.plain, request.language)
    if found is None:
        return None
    value, source, target = found
    return Call("convert", {"value": str(value), "from": source, "to": target})


_RULES: Final[tuple[tuple[str, Callable[[Request], Call | None]], ...]] = (
    (LIMITS, distress_call),
    (CLOCK, time_call),
    (CLOCK, date_call),
    (VOLUME, volume_call),
    (TIMERS, timer_call),
    (UNITS, _conversion),
    (CALCULATOR, _calculation),
    (LIMITS, elsewhere_call),
    (LIMITS, harm_call),
)

_ASKS: Final = {
    "fr": r"\bcombien\b|\bcalcul|\breste|\bfont\b|\bfait\b|\bconvert|\bquel",
    "en": r"\bhow (?:many|much|long|far|old)\b|\bcalculate|\bwhat\b|\bleft\b|\bconvert|\bequal",
}


def _asks(request: Request) -> bool:
    return re.search(_ASKS[request.language], request.low) is not None


def _numbers(request: Request) -> int:
    return len(re.findall(r"\d+(?:\.\d+)?", request.plain))


_ARTICLE: Final = re.compile(r"\b1 (?!heures?\b|minutes?\b|secondes?\b|hour|second|h\b|min\b|quart|demi)")
_MAYBE: Final[Mapping[str, Callable[[Request], bool]]] = {
    TIMERS: lambda request: (
        timer_words(request)
        and re.search(r"\d|\bmidi\b|\bminuit\b|\bnoon\b|\bhalf\b|\bdemi", re.sub(_ARTICLE, "", request.plain))
        is not None
    ),
    UNITS: lambda request: _asks(request) and _numbers(request) > 0 and unit_words(request.plain, request.language) > 1,
    CALCULATOR: lambda request: _asks(request) and _numbers(request) > 1,
}
