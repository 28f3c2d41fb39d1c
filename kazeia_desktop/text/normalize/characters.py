"""Unicode to a plain alphabet: one kind of space, digit and hyphen; pictures and controls out."""

import re
import unicodedata
from typing import Final

_COMPATIBLE: Final = re.compile(
    "[\uff01-\uff5e\ufb00-\ufb06\u00bc-\u00be\u2150-\u2189\u2460-\u249b\u2100-\u2121\u2123-\u214f\u3251-\u325f"
    "\u02b0-\u02b8\u1d2c-\u1d6a\u00aa\U0001d400-\U0001d7ff]"
)
"""Wide, ligature, fraction, circled, raised and "mathematical" letters: read as what they look like."""
_SUPERSCRIPTS: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿⁱ"
_SUPERSCRIPT_VALUES: Final = str.maketrans(_SUPERSCRIPTS, "0123456789-+ni")
_POWER: Final = re.compile(rf"[{_SUPERSCRIPTS}]{{2,12}}|[⁰¹⁴⁵⁶⁷⁸⁹ⁿⁱ]")
_SUBSCRIPTS: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-")
_KEYCAP: Final = re.compile("([#*0-9])\ufe0f?\u20e3")
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_PILED_MARKS: Final = re.compile("([\u0300-\u036f]{2})[\u0300-\u036f]+")
_EMOTICON: Final = re.compile(r"(?<![\w:/])(?:[:;=]['’]?-?[)(DPpOo|*/\\]|\^_?\^|[xX]D|<3)(?=[\s.,!?…]|$)")
_BLANKS: Final = re.compile(r"[ \n]{2,}")
_NEWLINE: Final = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MAPPED: Final = str.maketrans(
    {"\u2010": "-", "\u2011": "-", "\u2043": "-", "\u00ba": "°", "\u02da": "°", "\u2044": "/", "\u2215": "/", "´": "'",
     "\u02bc": "'", "\u2019": "'", "\u2018": "'", "\u201b": "'", "\u2032": "'", "⋅": "×", "≃": "≈", "∼": "~",
     "⩽": "≤", "⩾": "≥", "➜": "→", "➔": "→", "➡": "→", "⇒": "→", "⟶": "→", "⬅": "←", "\t": " ", "\u200b": "",
     "\u00ad": "", "\ufeff": ""}
)  # fmt: skip
_KEPT_SYMBOLS: Final = frozenset("°^`|")
_DROPPED: Final = frozenset({"So", "Sk", "Cs", "Co", "Cn", "Cc", "Me"})


def clean(text: str) -> str:
    """NFC text without emoji, controls and look-alikes. Newlines stay, as "\\n"."""
    text = _NEWLINE.sub("\n", unicodedata.normalize("NFC", text))
    text = _EMOTICON.sub(" ", text)
    text = _KEYCAP.sub(lambda m: m[1] if m[1].isdigit() else " ", text)
    text = _COMPATIBLE.sub(lambda m: _compatible(m[0]), _SELECTORS.sub("", text))
    text = _POWER.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPT_VALUES), text).translate(_SUBSCRIPTS)
    text = _PILED_MARKS.sub(r"\1", text.translate(_MAPPED))
    # One space where there were many: later steps look at what stands beside a space.
    text = _BLANKS.sub(_blank, "".join(map(_character, text)))
    return unicodedata.normalize("NFC", text)


def _blank(match: re.Match[str]) -> str:
    n_newlines = match[0].count("\n")
    return "\n" * min(n_newlines, 2) or " "


def _compatible(sign: str) -> str:
    plain = unicodedata.normalize("NFKC", sign)
    return f" {plain} " if "\u2044" in plain else plain


def _character(sign: str) -> str:
    if sign.isascii() and (sign >= " " or sign == "\n"):
        return sign
    category = unicodedata.category(sign)
    if category == "Nd":
        return str(unicodedata.digit(sign))
    if category == "Zs":
        return " "
    if category == "Cf":
        return ""
    return " " if category in _DROPPED and sign not in _KEPT_SYMBOLS else sign
