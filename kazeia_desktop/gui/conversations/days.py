"""Under which heading a conversation stands in the list."""

import datetime
from typing import Final

from kazeia_desktop.gui.states import capital
from kazeia_desktop.gui.words import Words

_WEEK_DAYS: Final = 7


def heading(changed_s: float, now_s: float, words: Words) -> str:
    """Today, yesterday, the days of this past week by name, then months.

    Args:
        changed_s, now_s: seconds since 1970; days are those of this machine's zone.
    """
    day, today = _day(changed_s), _day(now_s)
    age = (today - day).days
    if age <= 0:
        return words.tr("Today")
    if age == 1:
        return words.tr("Yesterday")
    if age < _WEEK_DAYS:
        return capital(words.locale.standaloneDayName(day.isoweekday()))
    month = capital(words.locale.standaloneMonthName(day.month))
    return month if day.year == today.year else f"{month} {day.year}"


def moment(changed_s: float, now_s: float, words: Words) -> str:
    """When it was, beside its heading: the time of a day, or the day of a month."""
    when = datetime.datetime.fromtimestamp(changed_s)
    if (_day(now_s) - when.date()).days < _WEEK_DAYS:
        return when.strftime("%H:%M")
    return when.strftime("%d/%m" if words.language == "fr" else "%d %b")


def _day(seconds: float) -> datetime.date:
    return datetime.datetime.fromtimestamp(seconds).date()
