"""The tools together: understands a request, does what it asks for, and says so in a sentence.

Sentences are templates, not the model's: a figure that was computed exactly must not be retold wrongly.
"""

import datetime
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from kazeia_desktop.llm.tools.base import Ask, Call, Outcome
from kazeia_desktop.llm.tools.calculator import CannotCompute, calculate
from kazeia_desktop.llm.tools.elicit import elicit
from kazeia_desktop.llm.tools.request import Request
from kazeia_desktop.llm.tools.timers import ALARM, TIMER, Pending, Timers
from kazeia_desktop.llm.tools.translation import LANGUAGES, translate, translation_call
from kazeia_desktop.llm.tools.understanding import TOOLS, candidates, understand
from kazeia_desktop.llm.tools.units import convert
from kazeia_desktop.llm.tools.wording import date, duration, number, of_duration, quantity, time_of_day
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import ToolSettings

_STEP: Final = 0.2
_OTHER: Final = {"fr": "en", "en": "fr"}  # people mix them; the answer is in the language of replies
_MAX_VOLUME: Final = 1.5

_SAID: Final[Mapping[str, Mapping[str, str]]] = {
    "fr": {
        "time": "Il est {time}.",
        "today": "Nous sommes le {date}.",
        "tomorrow": "Demain, nous serons le {date}.",
        "yesterday": "Hier, nous étions le {date}.",
        "later": "Ce sera le {date}.",
        "earlier": "C'était le {date}.",
        "timer": "Minuteur {of} lancé.",
        "timer_for": "Minuteur {of} lancé : {label}.",
        "alarm": "Alarme réglée {day}à {time}.",
        "alarm_for": "Alarme réglée {day}à {time} : {label}.",
        "tomorrow_": "demain ",
        "too_many": "Il y a déjà trop de minuteurs et d'alarmes.",
        "cancelled_timer": "Le minuteur est annulé.",
        "cancelled_timers": "Les {n} minuteurs sont annulés.",
        "cancelled_alarm": "L'alarme est annulée.",
        "cancelled_alarms": "Les {n} alarmes sont annulées.",
        "cancelled_all": "Minuteurs et alarmes sont annulés.",
        "no_timer": "Il n'y a pas de minuteur en cours.",
        "no_alarm": "Aucune alarme n'est réglée.",
        "no_all": "Il n'y a ni minuteur ni alarme.",
        "left": "Il reste {left} sur le minuteur {of}.",
        "set_for": "Une alarme est réglée {day}à {time}.",
        "rings": "Le minuteur {of} est terminé.",
        "rings_for": "Le minuteur {of} est terminé : {label}.",
        "wakes": "Il est {time}. C'est l'heure de votre alarme.",
        "wakes_for": "Il est {time} : {label}.",
        "missed": "L'alarme de {time} a sonné pendant que j'étais arrêtée.",
        "result": "Cela fait {value}.",
        "about": "Cela fait environ {value}.",
        "zero": "On ne peut pas diviser par zéro.",
        "large": "Ce nombre est trop grand pour moi.",
        "root": "Un nombre négatif n'a pas de racine carrée.",
        "is": "{one} {makes} {other}.",
        "is_about": "{one} {makes} environ {other}.",
        "volume": "Le volume est à {level} %.",
        "translated": "En {language}, on dit : « {said} ».",
        "weather": "Je ne connais pas la météo : rien ne sort de cet ordinateur, je n'ai pas Internet.",
        "news": "Je ne peux pas le savoir : je n'ai pas Internet, rien ne sort de cet ordinateur.",
        "phone": "Je ne peux pas téléphoner : rien ne sort de cet ordinateur.",
        "emergency": "Je ne peux pas téléphoner. Appelez vous-même le 112, tout de suite.",
        "messages": "Je n'ai pas accès aux messages ni aux agendas : rien ne sort de cet ordinateur.",
        "internet": "Je ne peux pas faire cela : je n'ai pas Internet, rien ne sort de cet ordinateur.",
        "devices": "Je ne peux pas faire cela : je ne commande aucun appareil ni aucune application.",
        "harm": "Je ne peux pas vous aider à faire cela : quelqu'un pourrait en souffrir.",
        "distress": "Je suis désolée que cela aille si mal. Vous n'êtes pas seul : en France, le 31 14 répond jour et "
        "nuit, gratuitement ; s'il y a urgence, appelez le 112. Voulez-vous m'en parler ?",
    },
    "en": {
        "time": "It is {time}",
        "today": "Today is {date}.",
        "tomorrow": "Tomorrow will be {date}.",
        "yesterday": "Yesterday was {date}.",
        "later": "That will be {date}.",
        "earlier": "That was {date}.",
        "timer": "Timer set for {of}.",
        "timer_for": "Timer set for {of}: {label}.",
        "alarm": "Alarm set for {day}{time}",
        "alarm_for": "Alarm set for {day}{time}: {label}.",
        "tomorrow_": "tomorrow at ",
        "too_many": "There are too many timers and alarms already.",
        "cancelled_timer": "The timer is cancelled.",
        "cancelled_timers": "The {n} timers are cancelled.",
        "cancelled_alarm": "The alarm is cancelled.",
        "cancelled_alarms": "The {n} alarms are cancelled.",
        "cancelled_all": "All timers and alarms are cancelled.",
        "no_timer": "There is no timer running.",
        "no_alarm": "No alarm is set.",
        "no_all": "There are no timers and no alarms.",
        "left": "{left} left on the timer for {of}.",
        "set_for": "An alarm is set for {day}{time}",
        "rings": "The timer for {of} is done.",
        "rings_for": "The timer for {of} is done: {label}.",
        "wakes": "Your alarm: it is {time}",
        "wakes_for": "It is {time}: {label}.",
        "missed": "Your alarm rang while I was not running: it was set for {time}",
        "result": "That is {value}.",
        "about": "That is about {value}.",
        "zero": "Nothing can be divided by zero.",
        "large": "That number is too large for me.",
        "root": "A negative number has no square root.",
        "is": "{one} is {other}.",
        "is_about": "{one} is about {other}.",
        "volume": "The volume is at {level} %.",
        "translated": "In {language}: “{said}”.",
        "weather": "I don't know the weather: nothing leaves this computer, I have no Internet.",
        "news": "I can't know that: I have no Internet, nothing leaves this computer.",
        "phone": "I can't make calls: nothing leaves this computer.",
        "emergency": "I can't make calls. Call your emergency number yourself, right now: 112, 911 or 999.",
        "messages": "I have no access to messages or calendars: nothing leaves this computer.",
        "internet": "I can't do that: I have no Internet, nothing leaves this computer.",
        "devices": "I can't do that: I control no devices and no other programs.",
        "harm": "I can't help you with that: somebody could get hurt.",
        "distress": "I am sorry that it is so hard. You are not alone: call 988 in the United States, 116 123 in Great "
        "Britain, or 112 in an emergency, day and night. Do you want to talk about it?",
    },
}  # fmt: skip


