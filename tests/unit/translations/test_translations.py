"""Every sentence that Kazeia shows has its French, with the same fields."""

import ast
import re
import string
import tomllib
from pathlib import Path

import pytest

import kazeia_desktop
from kazeia_desktop.errors import KazeiaError, SettingsError
from kazeia_desktop.translations import translate

pytestmark = pytest.mark.unit

PACKAGE = Path(kazeia_desktop.__file__).parent
SHOWING = {"Notice", "Failed", "Told", "Unfit", "tr", "translate", "UsageError", "Cancelled"}


def _shows(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return name in SHOWING or (name.endswith("Error") and issubclass_of_ours(name))


def issubclass_of_ours(name: str) -> bool:
    import kazeia_desktop.errors as errors

    kind = getattr(errors, name, None)
    return isinstance(kind, type) and issubclass(kind, KazeiaError)


def templates() -> dict[str, str]:
    """English template -> where it stands."""
    found: dict[str, str] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args and _shows(node):
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    found[first.value] = f"{file.relative_to(PACKAGE)}:{node.lineno}"
    return found


def catalogue() -> dict[str, str]:
    merged: dict[str, str] = {}
    for file in (PACKAGE / "translations" / "fr").glob("*.toml"):
        for english, french in tomllib.loads(file.read_text("utf-8")).items():
            assert english not in merged, f"twice: {english}"
            merged[english] = french
    return merged


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def test_the_search_finds_templates() -> None:
    assert "There is no setting {key!r}: `kazeia settings show` lists them." in templates()


def test_every_template_has_its_french() -> None:
    known = catalogue()
    missing = {t: where for t, where in templates().items() if t not in known and any(c.isalpha() for c in t)}
    assert not missing


@pytest.mark.parametrize(("english", "french"), sorted(catalogue().items()))
def test_the_french_has_the_same_fields_and_typography(english: str, french: str) -> None:
    assert fields(english) == fields(french)
    plain = re.sub(r"\{[^}]*\}", "x", french).replace("://", "")
    assert not re.search(r" [?!;:»]|« ", plain), f"an ordinary space beside a sign: {french}"
    assert not re.search(r"[^\u202f\u00a0?!…][?!;]", plain), f"no space before a sign: {french}"


def test_translate_fills_fields() -> None:
    assert translate("You", "fr") == "Vous"
    assert translate("Not {a} there", "fr", a=1) == "Not 1 there"
    assert (
        SettingsError("There is no setting {key!r}: `kazeia settings show` lists them.", key="x")
        .told_in("fr")
        .startswith("Il n'y a pas de réglage 'x'")
    )


def test_numbers_have_a_comma_in_french_where_the_template_does_not_say_how() -> None:
    assert translate("{a} {b} {c:.1f} {d}", "fr", a=1.2, b=3, c=4.5, d="6.7") == "1,2 3 4.5 6.7"
    assert translate("{a}", "en", a=1.2) == "1.2"
