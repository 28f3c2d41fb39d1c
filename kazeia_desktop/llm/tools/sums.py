"""An arithmetical request as an expression: "calcule 12,5 % de 80" becomes "12.5 % of 80"."""

import re
from typing import Final

_SPOKEN: Final = {
    "fr": (
        (r"\b(?:le )?resultat de\b", ""),
        (r"\b(?:la )?racine cubique (?:de|d ')", "cbrt"),
        (r"\b(?:la )?racine(?: carree)? (?:de|d ')", "sqrt"),
        (r"\b(?:a )?(?:la )?puissance\b|\bexposant\b", "^"),
        (r"\bau carre\b|²", "^ 2"),
        (r"\bau cube\b|³", "^ 3"),
        (r"\b(?:le )?carre (?:de|d ') (\S+)", r"\1 ^ 2"),
        (r"\b(?:le )?cube (?:de|d ') (\S+)", r"\1 ^ 3"),
        (r"\b(?:le )?double (?:de|d ')", "2 *"),
        (r"\b(?:le )?triple (?:de|d ')", "3 *"),
        (r"\b(?:la )?moitie (?:de|d ')", "1 / 2 *"),
        (r"\b(?:le |1 )?tiers (?:de|d ')", "1 / 3 *"),
        (r"\b(?:le |1 )?quart (?:de|d ')", "1 / 4 *"),
        (r"\bmultiplies? par\b|\bfois\b|×", "*"),
        (r"\bdivises? par\b|\bsur\b|÷", "/"),
        (r"\bplus\b", "+"),
        (r"\bmoins\b", "−"),
        (r"(\d+ / \d+) (?:de|d ')", r"\1 *"),
        (r"% (?:de|d '|des|du|sur)(?: les?| la)?\b", "% of"),
    ),
    "en": (
        (r"\b(?:the )?cube root of\b", "cbrt"),
        (r"\b(?:the )?square root of\b", "sqrt"),
        (r"\b(?:raised )?to the power(?: of)?\b", "^"),
        (r"\bsquared\b|²", "^ 2"),
        (r"\bcubed\b|³", "^ 3"),
        (r"\btwice\b|\b(?:the )?double (?:of )?", "2 * "),
        (r"\bhalf (?:of )?(?=\d)", "1 / 2 * "),
        (r"\b(?:a|1) third of\b", "1 / 3 *"),
        (r"\b(?:a|1) quarter of\b", "1 / 4 *"),
        (r"\bmultiplied by\b|\btimes\b|×", "*"),
        (r"\bdivided by\b|\bover\b|÷", "/"),
        (r"\bplus\b", "+"),
        (r"\bminus\b", "−"),
        (r"% of\b", "% of"),
    ),
}
_FILLERS: Final = {
    "fr": frozenset(
        re.findall(
            r"\S+",
            "combien font fait fais faire ca c est ce que ca vaut valent calcule calculer calcul calculez moi le la "
            "les de d du des resultat quel quelle sont s il te vous plait stp svp tu peux pouvez pourrais me dire dis "
            "donne donner l en egal egale egalent a euro euros € alors et donc kazeia ok bonjour voudrais savoir je qu "
            "on obtient si j ai bien rapidement",
        )
    ),
    "en": frozenset(
        re.findall(
            r"\S+",
            "how much is what whats what's s are calculate compute the please can could you tell me result of equals "
            "equal to give hey kazeia ok so dollar dollars $ pounds euros and i want know work out does make do",
        )
    ),
}
_MINUS: Final = "−"
_MATHS: Final = re.compile(rf"\d+(?:\.\d+)?|[+*/^%()]|{_MINUS}|of|sqrt|cbrt")
_SIGNS: Final = frozenset("?!.,:;='\"…-")
_CURRENCIES: Final = frozenset({"€", "$", "euro", "euros", "dollar", "dollars", "pounds"})
_OPERATORS: Final = frozenset({"+", "*", "/", "^", "%", "sqrt", "cbrt"})


def expression_in(plain: str, language: str) -> str:
    """The expression that `plain` asks for, when it asks for nothing else; "" otherwise.

    Whether it can be computed is for `calculator` to say.
    """
    for pattern, by in _SPOKEN[language]:
        plain = re.sub(pattern, by, plain)
    plain = re.sub(r"(?<=[\d)]) x (?=[\d(])", " * ", plain)
    plain = re.sub(r"(?<=[\d)]) - (?=[\d(])", f" {_MINUS} ", plain)  # elsewhere a hyphen
    found: list[str] = []
    runs = 0
    inside = False
    for word in plain.split():
        if _MATHS.fullmatch(word) and (inside or word != "of"):  # "of" is a word too
            runs += not inside
            inside = True
            found.append(word)
        elif word in _SIGNS or word in _FILLERS[language]:
            inside = inside and word in _CURRENCIES
        else:
            return ""
    numbers = sum(token[0].isdigit() for token in found)
    works = any(token in _OPERATORS for token in found) or (numbers > 1 and _MINUS in found)
    return " ".join(found).replace(_MINUS, "-") if runs == 1 and numbers and works else ""
