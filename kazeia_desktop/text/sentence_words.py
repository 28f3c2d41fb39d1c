"""Words that tell whether a full stop ends a sentence. French and English are known together."""

from typing import Final


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


TITLES: Final = _words(
    "M MM Mr Mrs Ms Mme Mmes Mlle Mlles Dr Drs Pr Prs Me Mes Mgr Mgrs St Ste Sts Stes Prof Gen Gén Col Cdt Cap Capt "
    "Lt Sgt Maj Hon Gov Sen Rep Rev Fr Sr Mt"
)
"""Abbreviations before a name, as written: "5 m." is no title."""

NEVER_LAST: Final = _words(
    "cf av bd bld boul ex vs op ibid id éd éds e.g i.e env approx apr prox p.ex c.-à-d c.à.d càd n.b p.s p.-s viz al "
    "fam syn ant pl fém masc adj adv litt trad hab dir coll resp rév dept univ assoc asst"
)
"""In lower case: whatever follows, the sentence goes on."""

BEFORE_NUMBER: Final = _words(
    "p pp art arts sec chap ch fig figs vol t n no nos num réf ref tél tel éq eq sect § al l v vv ex "
    "jan feb mar apr jun jul aug sep sept oct nov dec janv févr fév avr juil déc"
)
"""In lower case: only before a number. "n. 12", but "Non, sept. Puis huit."."""

NAME_ENDS: Final = _words("inc ltd co corp jr sr bros llc ph.d m.d b.a m.a d.c a.m p.m a.d b.c b.c.e c.e")
"""In lower case: may end a sentence or not; the word that follows decides."""

LETTER_NOUNS: Final = _words(
    "vitamine vitamines vitamin plan option options classe class type types groupe group groupes point points partie "
    "part réponse answer lettre letter question section annexe appendix zone niveau level catégorie category langage "
    "language hépatite hepatitis grade rang case cas ligne line étape step modèle model programme program produit "
    "choix choice série series note bâtiment building salle room quai axe axis facteur factor variable valeur value "
    "hypothèse ensemble set en à au le la du the to and et ou or"
)
"""Nouns with a letter for a name: after "plan B." a sentence ends, after "J." a name goes on."""

STARTERS: Final = _words(
    "Le La Les L Un Une Des Du De D Il Elle Ils Elles On Je J Tu Nous Vous Ce C Cet Cette Ces Cela Ça Ceci Mais Et Ou "
    "Donc Car Si Son Sa Ses Mon Ma Mes Ton Ta Tes Leur Leurs Notre Votre Nos Vos Dans En À Au Aux Pour Par Avec Sans "
    "Sur Sous Puis Ensuite Enfin Alors Après Avant Quand Lorsque Comme Quel Quelle Qui Que Qu Quoi Où Y Voici Voilà "
    "Merci Oui Non Ainsi Cependant Pourtant Chaque Tout Tous Toutes Plusieurs Certains Aujourd Depuis Pendant Entre "
    "Très Bien Bon Bonne Faites Prenez Notez Note "
    "The A An It Its He She They We I You Your My Our Their His Her This That These Those There Here In On At For From "
    "With Without By And But Or So If When While After Before Because However Then Also As What Who Why How Where "
    "Yes No Please Let Not Now Some Many Most All Each To Of"
)
"""Words that begin sentences, as written at their head (before an apostrophe)."""

CONJUNCTIONS: Final = _words(
    "et ou mais car donc puis parce puisque lorsque quand comme qui dont où afin pour avec sans tandis ainsi alors "
    "and or but because so then which who where when while that with without for although though since unless"
)
"""Before these a sentence that is too long may be cut."""
