"""Requests for the time and for a date."""

from typing import Final

from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.request import Request

_TIME: Final = {
    "fr": r"(?:quel(?:le)? heure (?:est - il|il est|est - ce qu ' il est|il se fait)|il est quel(?:le)? heure"
    r"|l ' heure(?: qu ' il est"
    r"| exacte| s ' il (?:te|vous) plait)?|quel(?:le)? heure|(?:t ' |tu |vous )?(?:as|aurais|avez|auriez)(?: - (?:tu"
    r"|vous))? l ' heure"
    r"|quelle est l ' heure)",
    "en": r"(?:what(?: ' s| s| is)? ?(?:the )?(?:current )?time(?: is it| it is| is)?(?: it)?|what is the time"
    r"|the time"
    r"|(?:do you |have you )(?:have|got) the time|(?:do you have )?the current time)",
}  # fmt: skip
_DAYS: Final = {
    "fr": (("avant - hier", -2), ("apres - demain", 2), ("hier", -1), ("demain", 1), ("aujourd ' hui", 0)),
    "en": (("day before yesterday", -2), ("day after tomorrow", 2), ("yesterday", -1), ("tomorrow", 1), ("today", 0)),
}
_DAY_FR: Final = (
    r"(?:(?P<day>avant - hier|apres - demain|hier|demain|aujourd ' hui)|dans (?P<n>\d{1,5}) (?P<unit>jours?"
    r"|semaines?))"
)
_ARE_FR: Final = (
    r"(?:on est|est - on|sommes - nous|nous sommes|on sera|sera - t - on|serons - nous|nous serons|on etait"
    r"|etait - on"
    r"|etions - nous|nous etions|est - ce|c ' est|sera - ce|ce sera|c ' etait|est - il|il est|est)"
)
_DAY_EN: Final = (
    r"(?:(?P<day>day before yesterday|day after tomorrow|yesterday|tomorrow|today)"
    r"|in (?P<n>\d{1,5}) (?P<unit>days?|weeks?))"
)
_NAMED_EN: Final = r"(?:day before yesterday|day after tomorrow|yesterday|tomorrow|today)"
_DATE: Final = {
    "fr": (
        rf"(?:quel jour(?: de la semaine)?|quelle date|le combien|quel mois|quelle annee|en quelle annee"
    rf"|quel est le jour|"
        rf"quelle est la date|la date|le jour|la date du jour|quelle est la date du jour)"
        rf"(?: {_ARE_FR})?(?: (?:d ' |de |pour )?{_DAY_FR})?",
        rf"{_ARE_FR} (?:quel jour|quelle date|le combien|quel mois|en quelle annee|quelle annee)(?: {_DAY_FR})?",
        rf"{_DAY_FR} ,? ?{_ARE_FR} (?:quel jour|quelle date|le combien)",
        rf"(?:quel jour|quelle date) {_ARE_FR} {_DAY_FR}",
    ),
    "en": (
        rf"what(?: is|(?: ')? s)? ?(?:(?P<whose>{_NAMED_EN}) ' s )?(?:the )?(?:day|date|month"
    rf"|year)(?: of the week)?"
        rf"(?: is it| it is| was it| will it be| are we| is| was)?(?: {_DAY_EN})?",
        rf"(?:the )?(?:day|date)(?: is it| it is)?(?: (?:of )?{_DAY_EN})?",
        rf"(?P<whose>{_NAMED_EN}) ' s (?:date|day)",
        rf"(?:what|which) (?:day|date)(?: of the week)? (?:is|was|will be|will it be|is it) (?:the )?{_DAY_EN}",
    ),
}  # fmt: skip


def time_call(request: Request) -> Call | None:
    """The call for the time of day."""
    return Call("time") if request.whole(_TIME[request.language]) else None


def date_call(request: Request) -> Call | None:
    """The call for the date of a day."""
    for pattern in _DATE[request.language]:
        if match := request.whole(pattern):
            days = 0
            found = match.groupdict("")
            if found.get("n"):
                days = int(found["n"]) * (7 if found["unit"].startswith(("sem", "week")) else 1)
            elif name := found.get("day") or found.get("whose"):
                days = dict(_DAYS[request.language])[name]
            return Call("date", {"days": days})
    return None
