"""Figures that are no plain number: phones, versions, ranges, fractions, ordinals, operations."""

import re
from typing import Final

from kazeia_desktop.text.normalize.words import cardinal, digits, feminine, number, ordinal

_PHONE_FR: Final = re.compile(r"(?<![\w+])(?:(\+33|0033) ?(?:\(0\) ?)?|0)([1-9])((?:[ .-]?\d{2}){4})(?![\d])")
_PHONE: Final = re.compile(r"(?<![\w+])(?:(\+\d{1,3})[ .-]?)?(?:\(\d{1,4}\)|\d{1,4})(?:[ .-]\d{2,4}){2,5}(?![\d\w])")
_PHONE_SHAPE: Final = re.compile(r"\+.*|(?:1[ .-])?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")
_CALLED_EN: Final = re.compile(r"\b([Cc]all|[Dd]ial)( )(\d{3})\b")
_VERSION: Final = re.compile(r"\b[vV]?(\d{1,6}(?:\.\d{1,6}){2,8})(?![\w])|\b[vV](\d{1,6}(?:\.\d{1,6})?)(?![\w.]\w|\w)")
_THOUSANDS: Final = re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){2,}")
_SCIENTIFIC: Final = re.compile(r"(?<![\w.,])(\d{1,20}(?:[.,]\d{1,20})?)[eE]([+-]?)(\d{1,3})(?!\w)")
_BARE_DECIMAL: Final = re.compile(r"(?<![\w.,])([.,])(?=\d)")
_HYPHENS: Final = re.compile(r"(?<![\w-])\d{1,4}(?:-\d{1,4}){2,12}(?![\w-])")
_MINUS_BETWEEN: Final = re.compile(r"(?<=[\w)]) ?− ?(?=[\w(])")
_SUBTRACTION: Final = re.compile(r"(?<=[\d)]) ?- ?(?=[\d(])")
_OPERATION: Final = re.compile(r"[=+×÷]|\d \* \d")
_RANGE: Final = re.compile(r"(?<=[\d€$£%]) ?[-–—] ?(?=[€$£]? ?\d)")
_NUMBER_PART: Final = re.compile(r"(?<=\b[1-9]\d\d)-(?=\d{1,2}(?!\d))")
"""Article 121-1 is no range."""
_MINUS: Final = re.compile(r"(?<![\w)\]])[-−–] ?(?=[€$£]? ?\d)")
_PLUS: Final = re.compile(r"(?<![\w+])\+ ?(?=\d)")
_ABOUT: Final = re.compile(r"(?<![\w~])[~≈] ?(?=\d)")
_PLUS_AFTER: Final = re.compile(r"(?<=\d)\+(?=\s|$|[.,;:!?)])")
_TIMES: Final = re.compile(r"(?<=\d) ?[xX*×] ?(?=\d)")
_TIMES_AFTER: Final = re.compile(
    r"(?<![\w.,])(\d{1,4}(?:[.,]\d{1,2})?)[xX×](?=\s+(?:plus|moins|more|less|faster|slower|as|par)\b)"
)
_RATIO: Final = re.compile(r"(?<=\d):(?=\d)")
_MIXED: Final = re.compile(r"(?<![\d/.,])(\d{1,4}) (\d{1,2}) ?/ ?(\d{1,3})(?![\d/])")
_FRACTION: Final = re.compile(r"(?<![\d/.,])(\d{1,4}) ?/ ?(\d{1,4})(?![\d/])")
_SLASHED: Final = re.compile(r"(?<=\d) ?/ ?(?=\d)")
_ORDINAL_FR: Final = re.compile(r"(?<![\w.,])(\d{1,6}) ?(ers?|ères?|res?|nde?s?|è?mes?|i?èmes?|es?)(?![\w'’])")
_ORDINAL_EN: Final = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})*|\d{1,9})(?:st|nd|rd|th)\b")
_HASH: Final = re.compile(r"(?<![\w#])# ?(?=\d)")
_FEMININE_NOUNS: Final = (
    "heure|minute|seconde|fois|semaine|année|journée|nuit|matinée|soirée|personne|femme|fille|page|partie|question|"
    "réponse|chose|ligne|étape|tasse|cuillère|cuillérée|tonne|ville|place|pièce|maison|voiture|chambre|erreur|phrase|"
    "lettre|syllabe|option|solution|idée|règle|méthode|fonction|variable|colonne|image|photo|vidéo|chanson|histoire|"
    "gousse|tranche|pincée|pomme|poire|tomate|carotte|banane|orange|portion|recette|bouteille|boîte|livre sterling|"
    "calorie|planète|étoile|région|langue|équipe|victoire|défaite|médaille|unité|dizaine|centaine|couleur|dimension|"
    "espèce|famille|marche|rue|route|station|porte|fenêtre|table|chaise|copie|version|édition|saison|famille"
)
_FEMININE: Final = re.compile(rf"(?<![\w.,])(\d{{0,8}}1) (?=(?:{_FEMININE_NOUNS})s?\b)", re.IGNORECASE)

