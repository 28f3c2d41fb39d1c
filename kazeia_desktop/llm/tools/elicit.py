"""The model turns a request into a call where words alone did not: a grammar lets it write nothing else.

Asked only for requests that may be a tool's (`understanding.candidates`), beside the conversation. A model of 0.5B
parameters is right more often than not, never sure: so a number that nobody said makes the call void.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.tools.base import Ask, Call
from kazeia_desktop.llm.tools.calculator import CannotCompute, calculate
from kazeia_desktop.llm.tools.moments import MAX_SECONDS, duration_s, time_of_day
from kazeia_desktop.llm.tools.request import Request
from kazeia_desktop.llm.tools.understanding import CALCULATOR, TIMERS, UNITS
from kazeia_desktop.llm.tools.units import UNITS as KNOWN
from kazeia_desktop.llm.tools.units import convert
from kazeia_desktop.runtime.cancel import CancelToken

_MAX_TOKENS: Final = 40
_SYSTEM: Final = (
    "You write the command that carries out the user's request. If no command fits, you write: none\n"
    "Use only numbers that the user said."
)
_COMMANDS: Final[Mapping[str, str]] = {
    TIMERS: "timer NUMBER UNIT: ring after a time\nalarm HOUR:MINUTE: ring at a time of day",
    CALCULATOR: "calculate EXPRESSION: arithmetic",
    UNITS: "convert NUMBER UNIT to UNIT: convert units",
}
_EXAMPLES: Final[Mapping[str, Mapping[str, Sequence[tuple[str, str]]]]] = {
    "fr": {
        TIMERS: (
            ("Avertis-moi quand 10 minutes seront passées.", "timer 10 minutes"),
            ("Sors-moi du lit à 6 heures 15.", "alarm 6:15"),
            ("Mon réveil sonne toujours à 7 heures.", "none"),
        ),
        CALCULATOR: (
            ("J'ai 9 pommes, j'en mange 2, combien en reste-t-il ?", "calculate 9 - 2"),
            ("4 livres à 8 euros, ça fait combien ?", "calculate 4 * 8"),
            ("Si je partage 30 billes entre 6 amis ?", "calculate 30 / 6"),
            ("J'ai 30 ans et 2 enfants. Quel film me conseilles-tu ?", "none"),
        ),
        UNITS: (
            ("Ma table fait 2 mètres, c'est combien en pouces ?", "convert 2 mètres to pouces"),
            ("J'ai 3 kilos de farine, combien de livres ?", "convert 3 kilogrammes to livres"),
            ("Combien de kilomètres de Paris à Lyon en 2 heures ?", "none"),
        ),
    },
    "en": {
        TIMERS: (
            ("Warn me once 10 minutes have passed.", "timer 10 minutes"),
            ("Get me out of bed at 6 15.", "alarm 6:15"),
            ("My alarm always rings at 7.", "none"),
        ),
        CALCULATOR: (
            ("I have 9 apples and eat 2, how many are left?", "calculate 9 - 2"),
            ("4 books at 8 euros, how much is that?", "calculate 4 * 8"),
            ("If I share 30 marbles among 6 friends?", "calculate 30 / 6"),
            ("I am 30 and have 2 children. What film should I watch?", "none"),
        ),
        UNITS: (
            ("My table is 2 meters long, how many inches is that?", "convert 2 metres to inches"),
            ("I have 3 kilos of flour, how many pounds?", "convert 3 kilograms to pounds"),
            ("How many miles from Paris to Lyon in 2 hours?", "none"),
        ),
    },
}
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    language: {name: unit.sign for unit in KNOWN.values() for name in dict.fromkeys(unit.names[language])}
    for language in ("fr", "en")
}
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


def grammar_of(tools: Sequence[str], language: str) -> str:
    """GBNF that allows `none` and the calls of `tools`, with arguments of their types."""
    kinds: dict[str, list[str]] = {unit.kind: [] for unit in KNOWN.values()}
    for name, sign in _NAMES[language].items():
        kinds[KNOWN[sign].kind].append(f'"{name}"')
    pairs = " | ".join(f'{kind} " to " {kind}' for kind in kinds)
    rules = {
        TIMERS: (
            'timer ::= "timer " number " " ("seconds" | "minutes" | "hours")',
            'alarm ::= "alarm " hour ":" [0-5] [0-9]',
            'hour ::= [0-9] | "1" [0-9] | "2" [0-3]',
        ),
        CALCULATOR: (
            'sum ::= "calculate " term (" " [-+*/] " " term) (" " [-+*/] " " term)? (" " [-+*/] " " term)?',
            'term ::= number | number "%"',
        ),
        UNITS: (
            f'conversion ::= "convert " number " " ({pairs})',
            *(f"{kind} ::= {' | '.join(names)}" for kind, names in kinds.items()),
        ),
    }
    starts = {TIMERS: "timer | alarm", CALCULATOR: "sum", UNITS: "conversion"}
    root = " | ".join(['"none"', *(starts[tool] for tool in tools)])
    number = 'number ::= [0-9] [0-9]? [0-9]? [0-9]? [0-9]? [0-9]? ("." [0-9] [0-9]?)?'
    return "\n".join([f"root ::= {root}", number, *(rule for tool in tools for rule in rules[tool])])


def elicit(request: Request, tools: Sequence[str], ask: Ask, cancel: CancelToken) -> Call | None:
    """The call that the model makes of a request, when it is one of `tools` and sound.

    Raises:
        InferenceError: the model failed.
    """
    if not tools:
        return None
    commands = "\n".join(_COMMANDS[tool] for tool in tools)
    messages = [Message("system", f"{_SYSTEM}\nCommands:\n{commands}")]
    for tool in tools:
        for said, command in _EXAMPLES[request.language][tool]:
            messages += [Message("user", said), Message("assistant", command)]
    messages.append(Message("user", _with_its_numbers(request)))
    written = ask(messages, cancel, _MAX_TOKENS, grammar_of(tools, request.language))
    return None if cancel.is_set() else _read(written, request, tools)


def _with_its_numbers(request: Request) -> str:
    """The request with its numbers in digits, as a sentence again."""
    joined = re.sub(r" ?(['-]) ?", r"\1", request.plain)
    return re.sub(r" (?=[?!.,])", "", joined)


def _read(written: str, request: Request, tools: Sequence[str]) -> Call | None:
    said = {Fraction(number) for number in _NUMBER.findall(request.plain)}
    if "%" in request.plain:
        said.add(Fraction(100))
    kind, _, rest = written.strip().partition(" ")
    numbers = [Fraction(number) for number in _NUMBER.findall(rest.replace(":", " "))]
    if kind in ("calculate", "convert") and not said.issuperset(numbers):
        return None
    if kind == "timer" and TIMERS in tools:
        number, _, unit = rest.partition(" ")
        seconds = round(Fraction(number) * {"seconds": 1, "minutes": 60, "hours": 3600}.get(unit, 0))
        spoken = duration_s(request.plain, request.language)
        known = said.issuperset(numbers) if spoken is None else seconds == spoken
        return Call("timer", {"seconds": seconds}) if known and 0 < seconds <= MAX_SECONDS else None
    if kind == "alarm" and TIMERS in tools and re.fullmatch(r"\d+:\d\d", rest):
        hour, minute = (int(part) for part in rest.split(":"))
        spoken_time = time_of_day(request.plain, request.language)
        known = said.issuperset({Fraction(hour), Fraction(minute)} - {Fraction(0)})
        if known or (spoken_time is not None and (spoken_time.hour, spoken_time.minute) == (hour, minute)):
            return Call("alarm", {"hour": hour, "minute": minute, "days": 0})
    if kind == "calculate" and CALCULATOR in tools:
        return _checked_sum(re.sub(r"%(?= \*)", "% of", rest).replace("of *", "of"))
    if kind == "convert" and UNITS in tools:
        found = re.fullmatch(r"(\S+) (.+) to (.+)", rest)
        return _checked_conversion(found[1], found[2], found[3], request.language) if found else None
    return None


def _checked_sum(expression: str) -> Call | None:
    try:
        calculate(expression)
    except CannotCompute as error:
        if error.reason == "form":
            return None
    return Call("calculate", {"expression": expression})


def _checked_conversion(number: str, source: str, target: str, language: str) -> Call | None:
    names = _NAMES[language]
    try:
        convert(Fraction(number), names[source], names[target])
    except (KeyError, ValueError):
        return None
    return Call("convert", {"value": number, "from": names[source], "to": names[target]}) if source != target else None
