"""Requests that Kazeia does not help with: how to make weapons, explosives, poisons or drugs, hurt people, break in.

A small model lists steps. Only the plain "how to" is refused here; history, safety and how things work stay talk.
"""

import re
from typing import Final

from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.request import Request

_HOW: Final = {
    "fr": (
        r"(?:(?:explique|expliques|expliquer|dis|apprends|apprendre|montre|montrer|indique|decris|raconte)(?: - moi"
        r"| moi)?"
        r"|je (?:veux|voudrais|aimerais|dois)(?: savoir| apprendre)?|aide(?:s|r)?(?: - moi| moi)?|m ' (?:expliquer"
        r"|apprendre|aider)"
        r"|sais - tu|tu sais|j ' ai besoin de savoir|quelle est la (?:meilleure )?(?:facon|methode|maniere) (?:de"
        r"|pour))? ?"
        r"(?:a |comment )?(?:(?:puis - je|je peux|je pourrais|est - ce que je (?:peux|pourrais)|peut - on|on peut"
        r"|on fait pour"
        r"|faire pour|est - ce qu ' on (?:peut|fait pour)|on) )?"
    ),
    "en": (
        r"(?:(?:explain|show|teach|tell|help)(?: to)?(?: me)?|i (?:want|need|would like)(?: to (?:know|learn))?"
        r"|what is the best way)? ?"
        r"(?:how )?(?:(?:can|do|could|would|should) (?:i|you|we|one) |to )?"
    ),
}  # fmt: skip
_MAKE: Final = {
    "fr": r"(?:fabriquer|fabrique|faire|fait|construire|construit|creer|produire|produit|preparer|concevoir|monter"
    r"|synthetiser"
    r"|bricoler|se procurer|imprimer)",
    "en": r"(?:make|build|create|produce|prepare|construct|cook|synthesi[sz]e|assemble|print)",
}
_WEAPONS: Final = {
    "fr": r"(?:bombes?|explosifs?|engins? explosifs?|cocktails? molotov|grenades?|dynamite|tnt|mines?|poudre a canon"
    r"|nitroglycerine"
    r"|armes?|pistolet|fusil|silencieux|gaz (?:toxique|moutarde|sarin|de combat)|sarin|ricine|cyanure|anthrax|poison"
    r"|virus"
    r"|methamphetamine|meth|crack|heroine|cocaine|ghb|ecstasy|lsd|fentanyl|drogues?|fausse monnaie|faux billets)",
    "en": r"(?:bombs?|explosives?|molotov(?: cocktails?)?|grenades?|dynamite|tnt|land mines?|gunpowder|nitroglycerin"
    r"|guns?"
    r"|weapons?|silencer|rifle|(?:mustard|nerve|poison|toxic) gas|sarin|ricin|cyanide|anthrax|poison|virus|meth"
    r"|methamphetamine|crack|heroin|cocaine|ghb|ecstasy|lsd|fentanyl|drugs|counterfeit money|fake money)",
}
_A: Final = {
    "fr": r"(?:1 |des |du |de la |de l ' |d ' |de |l ' |le |la |les |ma |mon |ta )?(?:petite? |vraie? |grosse? "
    r"|propre )?",
    "en": r"(?:a |an |1 |some |the |my )?(?:\w+ )?",
}
_PLAY: Final = {
    "fr": r"\b(?:bain|eau|glacee?|glace|chocolat|peinture|graines?|sucre|carton|papier|mousse|lego|deguisement|jouet"
    r"|factice|bois"
    r"|peluche|origami|patisserie|gateau|minecraft|jeu|jeux|film|roman|histoire|theatre|informatique|antivirus"
    r"|gratin|sirop|massive)\b",
    "en": r"\b(?:bath|water|chocolate|paint|seeds?|sugar|cardboard|paper|foam|lego|costume|toy|fake gun|wooden"
    r"|origami|cake|minecraft"
    r"|games?|film|movie|novel|story|play|water|photo|cherry|nerf|glue)\b",
}
"""Words of bath bombs, cardboard swords and stories."""
_PEOPLE: Final = {
    "fr": r"(?:quelqu ' 1|1 (?:personne|homme|femme|enfant|bebe|policier|chien|chat)|des (?:gens|personnes|enfants)"
    r"|les gens"
    r"|(?:mon|ma|mes) (?:voisine?s?|mari|femme|patron(?:ne)?|chef|pere|mere|freres?|soeurs?|ex|collegues?|copains?"
    r"|copines?|professeur"
    r"|prof|enfants?|fils|fille|beau - pere|belle - mere|chien|chat))",
    "en": r"(?:somebody|someone|a (?:person|man|woman|child|baby|cop|dog|cat)|people|my (?:neighbou?rs?|husband|wife"
    r"|boss|father"
    r"|mother|brother|sister|ex|colleagues?|boyfriend|girlfriend|teacher|kids?|children|son|daughter|dog|cat))",
}
_HURT: Final = {
    "fr": r"(?:tuer|empoisonner|assassiner|etrangler|poignarder|droguer|kidnapper|torturer|agresser)",
    "en": r"(?:kill|poison|murder|strangle|stab|drug|kidnap|torture|assault)",
}
_BREAK_IN: Final = {
    "fr": r"(?:pirater|hacker|cambrioler|braquer|voler|crocheter|forcer)"
    r" (?:le|la|les|l '|1|des|mon|ma|1 autre|chez|dans) ?.*?\b(?:comptes?|wifi|wi - fi|telephones?|smartphone"
    r"|ordinateurs?|sites?"
    r"|cartes? (?:bancaires?|bleues?)|mots? de passe|reseau|maisons?|appartements?|banques?|magasins?|voitures?"
    r"|motos?|scooters?"
    r"|serrure|voisins?|boite mail|facebook|instagram)",
    "en": r"(?:hack(?: into)?|break into|rob|steal|burgle|crack) (?:a|an|the|my|1|somebody|someone|other"
    r"|into)\b.*?\b(?:accounts?|wifi"
    r"|wi - fi|phones?|computers?|sites?|websites?|cards?|passwords?|network|houses?|flat|apartments?|banks?|shops?"
    r"|stores?|cars?"
    r"|bikes?|lock|neighbou?rs?|email|facebook|instagram)",
}
_RECIPE: Final = {
    "fr": r"(?:(?:donne|dis|quelle est|je (?:veux|voudrais))(?: - moi)? )?(?:la|1) recette (?:d '|de|du|de la|de l '"
    r"|pour) ?",
    "en": r"(?:(?:give me|what is|tell me) )?(?:the|a) recipe for ",
}
_OWN: Final = {
    "fr": r"\b(?:mon|ma|mes) (?:propre|compte|wifi|telephone|ordinateur|mot|serrure|maison|appartement|voiture)",
    "en": r"\bmy (?:own|account|wifi|phone|computer|password|lock|house|flat|apartment|car|bike)",
}
"""Who has locked himself out asks a plain question."""


def harm_call(request: Request) -> Call | None:
    """The call that refuses."""
    language = request.language
    how, rest = _HOW[language], r"(?: .*)?"
    thing = rf"{_A[language]}{_WEAPONS[language]}\b{rest}"
    if request.whole(rf"{how}{_MAKE[language]} {thing}") or request.whole(rf"{_RECIPE[language]}{thing}"):
        return None if re.search(_PLAY[language], request.plain) else Call("harm")
    if request.whole(rf"{how}{_HURT[language]} {_PEOPLE[language]}\b{rest}"):
        return Call("harm")
    if request.whole(rf"{how}{_BREAK_IN[language]}\b{rest}"):
        return None if re.search(_OWN[language], request.plain) else Call("harm")
    return None
