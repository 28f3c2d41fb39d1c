"""Requests that set, cancel and list timers and alarms."""

import re
from collections.abc import Callable
from typing import Final, TypeVar

from kazeia_desktop.llm.tools.base import Call, Value
from kazeia_desktop.llm.tools.moments import TimeOfDay, duration_s, time_of_day
from kazeia_desktop.llm.tools.request import Request

FoundT = TypeVar("FoundT")

_TIMER: Final = {
    "fr": r"(?:minuteurs?|minuterie|timers?|compte a rebours|chronos?|chronometres?)",
    "en": r"(?:timers?|countdowns?|stopwatch)",
}
_ALARM: Final = {
    "fr": r"(?:alarmes?|reveils?|rappels?)",
    "en": r"(?:alarms?|alarm clock|reminders?"
    r"|wake - up call)",
}
_SET: Final = {
    "fr": r"\b(?:mets|met|mettre|mettez|lance\w*|demarre\w*|regle\w*|programme\w*|fais|faire|cree\w*"
    r"|ajoute\w*|active\w*|veux"
    r"|voudrais|besoin|faut|donne|pose\w*|enclenche\w*|declenche\w*|sonne\w*)\b",
    "en": r"\b(?:set|start|make|create|add|put|begin|run|want|need|give|schedule)\b",
}
_TELL_ME: Final = {
    "fr": r"\b(?:(?:reveille|previens|avertis|alerte|rappelle|sonne|bipe|appelle|prevenez|reveillez"
    r"|rappelez)(?: -)? moi"
    r"|(?<!je )(?<!je dois )(?<!je vais )(?<!je veux )me (?:reveiller|prevenir|avertir|rappeler|reveilles"
    r"|previens|rappelles|reveillez)|dis - moi (?:quand|dans)|fais - moi penser)\b",
    "en": r"\b(?:wake me|remind me|alert me|warn me|tell me when|let me know|call me|ping me|notify me)\b",
}
_CANCEL: Final = {
    "fr": r"\b(?:annule\w*|arrete\w*|stoppe\w*|stop|supprime\w*|enleve\w*|desactive\w*|coupe\w*|eteins"
    r"|eteindre|retire\w*|efface\w*"
    r"|(?<!n ' )oublie)\b",
    "en": r"\b(?:cancel|stop|delete|remove|turn off|switch off|clear|disable|kill|(?<!t )forget)\b",
}
_LIST: Final = {
    "fr": r"(?:combien de temps|temps (?:il )?reste|reste - t - il|il reste|ou en (?:est|sont)"
    r"|\bquel(?:le)?s?\b|est - ce que j"
    r"|\bai - je\b|j ' ai (?:une|des|un)|y a - t - il|il y a|liste\w*|montre\w*|\bcombien\b|quand|a quelle heure)",
    "en": r"(?:how (?:long|much)|time (?:is )?left|left on|\bwhat\b|\bwhich\b|do i have|are there|is there|list"
    r"|show|how many|when)",
}
_AFTER: Final = {
    "fr": r"\b(?:dans|d '|de|pour|pendant|a|apres|quand|:)",
    "en": r"\b(?:in|for|of|after|a|an|when|once|:)",
}
_IN: Final = {"fr": r"\b(?:dans|quand|apres)\b", "en": r"\b(?:in|when|once|after)\b"}
_AT: Final = {"fr": r"\b(?:a|pour|vers|des|de|sera|est)\b", "en": r"\b(?:at|for|by)\b|\bup\b|\balarm\b"}
_MORNING: Final = {"fr": r"reveil", "en": r"\bwake|morning"}
_TOMORROW: Final = {"fr": r"\bdemain\b", "en": r"\btomorrow\b"}
_NOT_ALARM: Final = {"fr": r"\b(?:apres - demain|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|semaine|mois|tous les|chaque)\b",
                     "en": r"\b(?:day after|monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month"
    r"|every|each)\b"}  # fmt: skip
_LABEL: Final = {
    "fr": (r"\brappelle[sz]?[- ]moi\b.*?\b(?:de |d['’])\s*(?=[^\W\d_]{2,}(?:er|ir|re"
    r"|oir)\b)(.+)", r"\bpour ((?:les?|la|l['’]|mes|mon|ma|un|une|des) ?.+)"),
    "en": (r"\bremind me\b.*?\bto ((?!the hour).+)", r"\bfor (?:the|my) (.+)"),
}  # fmt: skip


