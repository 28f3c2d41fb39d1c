"""Shortcuts as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.settings.base import Unfit
from kazeia_desktop.settings.keys import canonical
from kazeia_desktop.settings.schema import Settings, ShortcutSettings
from kazeia_desktop.settings.store import with_value

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Ctrl+N", "Ctrl+N"), (" shift + ctrl+f ", "Ctrl+Shift+F"), ("Ctrl+Maj+F", "Ctrl+Shift+F"), ("f12", "F12"),
        ("Échap", "Esc"), ("ctrl++", "Ctrl++"), ("Alt+Suppr", "Alt+Del"), ("Super+Espace", "Meta+Space"), ("", ""),
        ("Ctrl+,", "Ctrl+,"),
    ],
)  # fmt: skip
def test_names_in_both_languages_have_one_form(typed: str, kept: str) -> None:
    assert canonical(typed) == kept


@pytest.mark.parametrize("typed", ["g", "Shift+A", "Space", "Left", "Return", "5"])
def test_what_writing_needs_is_refused(typed: str) -> None:
    with pytest.raises(Unfit, match="needed for writing"):
        canonical(typed)


@pytest.mark.parametrize("typed", ["Ctrl", "Ctrl+Ctrl+A", "F25", "Ctrl+é", "N+Ctrl", "Ctrl+N, Ctrl+B", "Strg+Foo", "+"])
def test_what_is_no_shortcut_is_refused(typed: str) -> None:
    with pytest.raises(Unfit):
        canonical(typed)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused_and_what_is_kept_reads_as_itself(text: str) -> None:
    try:
        kept = canonical(text, may_be_space=True)
    except Unfit:
        return
    assert canonical(kept, may_be_space=True) == kept


def test_a_conflict_is_refused_in_one_plain_line() -> None:
    with pytest.raises(SettingsError) as refused:
        with_value(Settings(), "shortcuts.new", "ctrl+m")
    assert str(refused.value) == (
        "Ctrl+M is the shortcut of something else already: choose another one, or free it first."
    )
    assert refused.value.told_in("fr").startswith("Ctrl+M est déjà")


def test_a_shortcut_can_be_given_up_and_taken_by_another() -> None:
    freed = with_value(Settings(), "shortcuts.mute", "")
    assert with_value(freed, "shortcuts.new", "Ctrl+M").shortcuts.new == "Ctrl+M"


def test_only_interrupting_may_be_space_alone() -> None:
    assert ShortcutSettings().interrupt == "Space"
    with pytest.raises(SettingsError):
        with_value(with_value(Settings(), "shortcuts.interrupt", "F4"), "shortcuts.stop", "Space")