class Toolbox:
    """Tools of one conversation. `answer` in one thread; `apply` and `ringing` may come from any.

    Args:
        settings: which tools there are.
        language: of answers, "fr" or "en"; requests may be in the other one too.
        timers: what rings.
        volume: Kazeia's own loudness now, 1 is 100 %.
        set_volume: changes it.
        now: the time here.
    """

    def __init__(
        self,
        settings: ToolSettings,
        language: str,
        timers: Timers,
        volume: Callable[[], float],
        set_volume: Callable[[float], None],
        now: Callable[[], datetime.datetime] = datetime.datetime.now,
    ) -> None:
        self._settings = settings
        self._language = language
        self._timers = timers
        self._volume = volume
        self._set_volume = set_volume
        self._now = now
        self._translated_to = ""  # the language of the translation just before

    def apply(self, settings: ToolSettings, language: str) -> None:
        """From the next request on."""
        self._settings, self._language = settings, language

    def answer(self, text: str, ask: Ask, cancel: CancelToken) -> Outcome | None:
        """See Tools."""
        language = self._language
        last, self._translated_to = self._translated_to, ""
        if self._settings.translator and (asked := translation_call(text, language, last)):
            return self._translate(asked, ask, cancel)
        enabled = {name for name in TOOLS if getattr(self._settings, name)}
        call = understand(text, language, enabled) or understand(text, _OTHER[language], enabled)
        if call is None and self._settings.ask_model:
            maybe = candidates(text, language, enabled)
            call = elicit(Request(text, language), maybe, ask, cancel) if maybe else None
        return None if call is None or cancel.is_set() else self.run(call)

    def run(self, call: Call) -> Outcome | None:
        """Do what a call says; None: there is nothing to do or say after all."""
        return _DOES[call.tool](self, call)

    def ringing(self, pending: Pending) -> str:
        """What is said when a timer or an alarm rings."""
        due = datetime.datetime.fromtimestamp(pending.due_s)
        time = time_of_day(due.hour, due.minute, self._language)
        with_label = "_for" if pending.label and not pending.late else ""
        if pending.kind == ALARM:
            return self._say("missed" if pending.late else f"wakes{with_label}", time=time, label=pending.label)
        return self._say(f"rings{with_label}", of=self._of(pending.seconds), label=pending.label)

    def _say(self, key: str, **values: object) -> str:
        sentence = _SAID[self._language][key].format(**values)
        sentence = sentence if sentence.endswith((".", ".m.")) else f"{sentence}."
        return sentence[0].upper() + sentence[1:]

    def _of(self, seconds: int) -> str:
        return of_duration(seconds, self._language)

    def _time(self, call: Call) -> Outcome:
        now = self._now()
        return Outcome(self._say("time", time=time_of_day(now.hour, now.minute, self._language)))

    def _date(self, call: Call) -> Outcome | None:
        days = int(call.arguments["days"])
        try:
            day = self._now().date() + datetime.timedelta(days=days)
        except OverflowError:
            return None
        key = {0: "today", 1: "tomorrow", -1: "yesterday"}.get(days, "later" if days > 0 else "earlier")
        return Outcome(self._say(key, date=date(day, self._language)))

    def _timer(self, call: Call) -> Outcome:
        seconds, label = int(call.arguments["seconds"]), str(call.arguments.get("label", ""))
        pending = Pending(TIMER, self._now().timestamp() + seconds, seconds, label)
        return self._added(pending, self._say("timer_for" if label else "timer", of=self._of(seconds), label=label))

    def _alarm(self, call: Call) -> Outcome:
        hour, minute, days = (int(call.arguments[name]) for name in ("hour", "minute", "days"))
        now, label = self._now(), str(call.arguments.get("label", ""))
        due = now.replace(hour=hour, minute=minute, second=0, microsecond=0) + datetime.timedelta(days=days)
        if due <= now:
            due += datetime.timedelta(days=1)
        day, time = self._day(due, now), time_of_day(hour, minute, self._language)
        said = self._say("alarm_for" if label else "alarm", day=day, time=time, label=label)
        return self._added(Pending(ALARM, due.timestamp(), 0, label), said)

    def _day(self, due: datetime.datetime, now: datetime.datetime) -> str:
        return "" if due.date() == now.date() else _SAID[self._language]["tomorrow_"]

    def _added(self, pending: Pending, said: str) -> Outcome:
        if not self._timers.add(pending):
            return Outcome(self._say("too_many"))
        return Outcome(said, lambda: self._timers.remove([pending]))

    def _cancel(self, call: Call) -> Outcome:
        what = str(call.arguments["what"])
        gone = [one for one in self._timers.pending(*(() if what == "all" else (what,))) if _is_meant(one, call)]
        if not gone:
            return Outcome(self._say(f"no_{what}"))
        self._timers.remove(gone)
        key = "cancelled_all" if what == "all" else f"cancelled_{what}{'s' if len(gone) > 1 else ''}"

        def undo() -> None:
            for one in gone:
                self._timers.add(one)

        return Outcome(self._say(key, n=len(gone)), undo)

    def _list(self, call: Call) -> Outcome:
        now, told = self._now(), []
        for one in self._timers.pending():
            if one.kind == TIMER:
                left = duration(max(1, round(one.due_s - now.timestamp())), self._language)
                told.append(self._say("left", left=left, of=self._of(one.seconds)))
            else:
                due = datetime.datetime.fromtimestamp(one.due_s)
                time = time_of_day(due.hour, due.minute, self._language)
                told.append(self._say("set_for", day=self._day(due, now), time=time))
        return Outcome(" ".join(told) or self._say("no_all"))

    def _calculate(self, call: Call) -> Outcome | None:
        try:
            result = calculate(str(call.arguments["expression"]))
        except CannotCompute as error:
            return Outcome(self._say(error.reason)) if error.reason != "form" else None
        value, exact = number(result.value, self._language, result.exact, digits=5)
        return Outcome(self._say("result" if exact else "about", value=value))

    def _convert(self, call: Call) -> Outcome:
        value, source, target = (str(call.arguments[name]) for name in ("value", "from", "to"))
        one, _ = quantity(Fraction(value), source, self._language)
        other, exact = quantity(convert(Fraction(value), source, target), target, self._language)
        makes = "fait" if abs(Fraction(value)) < 2 else "font"
        return Outcome(self._say("is" if exact else "is_about", one=one, makes=makes, other=other))

    def _change_volume(self, call: Call) -> Outcome:
        before = self._volume()
        if "level" in call.arguments:
            wanted = int(call.arguments["level"]) / 100
        else:
            wanted = before + (_STEP if call.arguments["up"] else -_STEP)
        level = round(min(_MAX_VOLUME, max(0.0, wanted)), 2)
        self._set_volume(level)
        return Outcome(self._say("volume", level=round(level * 100)), lambda: self._set_volume(before))

    def _translate(self, call: Call, ask: Ask, cancel: CancelToken) -> Outcome | None:
        written = translate(call, ask, cancel)
        if not written:
            return None
        self._translated_to = to = str(call.arguments["to"])
        return Outcome(self._say("translated", language=LANGUAGES[self._language][to], said=written))

    def _elsewhere(self, call: Call) -> Outcome:
        return Outcome(self._say(str(call.arguments["what"])))

    def _harm(self, call: Call) -> Outcome:
        return Outcome(self._say("harm"))

    def _distress(self, call: Call) -> Outcome:
        return Outcome(self._say("distress"))


def _is_meant(pending: Pending, call: Call) -> bool:
    """Whether it is the one that is to be cancelled, where a length or a time of day says which."""
    wanted = call.arguments
    if "seconds" in wanted:
        return pending.seconds == wanted["seconds"]
    if "hour" in wanted:
        due = datetime.datetime.fromtimestamp(pending.due_s)
        hours = {int(wanted["hour"]), (int(wanted["hour"]) + 12) % 24} if wanted["either"] else {int(wanted["hour"])}
        return due.hour in hours and due.minute == wanted["minute"]
    return True


_DOES: Final[Mapping[str, Callable[[Toolbox, Call], Outcome | None]]] = {
    "time": Toolbox._time,
    "date": Toolbox._date,
    "timer": Toolbox._timer,
    "alarm": Toolbox._alarm,
    "cancel": Toolbox._cancel,
    "list": Toolbox._list,
    "calculate": Toolbox._calculate,
    "convert": Toolbox._convert,
    "volume": Toolbox._change_volume,
    "elsewhere": Toolbox._elsewhere,
    "harm": Toolbox._harm,
    "distress": Toolbox._distress,
}