_SAID: Final = {
    "fr": {"to": "à", "minus": "moins", "plus": "plus", "about": "environ", "times": "fois", "ratio": "pour",
           "over": "sur", "and": "et", "ten": "fois dix puissance", "number": "numéro", "point": "point",
           "version": "version", "dash": "tiret"},
    "en": {"to": "to", "minus": "minus", "plus": "plus", "about": "about", "times": "times", "ratio": "to",
           "over": "over", "and": "and", "ten": "times ten to the power of", "number": "number", "point": "point",
           "version": "version", "dash": "dash"},
}  # fmt: skip
_PARTS: Final[dict[str, dict[int, tuple[str, str]]]] = {
    "fr": {2: ("demi", "demis"), 3: ("tiers", "tiers"), 4: ("quart", "quarts")},
    "en": {2: ("half", "halves"), 4: ("quarter", "quarters")},
}
_MARKED_OUT_OF: Final = frozenset({10, 20, 100})
"""What is written "7/10" is a mark more often than seven tenths."""


def speak_codes(text: str, language: str) -> str:
    """Figures that are read in groups: phone numbers, versions, powers of ten."""
    said = _SAID[language]
    if language == "fr":
        text = _PHONE_FR.sub(lambda m: _phone_fr(m[1], m[2] + re.sub(r"\D", "", m[3])), text)
    else:
        text = _CALLED_EN.sub(lambda m: f"{m[1]}{m[2]}{digits(m[3], 'en')}", text)
    text = _PHONE.sub(lambda m: _phone(m[0], language) if _PHONE_SHAPE.fullmatch(m[0]) else m[0], text)
    text = _VERSION.sub(lambda m: _version(m, language), text)
    text = _SCIENTIFIC.sub(lambda m: _scientific(m, language), text)
    return _HASH.sub(f"{said['number']} ", _BARE_DECIMAL.sub(r"0\1", text))


def speak_relations(text: str, language: str) -> str:
    """Signs between figures: ranges, minus, times, ratios. The figures themselves stay."""
    said = _SAID[language]
    text = _TIMES_AFTER.sub(rf"\1 {said['times']}", text)
    text = _HYPHENS.sub(lambda m: m[0].replace("-", ", "), text)
    text = _ABOUT.sub(f"{said['about']} ", _PLUS.sub(f"{said['plus']} ", text))
    text = _MINUS_BETWEEN.sub(f" {said['minus']} ", text)
    if _OPERATION.search(text):
        text = _SUBTRACTION.sub(f" {said['minus']} ", text)
    text = _NUMBER_PART.sub(f" {said['dash']} ", text)
    text = _RANGE.sub(f" {said['to']} ", text)
    text = _MINUS.sub(f"{said['minus']} ", text)
    text = _TIMES.sub(f" {said['times']} ", text)
    text = _RATIO.sub(f" {said['ratio']} ", text)
    return _PLUS_AFTER.sub(f" {said['plus']}", text)


