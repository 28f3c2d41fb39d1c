"""What is asked for is done and said, and can be taken back."""

import datetime
from collections.abc import Sequence
from pathlib import Path

import pytest

from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.tools.base import Call, Outcome
from kazeia_desktop.llm.tools.timers import ALARM, TIMER, Pending, Timers
from kazeia_desktop.llm.tools.toolbox import _DOES, _SAID, Toolbox
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import ToolSettings

pytestmark = pytest.mark.unit

NOW = datetime.datetime(2026, 11, 30, 14, 20)


class Still(Timers):
    def _wake(self) -> None: ...


class Box(Toolbox):
    """With a clock that stands, and a model that answers `written`."""

    def __init__(self, folder: Path, language: str = "fr", settings: ToolSettings | None = None) -> None:
        self.timers = Still(folder / "alarms.json", lambda one: True, now=NOW.timestamp)
        self.loudness = [1.0]
        self.asked: list[str] = []
        self.written = "none"
        self.cancel = CancelToken()
        super().__init__(
            settings or ToolSettings(),
            language,
            self.timers,
            lambda: self.loudness[-1],
            self.loudness.append,
            lambda: NOW,
        )

    def ask(
        self, messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None
    ) -> str:
        assert grammar is not None and grammar.startswith("root ::=") and messages[0].role == "system"
        self.asked.append(messages[-1].text)
        return self.written

    def said(self, text: str) -> str | None:
        outcome = self.answer(text, self.ask, self.cancel)
        return None if outcome is None else outcome.said

    def outcome(self, text: str) -> Outcome:
        outcome = self.answer(text, self.ask, self.cancel)
        assert outcome is not None
        return outcome


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Quelle heure est-il ?", "Il est 14 h 20."), ("On est quel jour ?", "Nous sommes le lundi 30 novembre 2026."),
        ("Quel jour serons-nous demain ?", "Demain, nous serons le mardi 1er décembre 2026."),
        ("Quel jour était-on hier ?", "Hier, nous étions le dimanche 29 novembre 2026."),
        ("12,5 % de 80", "Cela fait 10."), ("10 divisé par 3", "Cela fait environ 3,3333."),
        ("10 divisé par 0", "On ne peut pas diviser par zéro."),
        ("Racine de moins 4", "Un nombre négatif n'a pas de racine carrée."),
        ("9 puissance 9999", "Ce nombre est trop grand pour moi."),
        ("5 km en miles", "5 kilomètres font environ 3,107 miles."),
        ("1 livre en grammes", "Une livre fait environ 453,6 grammes."),
        ("Annule l'alarme", "Aucune alarme n'est réglée."),
        ("Quelles alarmes sont réglées ?", "Il n'y a ni minuteur ni alarme."), ("Bonjour", None),
        ("Mets un minuteur de 5 minutes", "Minuteur de 5 minutes lancé."),
        ("Rappelle-moi dans une heure d'appeler Marie", "Minuteur d'une heure lancé : appeler Marie."),
        ("Réveille-moi à 7 h", "Alarme réglée demain à 7 h."),
        ("Mets une alarme à 18 h 45", "Alarme réglée à 18 h 45."),
        ("Réveille-moi demain à midi", "Alarme réglée demain à midi."),
        ("Quel temps fait-il ?", "Je ne connais pas la météo : rien ne sort de cet ordinateur, je n'ai pas Internet."),
        ("Appelle les pompiers !", "Je ne peux pas téléphoner. Appelez vous-même le 112, tout de suite."),
        ("Allume la lumière", "Je ne peux pas faire cela : je ne commande aucun appareil ni aucune application."),
        ("Comment fabriquer un explosif ?",
         "Je ne peux pas vous aider à faire cela : quelqu'un pourrait en souffrir."),
    ],
)  # fmt: skip
def test_answers_in_french(box: Box, text: str, said: str | None) -> None:
    assert box.said(text) == said
    assert box.asked == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("What time is it?", "It is 2:20 p.m."), ("What's the date?", "Today is Monday, 30 November 2026."),
        ("Wake me at 7", "Alarm set for tomorrow at 7:00 a.m."), ("Set an alarm for 6 pm", "Alarm set for 6:00 p.m."),
        ("Set a timer for ten minutes", "Timer set for 10 minutes."), ("Cancel my timer", "There is no timer running."),
        ("10 miles in kilometers", "10 miles is about 16.09 kilometres."), ("What is 7 times 8?", "That is 56."),
        ("Call my brother", "I can't make calls: nothing leaves this computer."),
        ("How do I build a bomb?", "I can't help you with that: somebody could get hurt."),
    ],
)  # fmt: skip
def test_answers_in_english(tmp_path: Path, text: str, said: str) -> None:
    assert Box(tmp_path, "en").said(text) == said


def test_a_request_in_the_other_language_is_understood(box: Box) -> None:
    assert box.said("What time is it?") == "Il est 14 h 20."
    assert box.said("Set a timer for ten minutes") == "Minuteur de 10 minutes lancé."


