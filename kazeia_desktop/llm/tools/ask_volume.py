"""Requests for Kazeia's own loudness."""

from typing import Final

from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.request import Request

_SOUND: Final = {
    "fr": r"(?:(?:le |ton |la |ta |du |de la )?(?:volume|son|voix)(?: de (?:ta|la) voix| du son)?)",
    "en": r"(?:(?:the |your )?(?:volume|sound|voice)|it)",
}
_LITTLE: Final = {"fr": r"(?:1 peu |encore |encore 1 peu |- ?le |moi |- moi )?", "en": r"(?:a bit |a little )?"}
_UP: Final = {
    "fr": r"(?:(?:monte|augmente|hausse|pousse|remonte|monter|augmenter|hausser) {little}{sound}"
    r"|(?:parle|parler|parles)(?: 1 peu| encore| beaucoup)? plus (?:fort|haut)|(?:1 peu |beaucoup "
    r"|encore )?plus fort"
    r"|{sound} plus fort|(?:tu parles|{sound} est|c ' est) (?:beaucoup |bien )?trop (?:bas|doucement|faible)"
    r"|mets {sound} plus fort)",
    "en": r"(?:turn {little}{sound} {little}up|turn up {sound}|(?:raise|increase) {sound}|(?:speak"
    r"|talk) {little}(?:up|louder)"
    r"|(?:the )?volume up|{little}louder|speak up)",
}  # fmt: skip
_DOWN: Final = {
    "fr": r"(?:(?:baisse|diminue|reduis|descends|rabaisse|baisser|diminuer|reduire) {little}{sound}"
    r"|(?:parle|parler|parles)(?: 1 peu| encore| beaucoup)? (?:moins (?:fort|haut)|plus (?:bas|doucement))"
    r"|(?:1 peu |beaucoup |encore )?moins fort|(?:tu parles|{sound} est|c ' est) (?:beaucoup |bien )?trop (?:fort"
    r"|haut)"
    r"|mets {sound} moins fort)",
    "en": r"(?:turn {little}{sound} {little}down|turn down {sound}|(?:lower|decrease|reduce) {sound}"
    r"|(?:speak|talk) {little}(?:quieter|softer|more quietly|more softly|down)|(?:the )?volume down"
    r"|{little}(?:quieter|softer))",
}  # fmt: skip
_LEVEL: Final = {
    "fr": r"(?:(?:mets|met|mettre|regle|regler|passe|passer|monte|baisse|augmente|diminue|fixe"
    r"|remets) )?{sound} (?:a|sur|de) "
    r"(?:(?P<n>\d{{1,3}})(?:\.\d+)? ?(?:%)?|(?P<word>fond|maximum|max|la moitie|zero|normal|la normale))",
    "en": r"(?:(?:set|put|turn|change|bring|raise|lower|increase|decrease) )?{sound}(?: up| down)? (?:to|at) "
    r"(?:(?P<n>\d{{1,3}})(?:\.\d+)? ?(?:%)?|(?P<word>full|maximum|max|half|normal|zero))",
}  # fmt: skip
_FULL: Final = {
    "fr": r"(?:(?:mets |monte )?{sound} (?:a fond|au maximum|au max)|(?P<mute>(?:coupe|couper) (?:le son"
    r"|le volume|ta voix)))",
    "en": r"(?:(?:set |turn )?{sound}(?: all the way)? (?:to the )?(?:max|maximum|full)|(?P<mute>mute(?: yourself"
    r"| the sound)?))",
}  # fmt: skip
_WORDS: Final = {"la moitie": 50, "half": 50, "zero": 0}


def volume_call(request: Request) -> Call | None:
    """The call that sets the volume, or moves it."""
    language = request.language

    def filled(patterns: dict[str, str]) -> str:
        return patterns[language].format(sound=_SOUND[language], little=_LITTLE[language])

    if found := request.whole(filled(_LEVEL)):
        level = int(found["n"]) if found["n"] else _WORDS.get(found["word"], 100)
        return Call("volume", {"level": level}) if level <= 150 else None
    if found := request.whole(filled(_FULL)):
        return Call("volume", {"level": 0 if found["mute"] else 100})
    if request.whole(filled(_UP)):
        return Call("volume", {"up": True})
    if request.whole(filled(_DOWN)):
        return Call("volume", {"up": False})
    return None
