"""Requests for what is not on this machine: the weather, news, calls, messages, web sites, lamps.

A small model makes up tomorrow's weather and says that it has called; so these are answered plainly instead.
"""

import re
from typing import Final

from kazeia_desktop.llm.tools.base import Call
from kazeia_desktop.llm.tools.request import Request

_REST: Final = r"(?: .*)?"

_FORECAST_FR: Final = (
    r"(?:la|les|le|1) (?:meteo|previsions(?: meteo)?|bulletin meteo|temperature (?:dehors|exterieure|actuelle"
    r"|a l ' exterieur))(?!\w)(?: .*)?"
)
_WEATHER: Final = {
    "fr": (
        r"quel(?:le)? (?:temps|temperature) (?:fait - il|il fait|est - ce qu ' il fait|fera - t - il|il fera"
        r"|est - ce qu ' il fera|va - t - il faire|il va faire|est - ce qu ' il va faire|est prevue?|fait"
        r"|fera)\b" + _REST,
        r"(?:il fait|fait - il|il fera|il va faire) (?:quel(?:le)? (?:temps|temperature)"
        r"|combien(?: de degres)?)\b" + _REST,
        r"combien (?:fait - il|il fait|de degres (?:fait - il|il fait|fera - t - il))(?: de degres)?"
        r" (?:dehors|aujourd|a l ' exterieur)" + _REST,
        r"(?:quelle est|quelles sont|donne|donnes|dis|lis|regarde|consulte|tu connais|tu as|je (?:veux"
        r"|voudrais)(?: savoir)?)"
        rf" (?:- )?(?:moi )?{_FORECAST_FR}",
        rf"(?:connais - tu |as - tu |on a )?{_FORECAST_FR}#",
        r"(?:va - t - il|il va|est - ce qu ' il va|est - ce que ca va|ca va) (?:pleuvoir|neiger|geler"
        r"|faire (?:tres |assez )?(?:beau|froid|chaud|mauvais|gris|frais|doux))\b" + _REST + "#",
        r"(?:fera - t - il|fait - il|il fera|est - ce qu ' il (?:fera|fait)|il fait) (?:tres |assez )?(?:beau|froid"
        r"|chaud"
        r"|mauvais|gris|frais|doux)\b" + _REST + "#",
        r"(?:est - ce qu ' il pleu(?:t|vra)|pleut - il|pleuvra - t - il|il pleu(?:t|vra)|neige - t - il"
        r"|est - ce qu ' il neigera?)\b" + _REST + "#",
        r"(?:est - ce qu ' )?(?:il )?y (?:a - t - il|aura - t - il|a|aura) (?:de l ' orage|des orages|du soleil"
        r"|de la (?:pluie|neige)|du vent|du verglas) (?:aujourd|demain|ce|cet|cette|dehors|a|en)\b" + _REST + "#",
        r"(?:est - ce que )?(?:je dois|dois - je|je devrais|j ' ai besoin d '|ai - je besoin d '|il faut|faut - il)"
        r"(?: (?:que je )?(?:prendre|prenne|emporter))? ?(?:mon|1) parapluie\b" + _REST + "#",
    ),
    "en": (
        r"(?:what|how)(?: is|(?: ')? s|(?: ')? ll| will| is going to)? (?:the )?weather\b" + _REST,
        r"(?:the )?weather (?:forecast|report|today|tomorrow|for|in)\b" + _REST,
        r"(?:give me |read me |check |get )?the (?:weather|forecast)\b" + _REST + "#",
        r"(?:will it|is it going to|is it|does it) (?:be )?(?:rain|snow|freez|hot|cold|warm|sunny|windy)\w*\b"
        r"(?: (?:today|tonight|tomorrow|outside|this|now|right|in|on|at|later|next)\b.*)?#",
        r"how (?:hot|cold|warm) (?:is|will) it (?:be )?(?:outside|today|tonight|tomorrow|now|in)\b" + _REST,
        r"(?:do i need|should i (?:take|bring)|will i need) (?:an|my) umbrella\b" + _REST,
    ),
}  # fmt: skip
_NEWS: Final = {
    "fr": (
        r"(?:quelles sont|donne|donnes|dis|lis|raconte|resume|je (?:veux|voudrais))? ?(?:- )?(?:moi )?les"
        r" (?:dernieres )?(?:nouvelles|infos|informations|actualites|actus)"
        r"(?: (?:du jour|du monde|d ' aujourd ' hui|de ce (?:matin|soir)|de la journee|sportives|locales|en france))?",
        r"(?:quelle est|donne(?: - moi)?) l ' (?:actualite|actu)(?: du jour| d ' aujourd ' hui)?",
        r"(?:quoi de neuf dans (?:l ' actualite|le monde)|que se passe - t - il dans le monde"
        r"|qu ' est - ce qui se passe dans le monde)" + _REST,
        r"(?:qui a gagne|quel est le score d[eu]|quel est le resultat d[eu]|qui joue)\b.*\b(?:hier|ce soir"
        r"|cet apres - midi"
        r"|aujourd ' hui|en ce moment|ce week - end)" + _REST,
        r"(?:quel est|a combien est|donne - moi) (?:le cours|le prix actuel)"
        r" (?:du (?:bitcoin|petrole|dollar)|de l ' (?:or|euro|argent|action)|de la bourse|des actions)\b" + _REST,
        r"(?:est - ce qu ' )?(?:il )?y a(?: - t - il)? (?:des bouchons|des embouteillages|du trafic"
        r"|beaucoup de (?:circulation|trafic|monde sur la route))\b" + _REST + "#",
        r"(?:quel est l ' etat du trafic|comment est (?:la circulation|le trafic))" + _REST,
    ),
    "en": (
        r"(?:what(?: is|(?: ')? s)|what are|give me|tell me|read me|read)(?: in)? the (?:latest |top )?(?:news"
        r"|headlines)"
        r"(?: (?:today|this morning|tonight|of the day|for today|right now))?",
        r"(?:who (?:won|is winning|is playing)|what was the score of|what is the score of)\b.*\b(?:last night|yesterday"
        r"|today|tonight|right now|this weekend)" + _REST,
        r"(?:what is|what ' s|whats) the (?:price|stock price|exchange rate) of (?:bitcoin|gold|oil|the (?:dollar"
        r"|euro))\b"
        + _REST,
        r"(?:how is the traffic|is there (?:much |a lot of |any )?traffic)\b" + _REST,
    ),
}  # fmt: skip
_HELP_FR: Final = (
    r"(?:les (?:pompiers|secours|urgences|flics|gendarmes)|la police|le (?:samu|15|17|18|112|114|3114)"
    r"|(?:1|l ') ambulance)"
)
_HELP_EN: Final = r"(?:an ambulance|1 ambulance|the (?:police|fire (?:brigade|department)|ambulance|cops)|911|999|112)"
_EMERGENCY: Final = {
    "fr": (
        rf"(?:vite )?(?:,? ?)(?:appelle\w*|appeler|telephone\w* a|previens|prevenir|contacte\w*) {_HELP_FR}\b" + _REST,
    ),
    "en": (rf"(?:quick(?:ly)? )?(?:,? ?)(?:call|phone|dial|get|contact) {_HELP_EN}\b" + _REST,),
}  # fmt: skip
_KIN_FR: Final = (
    r"(?:(?:ma|mon|mes) \w+|(?:le|la|les|l ') ?(?:docteur|medecin|dentiste|garage|ecole|restaurant|pharmacie|bureau"
    r"|banque|plombier|taxi|voisins?|voisine|mairie|hopital|veterinaire|numero)|1 (?:taxi|medecin|docteur|plombier)"
    r"|(?!(?:moi|toi|ca|cela|nous|vous|le|la|les|lui|1|l|ce|cette|chat|a)\b)[^\W\d]+"
    r"(?= ?(?:[?!.,]|$| (?:maintenant|demain|ce soir|tout de suite|au telephone|sur|pour|et|s ')\b)))"
)
_KIN_EN: Final = (
    r"(?:my \w+|(?:the|a|1) (?:doctor|dentist|garage|school|restaurant|pharmacy|office|bank|plumber|taxi|cab|vet"
    r"|hospital)|(?!(?:me|it|him|her|us|them|the|a|an|1|this|that|off|out|for|on)\b)[^\W\d]+"
    r"(?= ?(?:[?!.,]|$| (?:now|tomorrow|tonight|on|for|and|please)\b)))"
)
_PHONE: Final = {
    "fr": (
        rf"(?:appelle|appeler|appelez|rappelle|rappeler) {_KIN_FR}" + _REST,
        r"(?:telephone\w*|passe\w*(?: 1)? (?:coup de fil|coup de telephone|appel)|donne\w* 1 coup de fil) (?:a|au"
        r"|aux)\b"
        + _REST,
        r"(?:compose\w*|appelle\w*|appeler) (?:le (?:numero )?)?\d[\d .]*",
    ),
    "en": (
        rf"(?:call|phone|ring|facetime) {_KIN_EN}" + _REST,
        r"(?:make a (?:phone )?call|give \w+(?: \w+)? a (?:call|ring))\b" + _REST,
        r"(?:dial|call) (?:the number )?\d[\d .]*",
    ),
}  # fmt: skip
_MAIL_FR: Final = (
    r"(?:sms|textos?|messages?(?: vocal| vocaux)?|mails?|e - mails?|emails?|courriels?|whatsapp|mms|photos?)"
)
_MAIL_EN: Final = r"(?:texts?|messages?|emails?|e - mails?|mails?|sms|whatsapps?)"
_MESSAGES: Final = {
    "fr": (
        rf"(?:envoie|envoies|envoyer|envoyez|renvoie|transmets|transmettre)(?: - (?:lui|leur|moi))? .*?\b{_MAIL_FR}\b"
        + _REST,
        r"(?:publie|publier|poste|poster|tweete|tweeter|partage|partager)\b.*\bsur"
        r" (?:facebook|instagram|twitter|x|tiktok|linkedin|internet|les reseaux)\b" + _REST,
        rf"(?:lis|lire|montre|ouvre|ouvrir|consulte|consulter|verifie|regarde)(?: - moi)? (?:mes|mon|ma|les)"
        rf"(?: (?:derniers|nouveaux))? (?:{_MAIL_FR}|messagerie|boite (?:mail|aux lettres|de reception)|agenda"
        r"|calendrier)\b" + _REST,
        rf"(?:est - ce que )?(?:j ' ai|ai - je)(?: recu)?(?: des| de| 1)?(?: nouveaux"
        rf"| nouveau)? {_MAIL_FR}\b" + _REST + "#",
        r"(?:ajoute|ajouter|note|noter|mets|mettre|inscris) .*\b(?:dans|sur|a) (?:mon|l '|le) ?(?:agenda|calendrier)\b"
        + _REST,
    ),
    "en": (
        rf"(?:send|forward|write and send)\b.*?\b{_MAIL_EN}\b" + _REST,
        r"text my \w+\b" + _REST,
        r"post\b.*\bon (?:facebook|instagram|twitter|x|tiktok|linkedin)\b" + _REST,
        rf"(?:read|show|open|check)(?: me)? my(?: (?:new|latest|last))? (?:{_MAIL_EN}|inbox|calendar"
        rf"|schedule)\b" + _REST,
        rf"(?:do i have|have i got|did i get) (?:any |an? |1 )?(?:new )?{_MAIL_EN}\b" + _REST,
        r"(?:add|put) .*\b(?:to|in|on) my (?:calendar|schedule)\b" + _REST,
    ),
}  # fmt: skip
_SITE: Final = (
    r"(?:youtube|google|facebook|netflix|instagram|twitter|tiktok|spotify|amazon|wikipedia|whatsapp|chrome|firefox"
    r"|gmail"
    r"|deezer)"
)
_THING_FR: Final = r"(?:1|des|du|de la|de l '|les|le|la|mes|ma|mon|\d+)"
_INTERNET: Final = {
    "fr": (
        r"(?:cherche|chercher|recherche|rechercher|regarde|regarder|trouve|trouver|verifie|verifier|va|aller|navigue"
        r"|consulte|consulter|fais 1 recherche|faire 1 recherche)(?: - moi)?\b.*\b(?:sur|dans)"
        rf" (?:internet|le web|le net|la toile|{_SITE})\b" + _REST,
        rf"(?:ouvre|ouvrir|lance|lancer|demarre|mets) {_SITE}\b" + _REST,
        r"(?:connecte - toi|te connecter) a (?:internet|1 site|mon compte)\b" + _REST,
        rf"(?:commande|commander|achete|acheter)(?: - moi| moi)? {_THING_FR} .*",
        r"(?:reserve|reserver)(?: - (?:moi|nous))? (?:1|des|la|le|\d+) (?:table|billets?|chambre|places?|hotel|vol"
        r"|train|taxi"
        r"|restaurant|voiture|rendez - vous)\b" + _REST,
        r"(?:telecharge|telecharger)\b(?! (?:c ' est|ca veut))" + _REST,
    ),
    "en": (
        r"(?:search|look|browse|google|check|find|go)\b.*\b(?:on|in)?(?: ?the)? (?:web|internet|net)\b" + _REST,
        rf"(?:search|look|check|find)\b.*\bon {_SITE}\b" + _REST,
        rf"(?:open|launch|start|go to) {_SITE}\b" + _REST,
        r"(?:order|buy)(?: me| us)? (?:a|an|some|the|1|2|3|\d+) .*",
        r"(?:book|reserve)(?: me| us)? (?:a|an|the|some|1|2|\d+) (?:table|tickets?|room|seats?|hotel|flight|train"
        r"|taxi|car"
        r"|restaurant|appointment)\b" + _REST,
        r"download\b" + _REST,
    ),
}  # fmt: skip
_HOUSE_FR: Final = (
    r"(?:lumieres?|lampes?|chauffage|thermostat|tele|television|tv|radio|volets?|stores?|climatisation|clim|ventilateur"
    r"|four|aspirateur|cafetiere|machine a (?:laver|cafe)|wifi|wi - fi|bluetooth|camera|porte|fenetre|portail|garage"
    r"|ordinateur"
    r"|telephone|ecran|alarme de la maison|prise)"
)
_HOUSE_EN: Final = (
    r"(?:lights?|lamps?|heating|heater|thermostat|tv|television|radio|blinds?|shutters?|air conditioning|fan|oven"
    r"|vacuum"
    r"|coffee (?:machine|maker)|wifi|wi - fi|bluetooth|camera|door|window|gate|garage|computer|phone|screen)"
)
_DEVICES: Final = {
    "fr": (
        r"(?:allume|allumer|eteins|eteindre|ouvre|ouvrir|ferme|fermer|baisse|baisser|monte|monter|augmente|augmenter"
        r"|diminue"
        r"|diminuer|regle|regler|active|activer|desactive|desactiver|branche|debranche|demarre|demarrer|verrouille)"
        rf" (?:la|le|les|l '|1|ma|mon|mes|toutes les) ?{_HOUSE_FR}\b" + _REST,
        r"(?:mets|mettre|lance|lancer|joue|jouer)(?: - (?:moi|nous))?(?: 1 peu)? (?:de la musique|la (?:radio"
        r"|musique|tele|television)"
        r"|1 (?:chanson|film|podcast|album|disque|serie)|du (?:jazz|rock|rap|classique|piano)|ma playlist"
        r"|1 playlist)\b" + _REST,
        r"(?:prends|prendre) 1 photo\b" + _REST,
    ),
    "en": (
        r"(?:turn|switch)(?: on| off| up| down)? (?:the |my |all the )?" + _HOUSE_EN + r"\b" + _REST,
        r"(?:open|close|lock|unlock|start|stop|dim) (?:the |my )" + _HOUSE_EN + r"\b" + _REST,
        r"(?:play|put on)(?: me| us)? (?:some |the |a |my )?(?:music|song|songs|radio|jazz|rock|podcast|playlist"
        r"|movie|film"
        r"|album)\b" + _REST,
        r"take a (?:photo|picture|selfie)\b" + _REST,
    ),
}  # fmt: skip