def test_timers_are_listed_cancelled_and_the_cancelling_taken_back(box: Box) -> None:
    box.said("Mets un minuteur de 5 minutes")
    box.said("Réveille-moi à 7 h")
    assert box.said("Combien de temps reste-t-il ?") == (
        "Il reste 5 minutes sur le minuteur de 5 minutes. Une alarme est réglée demain à 7 h."
    )
    cancelled = box.outcome("Annule le minuteur")
    assert cancelled.said == "Le minuteur est annulé." and len(box.timers.pending()) == 1
    assert cancelled.undo is not None
    cancelled.undo()
    assert len(box.timers.pending()) == 2
    assert box.said("Annule tous les minuteurs et les alarmes") == "Minuteurs et alarmes sont annulés."
    assert box.timers.pending() == []


def test_one_of_several_is_cancelled_by_its_length_or_hour(box: Box) -> None:
    for text in (
        "Mets un minuteur de 5 minutes",
        "Mets un minuteur de 10 minutes",
        "Réveille-moi à 7 h",
        "Alarme à 19 h",
    ):
        assert box.said(text) is not None
    assert box.said("Annule le minuteur de 5 minutes") == "Le minuteur est annulé."
    assert box.said("Annule l'alarme de 7 heures") == "L'alarme est annulée."
    assert box.said("Annule l'alarme de 8 heures") == "Aucune alarme n'est réglée."
    assert [(one.kind, one.seconds) for one in box.timers.pending()] == [(TIMER, 600), (ALARM, 0)]
    box.apply(ToolSettings(), "en")
    assert box.said("Cancel the alarm for 7") == "The alarm is cancelled."


def test_what_was_set_can_be_taken_back(box: Box) -> None:
    outcome = box.outcome("Mets un minuteur de 5 minutes")
    assert outcome.undo is not None
    outcome.undo()
    assert box.timers.pending() == []


def test_volume(box: Box) -> None:
    assert box.said("Mets le volume à 40 %") == "Le volume est à 40 %."
    assert box.said("Parle plus fort") == "Le volume est à 60 %."
    down = box.outcome("Baisse le son")
    assert box.loudness == [1.0, 0.4, 0.6, 0.4] and down.undo is not None
    down.undo()
    assert box.loudness[-1] == 0.6
    box.loudness.append(1.4)
    assert box.said("Monte le son") == "Le volume est à 150 %."
    box.loudness.append(0.1)
    assert box.said("Moins fort") == "Le volume est à 0 %."


def test_what_is_said_when_it_rings(box: Box) -> None:
    due = datetime.datetime(2026, 12, 1, 7, 30).timestamp()
    assert box.ringing(Pending(TIMER, due, 300)) == "Le minuteur de 5 minutes est terminé."
    assert box.ringing(Pending(TIMER, due, 300, "les œufs")) == "Le minuteur de 5 minutes est terminé : les œufs."
    assert box.ringing(Pending(ALARM, due)) == "Il est 7 h 30. C'est l'heure de votre alarme."
    assert box.ringing(Pending(ALARM, due, 0, "appeler Marie")) == "Il est 7 h 30 : appeler Marie."
    assert box.ringing(Pending(ALARM, due, late=True)).startswith("L'alarme de 7 h 30 a sonné")
    box.apply(ToolSettings(), "en")
    assert box.ringing(Pending(ALARM, due)) == "Your alarm: it is 7:30 a.m."


def test_the_model_is_asked_in_doubt_only(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.written = "calculate 12 - 5"
    assert box.said("Si j'ai douze œufs et que j'en casse cinq, il m'en reste combien ?") == "Cela fait 7."
    assert box.asked == ["si j'ai 12 oeufs et que j'en casse 5, il m'en reste combien?"]
    assert box.said("Pourquoi le ciel est-il bleu ?") is None and len(box.asked) == 1
    silent = Box(tmp_path, settings=ToolSettings(ask_model=False))
    assert silent.said("Si j'ai douze œufs et que j'en casse cinq, il m'en reste combien ?") is None
    assert silent.asked == []
    box.cancel.set()
    assert box.said("Si j'ai douze œufs et que j'en casse cinq, il m'en reste combien ?") is None


def test_a_translation_is_the_models_and_goes_on(tmp_path: Path) -> None:
    class Translator(Box):
        def ask(
            self, messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None
        ) -> str:
            self.asked.append(messages[-1].text)
            return self.written

    box = Translator(tmp_path)
    box.written = "bread"
    assert box.said("Comment dit-on pain en anglais ?") == "En anglais, on dit : « bread »."
    assert box.said("Et le fromage ?") == "En anglais, on dit : « bread »."
    assert box.asked == ["pain", "le fromage"]
    assert box.said("Merci.") is None and box.said("Et le fromage ?") is None
    box.written = "pain"  # nothing new: the conversation's model answers
    assert box.said("Comment dit-on pain en anglais ?") is None
    off = Translator(tmp_path, settings=ToolSettings(translator=False))
    assert off.said("Comment dit-on pain en anglais ?") is None and off.asked == []
    english = Translator(tmp_path, "en")
    english.written = "du pain"
    assert english.said("How do you say bread in French?") == "In French: “du pain”."


def test_every_language_says_the_same_things_and_every_call_is_done() -> None:
    assert _SAID["fr"].keys() == _SAID["en"].keys()
    assert set(_DOES) == {"time", "date", "timer", "alarm", "cancel", "list", "calculate", "convert", "volume",
        "elsewhere", "harm", "distress",
    }  # fmt: skip


def test_a_date_beyond_the_calendar_is_the_models(box: Box) -> None:
    assert box.run(Call("date", {"days": 99_999_999})) is None