def speak_fractions_and_ordinals(text: str, language: str) -> str:
    """Fractions and ordinals of `text` in words, and in French "une" before feminine nouns."""
    over = _SAID[language]["over"]
    text = _MIXED.sub(lambda m: _mixed(m, language), text)
    text = _FRACTION.sub(lambda m: _fraction(int(m[1]), int(m[2]), language), text)
    text = _SLASHED.sub(f" {over} ", text)
    if language == "fr":
        text = _FEMININE.sub(lambda m: feminine(cardinal(int(m[1]), "fr")) + " ", text)
        return _ORDINAL_FR.sub(_ordinal_fr, text)
    return _ORDINAL_EN.sub(lambda m: ordinal(int(m[1].replace(",", "")), "en"), text)


def _phone_fr(prefix: str | None, figures: str) -> str:
    """Nine figures after the prefix: in pairs, as they are told in France."""
    head = (
        f"plus trente-trois, {cardinal(int(figures[0]), 'fr')}" if prefix else f"zéro {cardinal(int(figures[0]), 'fr')}"
    )
    return ", ".join([head, *(_pair(figures[i : i + 2], "fr") for i in range(1, 9, 2))])


def _pair(figures: str, language: str) -> str:
    return digits(figures, language) if figures.startswith("0") else cardinal(int(figures), language)


def _phone(written: str, language: str) -> str:
    plus = f"{_SAID[language]['plus']} " if written.startswith("+") else ""
    groups = re.findall(r"\d+", written)
    if language == "fr":
        said = [_pair(g, "fr") if len(g) <= 2 else digits(g, "fr") for g in groups]
    else:
        said = [digits(g, "en") for g in groups]
    return plus + ", ".join(said)


def _version(match: re.Match[str], language: str) -> str:
    """ "v1.2.3" is "version un point deux point trois"; after the word "version" it is not said twice."""
    written = match[1] or match[2]
    if match[0][0].isdigit() and _THOUSANDS.fullmatch(written):
        return match[0]
    said = " point ".join(cardinal(int(part), language) for part in written.split("."))
    lead = match.string[max(0, match.start() - 12) : match.start()].lower()
    named = match[0][0] in "vV" and not lead.rstrip().endswith("version")
    return f"{_SAID[language]['version']} {said}" if named else said


def _scientific(match: re.Match[str], language: str) -> str:
    said = _SAID[language]
    minus = f"{said['minus']} " if match[2] == "-" else ""
    return f"{number(match[1], language)} {said['ten']} {minus}{cardinal(int(match[3]), language)}"


def _fraction(above: int, below: int, language: str) -> str:
    if above == below and above >= 10:  # 50/50
        return f"{cardinal(above, language)} {cardinal(below, language)}"
    proper = 0 < above < below and 2 <= below <= 12 and below not in _MARKED_OUT_OF
    if not proper:
        over = "out of" if language == "en" and below in _MARKED_OUT_OF and above <= below else _SAID[language]["over"]
        return f"{cardinal(above, language)} {over} {cardinal(below, language)}"
    name = _PARTS[language].get(below)
    if name is None:
        name = (ordinal(below, language), f"{ordinal(below, language)}s")
    return f"{cardinal(above, language)} {name[above > 1]}"


def _mixed(match: re.Match[str], language: str) -> str:
    whole, above, below = int(match[1]), int(match[2]), int(match[3])
    if not 0 < above < below <= 12:
        return match[0]
    said = _fraction(above, below, language)
    if language == "en" and above == 1:
        said = f"a {said.removeprefix('one ')}"
    if language == "fr" and (above, below) == (1, 2):
        said = "demi"
    return f"{cardinal(whole, language)} {_SAID[language]['and']} {said}"


def _ordinal_fr(match: re.Match[str]) -> str:
    n, ending = int(match[1]), match[2]
    first = ending.startswith(("er", "èr", "re"))
    second = ending.startswith("nd")
    if first != (n == 1) or (second and n != 2) or (" " in match[0] and ending in ("e", "es", "mes", "me")):
        return match[0]
    many = "s" if ending.endswith("s") else ""
    if second:
        return ("seconde" if "nde" in ending else "second") + many
    return ordinal(n, "fr", ending.startswith(("èr", "re"))) + many
