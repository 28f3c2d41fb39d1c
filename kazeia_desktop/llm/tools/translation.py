"""Words and short sentences in another language: asked of the model beside the conversation, with examples.

In a conversation a small model repeats the words instead ("merci beaucoup en anglais"); asked for nothing else, with
three examples, it translates most of them.
"""

import re
from typing import Final

from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.tools.base import Ask, Call
from kazeia_desktop.llm.tools.numbers import fold
from kazeia_desktop.runtime.cancel import CancelToken

_LONGEST: Final = 100
_WORDS_AFTER: Final = 5
"""Words of "et bonne nuit ?", that goes on with a translation."""

_TO: Final = {
    "fr": {"anglais": "en", "espagnol": "es", "allemand": "de", "italien": "it", "français": "fr"},
    "en": {"english": "en", "spanish": "es", "german": "de", "italian": "it", "french": "fr"},
}
_NAMES: Final = {"en": "English", "es": "Spanish", "de": "German", "it": "Italian", "fr": "French"}
LANGUAGES: Final = {
    "fr": {"en": "anglais", "es": "espagnol", "de": "allemand", "it": "italien", "fr": "français"},
    "en": _NAMES,
}
"""Language of the answer -> code -> what it is called."""

_EXAMPLES: Final = {
    "fr": ("un chat", "je suis en retard", "où sont les toilettes ?"),
    "en": ("a cat", "I am late", "where is the bathroom?"),
    "es": ("un gato", "llego tarde", "¿dónde está el baño?"),
    "de": ("eine Katze", "ich bin spät dran", "wo ist die Toilette?"),
    "it": ("un gatto", "sono in ritardo", "dov'è il bagno?"),
}
_POLITE: Final = {
    "fr": r"(?:[\s,]*(?:s'il (?:te|vous) plaît|stp|svp))?",
    "en": r"(?:[\s,]*please)?",
}
_FORMS: Final = {
    "fr": (
        r"(?:et |dis,? |dis-moi |kazeia,? )*comment (?:dit-on|on dit|tu dis|dis-tu|dire|est-ce qu'on dit"
        r"|est-ce que l'on dit|se dit"
        r"|on traduit|traduit-on|traduire|traduirais-tu) (?P<what>.+?) en (?P<to>{to})",
        r"(?:peux-tu (?:me )?|tu peux (?:me )?|kazeia,? )?tradui(?:s|re|sez)(?:-moi)?,? (?P<what>.+?) en (?P<to>{to})",
        r"(?:et |que veut dire |ça veut dire quoi )?(?P<what>[«“\"].+?[»”\"]),? (?:ça se dit comment )?en (?P<to>{to})",
    ),
    "en": (
        r"(?:and |tell me |kazeia,? )*how (?:do|would|can|to|should)(?: (?:you|i|we|one))? (?:say"
        r"|translate) (?P<what>.+?)"
        r" (?:in|to|into) (?P<to>{to})",
        r"(?:can you |could you |kazeia,? )?translate,? (?P<what>.+?) (?:in|to|into) (?P<to>{to})",
        r"what(?:'s| is) (?P<what>.+?) in (?P<to>{to})",
    ),
}
_AFTER: Final = {"fr": r"et(?: pour)? (?P<what>.+)", "en": r"(?:and|how about|what about) (?P<what>.+)"}
_POINTS: Final = re.compile(
    r"(?:ca|cela|ceci|le|la|les|toi|moi|vous|nous|lui|alors|apres|ensuite|encore|maintenant|demain|sinon|puis|that|this"
    r"|it|you|me|then|now|tomorrow|(?:ce|ta|ton|tes|la|ma|mon|mes|what|your|the last|my) .*(?:dis|dit|dire|phrase"
    r"|reponse"
    r"|question|texte|said|say|sentence|answer))"
)
"""Words that point at something said before: the conversation knows what."""
_QUOTES: Final = "«»“”\"'‘’ \u00a0\u202f"


def translation_call(text: str, language: str, last: str = "") -> Call | None:
    """The call for a translation; arguments: text, source, to (codes of `LANGUAGES`).

    Args:
        last: the language of the translation just before, which "et bonne nuit ?" goes on with.
    """
    said = " ".join(text.replace("\u2019", "'").split()).rstrip(" ?!.…\u00a0\u202f")
    if len(said) > _LONGEST:
        return None
    names = "|".join(_TO[language])
    for form in _FORMS[language]:
        found = re.fullmatch(form.format(to=names) + _POLITE[language], said, re.IGNORECASE)
        if found:
            return _call(found["what"], _TO[language][found["to"].lower()], language)
    after = re.fullmatch(_AFTER[language], said, re.IGNORECASE) if last and "?" in text else None
    if after and len(after["what"].split()) <= _WORDS_AFTER:
        return _call(after["what"], last, language)
    return None


def _call(what: str, to: str, language: str) -> Call | None:
    what = what.strip(_QUOTES)
    if _POINTS.fullmatch(fold(what)):
        return None
    source = language if language != to else "en" if to == "fr" else "fr"
    return Call("translate", {"text": what, "source": source, "to": to}) if what else None


def translate(call: Call, ask: Ask, cancel: CancelToken) -> str:
    """What the model writes; "" when it is nothing new, or when it was stopped.

    Raises:
        InferenceError: the model failed.
    """
    text, source, to = (str(call.arguments[name]) for name in ("text", "source", "to"))
    task = f"You translate words and short sentences from {_NAMES[source]} to {_NAMES[to]}. Write the translation only."
    messages = [Message("system", task)]
    for one, other in zip(_EXAMPLES[source], _EXAMPLES[to], strict=True):
        messages += [Message("user", one), Message("assistant", other)]
    written = ask([*messages, Message("user", text)], cancel, 24 + len(text))
    line = written.strip().split("\n")[0].strip(_QUOTES).rstrip(".").strip(_QUOTES)
    return "" if cancel.is_set() or fold(line) == fold(text) else line
