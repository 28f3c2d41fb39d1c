"""Where a reply is cut, whatever the size of the pieces in which it comes."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.text.clause_splitter import LONGEST_CLAUSE, ClauseSplitter

pytestmark = pytest.mark.unit


def split(text: str, splitter: ClauseSplitter, piece: int = 1) -> list[str]:
    clauses: list[str] = []
    for at in range(0, len(text), piece):
        clauses += splitter.push(text[at : at + piece])
    return clauses + splitter.finish()


def sentences(text: str, language: str = "fr", piece: int = 1) -> list[str]:
    return split(text, ClauseSplitter(False, language, max_characters=None), piece)


# A "¦" marks each expected cut; the space beside it belongs to neither clause.
FRENCH = [
    "M. Dupont et Mme Martin arrivent.¦Ils sont en retard.",
    "Voir M.\u00a0Dupont.¦Puis Mme\u00a0Noir.¦Fin.",
    "Le Dr. Morel et Mgr. Paul.¦Merci.",
    "Prenez la sortie n° 12, puis l'av. de la Gare.¦C'est tout.",
    "Pi vaut 3,14.¦Et e vaut 2.718 environ.",
    "La version v1.2.3 est là.¦Puis la 2.0.¦Fin.",
    "À 14h30 le 03.05.2026.¦À demain !",
    "Vraiment\u202f?¦Oui\u202f!¦Voici\u00a0: allons-y.",
    "Vraiment ?¦Oui !¦Bien.",
    "Quoi ?!¦Ah !!!¦Bon.",
    "Il a dit : «\u00a0Bonjour. Ça va\u202f?\u00a0»¦Puis il est parti.",
    "« Bonjour ! » dit-il.¦« Ça va ? »¦Il part.",
    'Il dit : "Bonjour. Ça va ?"¦Puis il part.',
    "Il dit “Oui. Non.” et part.¦Fin.",
    "(Voir plus bas.)¦Puis viens.",
    "Un mot (p. 3. Oui) ici.¦Fin.",
    "Attendez... je cherche.¦Voilà… c'est fait.",
    "Attendez...¦Je cherche.",
    "Voir https://www.exemple.fr/a.b?c=1.¦Bonne lecture.",
    "Écrivez à jean.paul@exemple.fr.¦Merci.",
    "Des pommes, etc. sont là.¦Bien.",
    "Des pommes, etc.¦Puis des poires.",
    "Né en 100 av. J.-C. à Rome.¦Il est mort.",
    "Né en 100 av. J.-C.¦Il est mort.",
    "La S.N.C.F. est en grève.¦Les U.S.A. aussi.",
    "Il vit aux U.S.A.¦Il est bien.",
    "Prenez p. ex. Paris.¦Et Lyon.",
    "Voir p. 12, chap. IV et art. 5.¦Fin.",
    "J. Dupont est là.¦J. R. R. Tolkien aussi.",
    "John F. Kennedy est mort.¦C'est vrai.",
    "Prenez la vitamine C.¦Elle est utile.",
    "De A à Z.¦Voilà.",
    "Elle est née en 1980.¦Son frère en 1975.",
    "Il en reste sept.¦Puis huit.",
    "Super 😀!¦On y va 🚀.¦D'accord.",
    "Super !😀¦Bien.",
    "Ça coûte 19,99 €.¦Pas cher.",
    "Il fait 22,1 °C et 45 %.¦C'est doux.",
    "Bonjour !¦Comment ça va ?",
    "bonjour.¦je suis là.¦merci.",
    "**Attention.**¦*Danger.*¦Non.",
    "# Titre\n\n¦Texte.¦Suite.",
    "Voici :\n¦1. **Un** : a.\n¦2. Deux\n¦- Trois",
    "1. Pommes\n¦2. Poires\n¦10. Fin",
    "Voici : 1. Pommes.¦2. Poires.¦3. Prunes.",
    "a. Pommes\n¦b. Poires",
    "IV. Titre\n¦Texte",
    "Le code :\n¦```python\nx = 1. A\n\ny\n```\n¦Voilà.¦Fin.",
    "Voici ¦```python\nx. Y\n```\n¦Fin.",
    "````\n```\nA. B\n```\n````\n¦Fin.",
    "~~~\nA. B\n~~~\n¦Fin.",
    "```js\nA. B\n```¦Suite.¦Fin.",
    "```md\n```js\nA. B\n```\n¦Fin.",
    "Jamais fermé :\n¦```\nA. B\nC. D",
    "Code : ```x = 1. B``` et fin.¦Bon.",
    "Utilise `a. B` ici.¦Puis `c`.¦Fin.",
    "Un ` perdu.¦Fin.",
    "| a. B | c! D |\n¦|---|---|\n¦| 1 | 2 |\n¦Fin.",
    "un\r\n¦deux\u2028¦trois",
    "Il est 3 h. env. puis non.¦Fin.",
    "Une smiley :( Voilà.¦Fin.",
    "– Oui.¦– Non.",
    "Ouvrir « sans fermer. Oui.",
    "日本語。¦はい。",
]
ENGLISH = [
    "Mr. Smith paid $29.¦That's 3.5 times more.",
    "Dr. Who vs. Mr. Xu.¦Fig. 3 shows.",
    "She lives in the U.S. Army base.¦He left the U.S.¦The end.",
    "At 5 p.m. Monday we go.¦It is 5 p.m.¦Then go.",
    "No. 5 is alive.¦He said no.¦Then left.",
    "Apple Inc. Japan is here.¦I like Apple Inc.¦The firm.",
    "E.g. Paris, i.e. France.¦Yes.",
    "See p. 5.¦See Sec. 4.¦End.",
    "He has a Ph.D. in maths.¦She too.",
    "“Go.”¦She left.¦“Stay!”¦He stayed.",
]


def cases(rows: list[str]) -> list[tuple[str, list[str]]]:
    made = []
    for row in rows:
        parts = row.split("¦")
        text = parts[0]
        for part in parts[1:]:
            text += part if text[-1].isspace() or row.startswith("日") else " " + part
        made.append((text, [part.strip() for part in parts]))
    return made


@pytest.mark.parametrize(("text", "expected"), cases(FRENCH))
def test_french(text: str, expected: list[str]) -> None:
    for piece in (1, 3, len(text)):
        assert sentences(text, "fr", piece) == expected


@pytest.mark.parametrize(("text", "expected"), cases(ENGLISH))
def test_english(text: str, expected: list[str]) -> None:
    for piece in (1, 3, len(text)):
        assert sentences(text, "en", piece) == expected


def test_a_missing_space_after_a_question() -> None:
    assert sentences("Bonjour !Comment ça va ?Bien. page?Q=1 a!b") == [
        "Bonjour !",
        "Comment ça va ?",
        "Bien. page?Q=1 a!b",
    ]


def test_the_cut_waits_for_the_next_visible_character_only() -> None:
    splitter = ClauseSplitter(False)
    assert splitter.push("Il vaut 3") == []
    assert splitter.push(".") == []
    assert splitter.push(" ") == []
    assert splitter.push("E") == ["Il vaut 3."]
    assert splitter.push("t puis\n") == ["Et puis"]
    assert splitter.finish() == []


def test_early_comma_cuts_the_first_clause_only() -> None:
    text = "Bien sûr, je vous explique, et voilà. Ensuite, on voit, puis on part."
    assert split(text, ClauseSplitter(True)) == [
        "Bien sûr, je vous explique,", "et voilà.", "Ensuite, on voit, puis on part.",
    ]  # fmt: skip
    assert split(text, ClauseSplitter(False))[0] == "Bien sûr, je vous explique, et voilà."


@pytest.mark.parametrize(
    "text",
    [
        "Oui, bien sûr.",
        "Les nombres sont 1, 2, 3 et 4.",
        "Il vaut bien environ 3,14 je crois.",
        "Il a dit « tout va bien, mon ami ».",
        "On dit (par exemple ici, ou là) cela.",
    ],
)
def test_early_comma_leaves_alone(text: str) -> None:
    assert split(text, ClauseSplitter(True)) == [text]


def test_early_cut_at_a_colon_before_a_list() -> None:
    assert split("Voici les trois étapes\u00a0: 1. Cassez. 2. Battez.", ClauseSplitter(True)) == [
        "Voici les trois étapes\u00a0:", "1. Cassez.", "2. Battez.",
    ]  # fmt: skip


LONG = (
    "Je te propose de commencer par choisir la destination, puis les dates, ensuite le budget ; enfin nous verrons "
    "les activités qui te plaisent car il y en a beaucoup dans cette région du sud de la France où il fait beau"
)


def test_a_long_sentence_is_cut_at_its_best_pause() -> None:
    clauses = split(LONG, ClauseSplitter(False))
    assert clauses[0].endswith("ensuite le budget ;")
    assert all(len(clause) <= LONGEST_CLAUSE for clause in clauses)
    assert sentences(LONG) == [LONG]


def test_a_long_sentence_without_signs_is_cut_before_a_conjunction() -> None:
    clauses = split("mot " * 30 + "et " + "mot " * 40, ClauseSplitter(False))
    assert clauses[1].startswith("et mot")


def test_a_long_quote_is_cut_at_its_sentences() -> None:
    clauses = split("Il a dit : « " + "Je suis là pour toi. " * 20 + "» Fin.", ClauseSplitter(False))
    assert len(clauses) > 2
    assert all(clause.endswith((".", "»")) for clause in clauses)
    assert max(map(len, clauses)) <= LONGEST_CLAUSE + 20


def test_soft_cuts_keep_numbers_and_french_signs_together() -> None:
    text = "prix 1 234 567 € ? " * 30
    for clause in split(text, ClauseSplitter(False, max_characters=40)):
        assert clause[0] not in "?!:;»€"
        assert "1 234 567 €" in clause or "567" not in clause


def test_finish_makes_it_new() -> None:
    splitter = ClauseSplitter(True)
    first = split(LONG, splitter)
    assert split(LONG, splitter) == first
    assert splitter.finish() == []


SIGNS = (
    'a M. Dr. . ! ? … ... , ; : « » ( ) [ ] " ` `` ``` ~~~ * ** Il et mais é J.-C. S.N.C.F. 3,14 😀 '
    "http://a.b/c U.S. The longueur # 。 12 B. IV |"
)
BLANKS = [" ", "  ", "\n", "\r\n", "\u00a0", "\u202f", "- ", "1. ", "plan ", "p. ex.", "| a"]
TOKENS = st.sampled_from([*SIGNS.split(" "), *BLANKS])
TEXTS = st.lists(TOKENS, max_size=80).map("".join) | st.text(max_size=60)


@given(text=TEXTS, early=st.booleans(), language=st.sampled_from(["fr", "en"]), limit=st.sampled_from([None, 20, 200]),
       cuts=st.lists(st.integers(0, 300), max_size=8))  # fmt: skip
def test_pieces_do_not_matter_and_nothing_is_lost(
    text: str, early: bool, language: str, limit: int | None, cuts: list[int]
) -> None:
    def made() -> ClauseSplitter:
        return ClauseSplitter(early, language, limit)

    whole = made()
    expected = whole.push(text) + whole.finish()
    assert split(text, made(), 1) == expected
    pieces = made()
    got: list[str] = []
    at = 0
    for cut in [*sorted(c for c in cuts if c < len(text)), len(text)]:
        got += pieces.push(text[at:cut])
        at = cut
    assert got + pieces.finish() == expected
    assert "".join("".join(expected).split()) == "".join(text.split())
    assert all(clause and clause == clause.strip() for clause in expected)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        ".",
        ". ",
        "a. ",
        "(a ",
        "`",
        "` ",
        '"a ',
        "1, ",
        "```\n",
        "|",
        "« ",
        "**",
        "M. ",
        "~",
        "J.-",
        ".😀",
        "!",
        "\n",
        "x! ",
    ],
)
def test_time_is_linear_in_any_text(unit: str) -> None:
    """10,000 characters one at a time; what looked back from each to the start took minutes."""
    text = (unit * 10_000)[:10_000]
    started = time.process_time()
    split(text, ClauseSplitter(True))
    sentences(text)
    assert time.process_time() - started < 3.0
