"""Markdown, HTML, tables, lists and code as small models write them."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("- **Gras** et *italique* et ***les deux***", "Gras et italique et les deux"),
    ("Du __souligné__, du _penché_, du ~~barré~~.", "Du souligné, du penché, du barré."),
    ("***Attention*** **: ne pas", "Attention: ne pas"),
    ("Ce texte a une étoile ** perdue", "Ce texte a une étoile perdue"),
    ("texte avec * étoile", "texte avec étoile"),
    ("## Titre **gras** ##", "Titre gras"),
    ("# Recette\n\nUne tarte. Elle est bonne", "Recette. Une tarte. Elle est bonne"),
    ("[le site](https://a.b/c) et ![une image](x.png)", "le site et une image"),
    ("Voir [1] et [^2] et [doc][ref].", "Voir et et doc."),
    ("Tapez `pip install numpy` puis **`python main.py`**.", "Tapez pip install numpy puis python main point py."),
    ("Utilise `print(x)` ou `ma_variable` puis `maFonction()`.", "Utilise print x ou ma variable puis ma Fonction."),
    ("`for i in range(len(une_liste)): print(une_liste[i])` boucle.", "extrait de code boucle."),
    ("```python\nprint(1)\n```\nVoilà.", "extrait de code. Voilà."),
    ("```\nun bloc jamais fermé", "extrait de code"),
    ("```", "extrait de code"),
    ("Voici :\n```js\nlet x = 1;\n```\nEt après", "Voici: extrait de code. Et après"),
    ("~~~\ncode\n~~~", "extrait de code"),
    ("Ouiii~~~ super", "Ouiii super"),
    ("| Nom | Âge |\n|---|---|\n| Léa | 12 |", "Nom, Âge. Léa, douze."),
    ("|:---|---:|", ""),
    ("| a. b | ✅ |", "a. b"),
    ("Nom | Prix\n--- | ---\nThé | 3 €", "Nom, Prix. Thé, trois euros."),
    ("---", ""),
    ("***", ""),
    ("* * *", ""),
    ("- [x] fait", "fait"),
    ("- [ ] à faire", "à faire"),
    ("> citation", "citation"),
    ("> > double", "double"),
    ("1. Cassez deux œufs.", "un, Cassez deux œufs."),
    ("2) Ajoutez", "deux, Ajoutez"),
    ("a) cela", "a, cela"),
    ("• un point", "un point"),
    ("– Bonjour, dit-il.", "Bonjour, dit-il."),
    ("- pommes\n- poires\n- 3 prunes", "pommes, poires, trois prunes"),
    (
        "1. **Préchauffez** le four à 180 °C.\n2. Mélangez :\n   - 20 g de sel\n\nBon appétit ! 😋",
        "un, Préchauffez le four à cent quatre-vingts degrés. deux, Mélangez: vingt grammes de sel. Bon appétit!",
    ),
    ("Bonjour<br>le <b>monde</b>", "Bonjour, le monde"),
    ("Toi &amp; moi&nbsp;: &eacute;t&eacute;", "Toi et moi: été"),
    ("Fin<|im_end|>", "Fin"),
    ("<!-- rien -->Oui", "Oui"),
    ("Une \\*étoile\\* échappée", "Une étoile échappée"),
    ("ligne une\n\nligne deux", "ligne une. ligne deux"),
]

ENGLISH = [
    ("**Bold** and `code_x`:", "Bold and code x:"),
    ("Here's the list:\n- **Apples**: 3 lbs\n- Milk", "Here's the list: Apples: three pounds, Milk"),
    ("```c\nint x;\n```", "code snippet"),
    ("Use `os.path.join(a, b, c, d, e, f, g, h, i)` here", "Use code snippet here"),
    ("1. Step one", "one, Step one"),
    ("### Steps ###", "Steps"),
    ("| A | B |\n|---|---|\n| 1 | 2 |", "A, B. one, two."),
    ("<p>Hi</p>", "Hi"),
    ("[docs](http://x.y) and <https://example.com>", "docs and example dot com"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