_LEFT: Final = {
    "fr": r"(?:combien de temps (?:il )?(?:me )?(?:reste|reste - t - il)|il reste combien de temps)",
    "en": r"(?:how (?:much time|long) (?:is left|do i have left|left)|how much (?:time )?is left)",
}
_BEGINS: Final = re.compile(r"\d|midi\b|minuit\b|noon\b|midnight\b|half\b|quarter\b|an? |demi|quart")
_WHEN: Final = re.compile(r"\s+(?:dans|à|in|at|demain|tomorrow)\b.*$", re.IGNORECASE)


def timer_words(request: Request) -> bool:
    """Whether a timer, an alarm or being told later is spoken of."""
    language = request.language
    return (
        re.search(
            rf"\b(?:{_TIMER[language]}|{_ALARM[language]})\b"
            rf"|{_TELL_ME[language]}",
            request.low,
        )
        is not None
    )


def timer_call(request: Request) -> Call | None:
    """The call that sets, cancels or lists timers and alarms."""
    language, low, plain = request.language, request.low, request.plain
    timer = re.search(rf"\b{_TIMER[language]}\b", low) is not None
    alarm = re.search(rf"\b{_ALARM[language]}\b", low) is not None
    tell = re.search(_TELL_ME[language], low) is not None
    if request.whole(_LEFT[language]):
        return Call("list")
    if not (timer or alarm or tell):
        return None
    sets, cancels = re.search(_SET[language], low), re.search(_CANCEL[language], low)
    if (timer or alarm) and cancels and not (sets and sets.start() < cancels.start()):
        return _cancel(request, timer, alarm)
    if (timer or alarm) and re.search(_LIST[language], low) and not re.search(r"\b\d\d+\b|[2-9]", plain):
        return Call("list")
    if not (sets or tell or re.fullmatch(rf"(?:\d+ )?(?:{_TIMER[language]}|{_ALARM[language]})\b.*", plain)):
        return None
    if re.search(_NOT_ALARM[language], low):
        return None
    return _set(request, alarm, timer, tell)


def _cancel(request: Request, timer: bool, alarm: bool) -> Call:
    """Of one kind, or of both; a time of day, or a length, says which one."""
    language, plain = request.language, request.plain
    if (timer and alarm) or re.search(r"\b(?:tout|everything)\b", request.low):
        return Call("cancel", {"what": "all"})
    if timer:
        seconds = duration_s(plain, language)
        return Call("cancel", {"what": "timer", "seconds": seconds} if seconds else {"what": "timer"})
    moment = _after(plain, _AT[language], time_of_day, language)
    if moment is None:
        return Call("cancel", {"what": "alarm"})
    return Call("cancel", {"what": "alarm", "hour": moment.hour, "minute": moment.minute, "either": moment.either})


def _set(request: Request, alarm: bool, timer: bool, tell: bool) -> Call | None:
    language, plain = request.language, request.plain
    label = _label(request)
    seconds = _after(plain, _AFTER[language], duration_s, language)
    if seconds is None and timer:
        seconds = duration_s(plain, language)
    moment = _after(plain, _AT[language], time_of_day, language)
    after = _after(plain, _IN[language], duration_s, language)
    if moment is not None and (alarm or tell) and after is None:
        return Call("alarm", _alarm(request, moment) | ({"label": label} if label else {}))
    wanted = after or (seconds if timer or alarm else None)
    if wanted is not None:
        return Call("timer", {"seconds": wanted} | ({"label": label} if label else {}))
    return None


def _alarm(request: Request, moment: TimeOfDay) -> dict[str, Value]:
    """An hour of which nobody said whether morning or evening is the morning's to wake up, else the day's."""
    hour = moment.hour
    if moment.either and not re.search(_MORNING[request.language], request.low):
        hour = hour % 12 + (12 if hour % 12 < 7 else 0)
    return {
        "hour": hour,
        "minute": moment.minute,
        "days": 1 if re.search(_TOMORROW[request.language], request.low) else 0,
    }


def _after(plain: str, words: str, read: Callable[[str, str], FoundT | None], language: str) -> FoundT | None:
    """What `read` finds right after one of `words`."""
    for word in re.finditer(words, plain):
        rest = plain[word.end() :].lstrip()
        if _BEGINS.match(rest) and (found := read(rest, language)) is not None:
            return found
    return None


def _label(request: Request) -> str:
    for pattern in _LABEL[request.language]:
        if found := re.search(pattern, request.text, re.IGNORECASE):
            label = _WHEN.sub("", found[1])
            label = re.sub(r"[\s,]*(?:s'il (?:te|vous) plaît|please)?[\s.?!…]*$", "", label, flags=re.IGNORECASE)
            if label and not re.search(r"\d", label):
                return label[:80]
    return ""