_RULES: Final = (
    ("emergency", _EMERGENCY),
    ("weather", _WEATHER),
    ("news", _NEWS),
    ("messages", _MESSAGES),
    ("phone", _PHONE),
    ("internet", _INTERNET),
    ("devices", _DEVICES),
)
_QUESTION: Final = "#"  # at a pattern's end: only with a question mark; as a statement it is talk

_KNOWLEDGE: Final = {
    "fr": r"\b(?:sur (?:mars|venus|jupiter|saturne|mercure|neptune|uranus|pluton|titan|la lune|le soleil)|en general"
    r"|en moyenne"
    r"|d ' habitude|habituellement|normalement|souvent|en (?:hiver|ete|automne)|au printemps|en (?:janvier|fevrier"
    r"|mars|avril"
    r"|mai|juin|juillet|aout|septembre|octobre|novembre|decembre)|dans (?:l ' histoire|le film|le livre|le roman"
    r"|la chanson))\b",
    "en": r"\b(?:on (?:mars|venus|jupiter|saturn|mercury|neptune|uranus|pluto|titan|the moon|the sun)|in general"
    r"|on average"
    r"|usually|normally|typically|in (?:winter|summer|spring|autumn|january|february|march|april|may|june|july"
    r"|august|september"
    r"|october|november|december)|in the (?:story|film|movie|book|novel|song))\b",
}  # fmt: skip
"""Such questions are about the world, not about today."""


def elsewhere_call(request: Request) -> Call | None:
    """The call that says what Kazeia cannot reach: what: "weather", "news", "phone", "emergency", "messages",
    "internet" or "devices"."""
    language = request.language
    asks = "?" in request.text
    for what, patterns in _RULES:
        for pattern in patterns[language]:
            if pattern.endswith(_QUESTION) and not asks:
                continue
            if request.whole(pattern.rstrip(_QUESTION)):
                general = what in ("weather", "news") and re.search(_KNOWLEDGE[language], request.low)
                return None if general else Call("elsewhere", {"what": what})
    return None
