"""The page that compares two voices: choices, making, hearing, blind rounds."""

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QLabel

from kazeia_desktop.errors import AudioDeviceError, Cancelled, InferenceError
from kazeia_desktop.events import State, StateChanged
from kazeia_desktop.gui.compare import work
from kazeia_desktop.gui.compare.blind import Blind, Round, chance
from kazeia_desktop.gui.compare.work import Pair, Workshop
from kazeia_desktop.gui.pages import compare_page
from kazeia_desktop.gui.pages.compare_page import ComparePage
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor, Editor
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.comparing import Spoken
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.presets import PresetStore, preset_of
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value
from kazeia_desktop.tts.base import SpeechFigures
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui


def spoken(name: str, own: bool = True, load_ms: float | None = 850.0) -> Spoken:
    sound = np.sin(np.arange(24_000) / 40).astype(np.float32) * 0.3
    figures = SpeechFigures(12, 1.17, 30.0, 41.5, 22.0, 0) if own else None
    return Spoken(name, sound, 24_000, load_ms, 402.0, 1.17 if own else 0.3, figures, None)


class Shop:
    """Stands for the voices and the loudspeaker."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Settings, Settings]] = []
        self.played: list[str] = []
        self.hold = threading.Event()
        self.hold.set()
        self.error: Exception | None = None
        self.play_error: Exception | None = None
        self.waited = False

    def pair(
        self,
        paths: Paths,
        text: str,
        sides: tuple[Settings, Settings],
        busy: threading.Event,
        cancel: CancelToken,
        report: Callable[[tuple[int, float]], None],
    ) -> Pair:
        self.asked.append((text, *sides))
        report((0, 1.5))
        while not self.hold.wait(0.01):
            cancel.raise_if_set()
        self.waited = busy.is_set()
        work.wait_while(busy, cancel)
        if self.error is not None:
            raise self.error
        one, other = spoken("own, a"), spoken("own, b", load_ms=None)
        return Pair((one, other), (work.outline(one, 0.3), work.outline(other, 0.3)), 0.25)

    def play(self, side: Spoken, settings: Settings, cancel: CancelToken) -> None:
        self.played.append(side.voice)
        if self.play_error is not None:
            raise self.play_error
        while not self.hold.wait(0.01):
            if cancel.is_set():
                raise Cancelled


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("KAZEIA_HOME", str(tmp_path))
    yield tmp_path


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Shop:
    made = Shop()
    monkeypatch.setattr(compare_page, "WORKSHOP", Workshop(made.pair, made.play))
    return made


def page_of(opened: Opener, shop: Shop) -> tuple[Opened, ComparePage]:
    one = opened()
    one.window.resize(1300, 900)
    one.window.show_page("compare")
    page = one.window.page
    assert isinstance(page, ComparePage)
    page._workshop = Workshop(shop.pair, shop.play)
    one.settle()
    one.until(lambda: page.sides[1].fields["tts.voice"].editor.combo.findText("Siwis") >= 0)
    return one, page


def made(opened: Opener, shop: Shop) -> tuple[Opened, ComparePage]:
    one, page = page_of(opened, shop)
    page.make.click()
    one.until(page.result.isVisible)
    return one, page


def choose(editor: Editor, title: str) -> None:
    assert isinstance(editor, ChoiceEditor)
    at = editor.combo.findText(title)
    assert at >= 0, title
    editor.combo.setCurrentIndex(at)
    editor.combo.activated.emit(at)


def test_both_are_made_with_what_was_chosen_and_one_seed(opened: Opener, shop: Shop) -> None:
    one, page = page_of(opened, shop)
    assert not page.result.isVisible() and not page.cancel.isVisible()
    choose(page.sides[0].preset, "Posée")
    choose(page.sides[1].fields["tts.voice"].editor, "Siwis")
    choose(page.sides[1].more, "Débit")
    speed = page.sides[1].fields["tts.speed"]
    speed.editor.show_value(1.5)
    speed.editor.edited.emit()
    page.sentence.combo.setEditText("Une phrase à moi.")
    page.seed.show_value(77)
    page.make.click()
    one.until(page.result.isVisible)
    ((text, a, b),) = shop.asked
    assert text == "Une phrase à moi."
    assert (a.tts.seed, b.tts.seed) == (77, 77)
    assert a.tts.speed == 0.9 and a.tts.text_mode == "whole" and a.tts.voice == ""
    assert b.tts.speed == 1.5 and b.tts.voice == "ff_siwis" and b.tts.text_mode == "streamed"
    assert not one.engine.called("apply") and not one.host.saved  # the conversation's voice stays


def test_the_figures_stand_side_by_side_in_both_languages(opened: Opener, shop: Shop) -> None:
    one, page = made(opened, shop)
    rows = {name: (a, b) for name, a, b in page.table.rows}
    assert rows["Voix"] == ("own, a", "own, b")
    assert rows["Chargement du modèle"] == ("850\u202fms", "le même modèle")
    assert rows["Locuteur, par trame"] == ("30,0\u202fms", "30,0\u202fms")
    assert rows["Codes égaux"] == ("25\u202f%", "–")
    assert "plus lent que le temps réel" in rows["Temps par seconde de son"][0]
    assert len([label for label in page.table.findChildren(QLabel) if label.text()]) >= 20
    one.window.change("appearance.language", "en")
    assert "Equal codes" in [row[0] for row in page.table.rows]
    assert page.sentence.value().startswith("Hello")


def test_progress_and_cancel(opened: Opener, shop: Shop) -> None:
    one, page = page_of(opened, shop)
    shop.hold.clear()
    page.make.click()
    one.until(lambda: "1,5\u202fs" in page.status.text())
    assert page.cancel.isVisible() and page.progress.isVisible() and not page.make.isEnabled()
    page.cancel.click()
    one.until(lambda: not page.cancel.isVisible())
    assert page.make.isEnabled() and not page.result.isVisible() and not page.status.isVisible()


def test_the_conversation_goes_first(opened: Opener, shop: Shop) -> None:
    one, page = page_of(opened, shop)
    shop.hold.clear()
    page.make.click()
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: "conversation passe d'abord" in page.status.text())
    shop.hold.set()
    one.settle()
    assert not page.result.isVisible() and shop.waited
    one.engine.emit(StateChanged(State.LISTENING))
    one.until(page.result.isVisible)


def test_what_cannot_be_made_is_told(opened: Opener, shop: Shop) -> None:
    one, page = page_of(opened, shop)
    shop.error = InferenceError(
        "There is not enough memory for another voice beside the one that speaks: close other programs, or compare "
        "the light voice."
    )
    page.make.click()
    one.until(lambda: page.status.objectName() == "fieldError")
    assert page.status.text().startswith("La mémoire ne suffit pas") and page.make.isEnabled()
    shop.error = None
    page.make.click()
    one.until(page.result.isVisible)
    assert not page.status.isVisible()


def test_playing_closes_the_microphone_and_can_be_stopped(opened: Opener, shop: Shop) -> None:
    one, page = made(opened, shop)
    shop.hold.clear()
    page.plays[1].click()
    one.until(lambda: shop.played == ["own, b"] and one.engine.called("set_muted") == [("set_muted", True)])
    assert page.stop.isEnabled()
    page.plays[0].click()  # one sound at a time
    one.until(lambda: shop.played == ["own, b", "own, a"])
    page.stop.click()
    one.until(lambda: one.engine.called("set_muted")[-1:] == [("set_muted", False)])
    assert not page.stop.isEnabled()


def test_leaving_the_page_is_silence(opened: Opener, shop: Shop) -> None:
    one, page = made(opened, shop)
    shop.hold.clear()
    page.plays[0].click()
    one.until(lambda: bool(shop.played))
    one.window.show_conversation()
    assert not page.stop.isEnabled()
    one.until(lambda: one.engine.called("set_muted")[-1:] == [("set_muted", False)])


def test_a_loudspeaker_that_fails_is_told(opened: Opener, shop: Shop) -> None:
    one, page = made(opened, shop)
    shop.play_error = AudioDeviceError("There is no loudspeaker: plug one in. Replies are shown as text.")
    page.plays[0].click()
    one.until(lambda: page.status.text().startswith("Il n'y a pas de haut-parleur"))


def test_blind_rounds_are_told_at_the_end_only(opened: Opener, shop: Shop) -> None:
    one, page = made(opened, shop)
    blind = page.blind
    blind.blind = Blind(random.Random(5))
    names = ("own, a", "own, b")
    drawn = []
    for number in range(6):
        drawn.append(blind.blind.x)
        blind.play_x.click()
        one.until(lambda: len(shop.played) == number + 1)  # noqa: B023
        assert shop.played[-1] == names[drawn[-1]]
        (blind.like_x if drawn[-1] == 0 else blind.like_y).click()  # A each time
        assert blind.message.text() == f"Manches notées\u202f: {number + 1}."
    assert set(drawn) == {0, 1}
    blind.reveal.click()
    assert blind.message.text().startswith("A a été préféré dans 6 manches sur 6, B dans 0, aucun dans 0.")
    assert "guère le hasard" in blind.message.text()
    assert blind.message.text().endswith(", ".join("AB"[x] for x in drawn) + ".")
    blind.like_none.click()  # another series
    assert blind.message.text() == "Manches notées\u202f: 1."


def test_new_sounds_begin_new_rounds(opened: Opener, shop: Shop) -> None:
    one, page = made(opened, shop)
    page.blind.like_x.click()
    page.make.click()
    one.until(lambda: page.result.isVisible() and not page.blind.message.text())


def test_the_users_presets_can_be_chosen(opened: Opener, shop: Shop, home: Path) -> None:
    PresetStore(home / "config" / "presets").save(preset_of("Soir", with_value(Settings(), "tts.speed", 0.7)))
    one, page = page_of(opened, shop)
    one.until(lambda: page.sides[1].preset.combo.findText("Soir") >= 0)
    choose(page.sides[1].preset, "Soir")
    assert page.sides[1].settings.tts.speed == 0.7 and page.sides[0].settings.tts.speed == 1.0


def test_a_wrong_value_is_explained_in_its_place(opened: Opener, shop: Shop) -> None:
    one, page = page_of(opened, shop)
    choose(page.sides[0].more, "Débit")
    one.settle()
    field = page.sides[0].fields["tts.speed"]
    field.changed.emit("tts.speed", 9.0)
    assert field.wrong.isVisible() and page.sides[0].settings.tts.speed == 1.0


def test_closing_the_window_ends_what_is_made(opened: Opener, shop: Shop) -> None:
    one, page = page_of(opened, shop)
    shop.hold.clear()
    page.make.click()
    one.until(lambda: bool(shop.asked))
    one.close()
    assert one.window.ended_in_time


@pytest.mark.parametrize(("rounds", "sure"), [("AAAAAA", True), ("AAAAAB", False), ("AABB", False), ("", False)])
def test_a_preference_is_compared_with_chance(rounds: str, sure: bool) -> None:
    noted = [Round(0, "AB".index(liked)) for liked in rounds]
    assert (chance(noted) < 0.05) is sure and 0 < chance(noted) <= 1
