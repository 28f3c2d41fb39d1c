"""Bits of LaTeX in words: what small models write although nobody can see it rendered."""

import re
from typing import Final

_DISPLAY: Final = re.compile(r"\$\$|\\[()\[\]]")
_INLINE: Final = re.compile(r"(?<![\w$])\$(?=\S)([^$\n]{1,160}?)(?<=\S)\$(?![\d$])")
_IS_MATHS: Final = re.compile(r"[\\^_=+<>]|^-?[a-zA-Z]'?$|^[a-zA-Z]\(")
_FRACTION: Final = re.compile(r"\\[dtc]?frac\s?\{([^{}\n]{1,80})\}\s?\{([^{}\n]{1,80})\}|\\[dtc]?frac(\d)(\d)")
_ROOT: Final = re.compile(r"\\sqrt(?:\[(\d)\])?\s?\{([^{}\n]{1,80})\}")
_WRAPPED: Final = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mathbf|mathbb|mathcal|boxed|operatorname|emph|overline|vec|hat|bar|underline)"
    r"\s?\{([^{}\n]{0,120})\}"
)
_POWER: Final = re.compile(r"\^\s?\{([^{}\n]{1,40})\}|\^\s?(-?\d{1,6}|[a-zA-Z](?![a-zA-Z])|°)")
_INDEX: Final = re.compile(r"_\s?\{([^{}\n]{1,40})\}|(?<=\b[a-zA-Z])_(\w)(?!\w)")
_FUNCTION: Final = re.compile(r"(?<![\w'])([fghuvpPFG]'?)\(([a-zA-Z]|-?\d{1,4})\)")
_COMMAND: Final = re.compile(r"\\([a-zA-Z]{1,20})\s?")
_ESCAPED: Final = re.compile(r"\\([%$&#_{} ,;:!\\])")

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "times": ("fois", "times"), "cdot": ("fois", "times"), "div": ("divisé par", "divided by"),
    "pm": ("plus ou moins", "plus or minus"), "leq": ("≤", "≤"), "le": ("≤", "≤"), "geq": ("≥", "≥"), "ge": ("≥", "≥"),
    "neq": ("≠", "≠"), "ne": ("≠", "≠"), "approx": ("≈", "≈"), "equiv": ("équivaut à", "is equivalent to"),
    "infty": ("l'infini", "infinity"), "sum": ("la somme", "the sum"), "prod": ("le produit", "the product"),
    "int": ("l'intégrale", "the integral"), "to": ("tend vers", "tends to"), "rightarrow": ("→", "→"),
    "Rightarrow": ("donc", "so"), "implies": ("donc", "so"), "iff": ("équivaut à", "is equivalent to"),
    "in": ("appartient à", "in"), "notin": ("n'appartient pas à", "not in"), "forall": ("pour tout", "for all"),
    "exists": ("il existe", "there exists"), "cup": ("union", "union"), "cap": ("inter", "intersection"),
    "lim": ("la limite", "the limit"), "log": ("log", "log"), "ln": ("logarithme", "log"), "sin": ("sinus", "sine"),
    "cos": ("cosinus", "cosine"), "tan": ("tangente", "tangent"), "exp": ("exponentielle", "exponential"),
    "degree": ("°", "°"), "circ": ("°", "°"), "ldots": ("…", "…"), "dots": ("…", "…"), "cdots": ("…", "…"),
    "sqrt": ("racine de", "square root of"), "partial": ("d rond", "partial"), "nabla": ("nabla", "nabla"),
    "alpha": ("alpha", "alpha"), "beta": ("bêta", "beta"), "gamma": ("gamma", "gamma"), "delta": ("delta", "delta"),
    "Delta": ("delta", "delta"), "epsilon": ("epsilon", "epsilon"), "theta": ("thêta", "theta"),
    "lambda": ("lambda", "lambda"), "mu": ("mu", "mu"), "pi": ("pi", "pi"), "rho": ("rhô", "rho"),
    "sigma": ("sigma", "sigma"), "Sigma": ("sigma", "sigma"), "phi": ("phi", "phi"), "omega": ("oméga", "omega"),
    "Omega": ("oméga", "omega"), "quad": (",", ","), "qquad": (",", ","),
}  # fmt: skip
_SILENT: Final = frozenset(
    {"left", "right", "big", "Big", "bigg", "displaystyle", "limits", "begin", "end", "text", "mathrm", "mathbf",
     "hline",
     "label", "tag", "item", "n", "t", "r", "boxed"}
)  # fmt: skip
_SAID: Final = {
    "fr": {"over": "sur", "root": "racine de", "cube": "racine cubique de", "square": "au carré", "cubed": "au cube",
           "power": "puissance", "minus": "moins", "of": "de"},
    "en": {"over": "over", "root": "square root of", "cube": "cube root of", "square": "squared", "cubed": "cubed",
           "power": "to the power of", "minus": "minus", "of": "of"},
}  # fmt: skip


def speak_maths(text: str, language: str) -> str:
    """LaTeX commands, powers and indices of `text` in words; signs and figures are left for later steps."""
    said = _SAID[language]
    if "$" in text:
        text = _INLINE.sub(lambda m: f" {m[1]} " if _IS_MATHS.search(m[1]) else m[0], text)
    if "\\" in text or "$$" in text:
        text = _DISPLAY.sub(" ", text)
        text = _WRAPPED.sub(r" \1 ", _WRAPPED.sub(r" \1 ", text))
        for _ in range(3):  # a root in a fraction in a root
            text = _FRACTION.sub(lambda m: _fraction(m[1] or m[3], m[2] or m[4], said["over"]), text)
            text = _ROOT.sub(lambda m: f" {said['cube' if m[1] == '3' else 'root']} {m[2]} ", text)
        text = _ESCAPED.sub(lambda m: m[1] if m[1] in "%$&#_" else " ", text)
        text = _COMMAND.sub(lambda m: _command(m[1], language), text)
    text = _FUNCTION.sub(rf"\1 {said['of']} \2 ", text)
    if "^" in text:
        text = _POWER.sub(lambda m: _power(m[1] or m[2], said), text)
    return _INDEX.sub(lambda m: f" {m[1] or m[2]} ", text) if "_" in text else text


def _fraction(above: str, below: str, over: str) -> str:
    """Figures stay a fraction for a later step: "one half"."""
    return f" {above}/{below} " if above.isdigit() and below.isdigit() else f" {above} {over} {below} "


def _command(name: str, language: str) -> str:
    if name in _SILENT:
        return " "
    spoken = _COMMANDS.get(name)
    return f" {spoken[language != 'fr']} " if spoken else f" {name} "


def _power(exponent: str, said: dict[str, str]) -> str:
    exponent = exponent.strip()
    if exponent == "°":
        return " ° "
    if exponent in ("2", "3"):
        return f" {said['square' if exponent == '2' else 'cubed']} "
    return f" {said['power']} {exponent.replace('-', said['minus'] + ' ')} "
