"""Words of somebody who thinks of ending their life. A small model's answer to that is not left to chance.

The answer names a line that is open day and night (3114 in France, 988 in the United States, 116 123 in Great Britain
and Ireland, 112 in an emergency) and offers to go on talking.
"""

import re
from typing import Final

from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.request import Request

_END: Final = {
    "fr": r"(?:mourir|me suicider|me tuer|me pendre|en finir|m ' oter la vie|mettre fin a (?:mes jours|ma vie))",
    "en": r"(?:die|dying|(?:kill|hang)(?:ing)? myself|end(?:ing)? (?:my life|it all)|commit(?:ting)? suicide)",
}
_TOLD: Final = {
    "fr": rf"\b(?:je (?:veux|voudrais|vais|compte|prefere|prefererais|pense a|songe a)(?: vraiment| juste| bien)?"
    rf"|j ' (?:aimerais|hesite a)|comment|envie d(?:e| ')) {_END['fr']}\b"
    r"|\bje (?:pense|songe) au suicide\b|\bje (?:ne )?veux plus vivre\b|\bplus envie de vivre\b"
    r"|\b(?:idees|pensees|envies) suicidaires\b|\bje suis suicidaire\b",
    "en": rf"\b(?:i (?:want|would like|am going|plan|intend|prefer)(?: really| just)? to|i ' (?:m going|d like) to"
    rf"|how (?:can|do|could|should) i|i feel like|thinking (?:of|about)) {_END['en']}\b"
    r"|\bi (?:do not|don ' t|no longer) want to live\b|\bi (?:am|' m) suicidal\b|\bsuicidal thoughts\b",
}
_SAID_OTHERWISE: Final = {
    "fr": r"\b(?:mourir|tuer) (?:de (?:rire|faim|soif|chaud|chaleur|froid|fatigue|sommeil|honte|peur|rage|jalousie)"
    r"|a la tache|au (?:travail|boulot)|d ' ennui)|\ben finir (?:avec (?!la vie|tout\b|moi\b)|rapidement|vite|au plus)"
    r"|\b(?:jeu|film|roman|piece|personnage|role|histoire|partie|niveau)\b|\bmourir (?:vieux|vieille|riche)",
    "en": r"\b(?:die|dying) (?:laughing|to |of (?:laughter|boredom|hunger|thirst|shame|curiosity))"
    r"|\b(?:game|film|movie|novel|play|character|level|story)\b",
}


def distress_call(request: Request) -> Call | None:
    """The call that answers it."""
    if re.search(_TOLD[request.language], request.plain) is None:
        return None
    return None if re.search(_SAID_OTHERWISE[request.language], request.plain) else Call("distress")
