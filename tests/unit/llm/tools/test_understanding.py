"""What words alone say: the committed requests, what is switched off, and talk that must stay talk."""

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.calculator import calculate
from kazeia_desktop.llm.tools.understanding import TOOLS, candidates, understand

pytestmark = pytest.mark.unit

DATA = Path(__file__).parents[3] / "golden" / "data"
ALL = frozenset(TOOLS) - {"limits"}  # a tool made later, with tables of its own: test_ask_elsewhere.py


def requests(name: str) -> list[tuple[str, dict[str, Any]]]:
    tables = tomllib.loads((DATA / name).read_text("utf-8"))
    return [(language, row) for language, rows in tables.items() for row in rows]


def is_right(call: Call | None, row: dict[str, Any]) -> bool:
    if call is None or "call" not in row:
        return call is None and "call" not in row
    fits = all(call.arguments.get(name) == value for name, value in row.get("with", {}).items())
    if "result" in row and call.tool == "calculate":
        fits = fits and calculate(str(call.arguments["expression"])).value == Fraction(row["result"])
    return call.tool == row["call"] and fits


@pytest.mark.parametrize(
    ("language", "row"), requests("tool_requests.toml"), ids=lambda v: v["text"] if isinstance(v, dict) else v
)
def test_the_requests_that_rules_were_made_for(language: str, row: dict[str, Any]) -> None:
    assert is_right(understand(row["text"], language, ALL), row)


def test_requests_that_they_were_not_made_for_are_missed_but_never_mistaken() -> None:
    rows = requests("tool_requests_more.toml")
    calls = [(understand(row["text"], language, ALL), row) for language, row in rows]
    assert [row["text"] for call, row in calls if call is not None and not is_right(call, row)] == []
    assert sum(is_right(call, row) for call, row in calls) >= 0.8 * len(rows)


def test_a_tool_that_is_off_understands_nothing() -> None:
    assert understand("Quelle heure est-il ?", "fr", ALL - {"clock"}) is None
    assert understand("Mets un minuteur de 5 minutes", "fr", ALL - {"timers"}) is None
    assert understand("2 plus 2", "fr", ALL - {"calculator"}) is None
    assert candidates("Si j'ai 12 œufs et que j'en casse 5, combien en reste-t-il ?", "fr", ALL - {"calculator"}) == ()


@pytest.mark.parametrize(
    "said",
    [
        "À quelle heure ferme la pharmacie ?", "Quelle heure est-il à New York ?", "Quel jour est né Mozart ?",
        "Le réveil a été difficile ce matin.", "Je voudrais parler de la date de la Révolution.", "Plus fort que toi ?",
        "J'adore le son du violon.", "Arrête de parler.", "Il m'a fallu 3 heures pour venir.",
        "Une minute, s'il te plaît.",
        "Donne-moi une recette pour 4 personnes.", "Tu peux parler anglais ?", "Mets-toi à ma place.",
        "Je dois me réveiller à 6 heures demain.", "Fais-moi un résumé de 100 mots.", "Combien d'habitants à Lyon ?",
        "Combien de temps faut-il pour cuire un œuf dur ?", "La vitesse de la lumière est de 300 000 km par seconde.",
        "Donne-moi trois idées de cadeaux à 20 euros.", "On se voit à 8 heures ?", "Quelle heure préfères-tu ?",
        "Le match finit sur un score de 3 à 2.", "Rappelle-moi qui était Napoléon.",
        "Préviens-moi si tu ne sais pas.", "Raconte-moi la bataille de 1515.",
    ],
)  # fmt: skip
def test_talk_stays_talk(said: str) -> None:
    assert understand(said, "fr", ALL) is None and candidates(said, "fr", ALL) == ()


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("Mets un réveil à 7 h du matin.", Call("alarm", {"hour": 7, "minute": 0, "days": 0})),
        ("Rappelle-moi d'appeler Marie à 15h30.",
         Call("alarm", {"hour": 15, "minute": 30, "days": 0, "label": "appeler Marie"})),
        ("Annule tous les minuteurs et les alarmes.", Call("cancel", {"what": "all"})),
        ("minuteur 2 minutes", Call("timer", {"seconds": 120})),
        ("Volume à 150 %", Call("volume", {"level": 150})), ("Volume à 300 %", None),
        ("N'oublie pas de mettre un minuteur de 5 minutes.", Call("timer", {"seconds": 300})),
        ("Dis-moi quand 5 minutes seront passées.", Call("timer", {"seconds": 300})),
        ("Annule le minuteur de 5 minutes.", Call("cancel", {"what": "timer", "seconds": 300})),
        ("Quel heure est-il ?", Call("time")),
        ("Coupe le son.", Call("volume", {"level": 0})),
        ("Quel jour sera-t-on dans 10 jours ?", Call("date", {"days": 10})),
        ("Quel jour on était avant-hier ?", Call("date", {"days": -2})),
        ("Mets une alarme lundi à 8 h.", None), ("x" * 300, None),
    ],
)  # fmt: skip
def test_further_calls(said: str, call: Call | None) -> None:
    assert understand(said, "fr", ALL) == call


def test_an_hour_without_morning_or_evening() -> None:
    assert understand("Wake me at 7.", "en", ALL) == Call("alarm", {"hour": 7, "minute": 0, "days": 0})
    assert understand("Set an alarm for 3.", "en", ALL) == Call("alarm", {"hour": 15, "minute": 0, "days": 0})
    assert understand("Set an alarm for 8.", "en", ALL) == Call("alarm", {"hour": 8, "minute": 0, "days": 0})


@given(st.text(max_size=120), st.sampled_from(["fr", "en"]))
def test_any_text_is_understood_or_not(text: str, language: str) -> None:
    understand(text, language, ALL)
    candidates(text, language, ALL)
