"""The first steps: shown where no model is there, each can be skipped, and they end in the conversation."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from kazeia_desktop.audio import recorder
from kazeia_desktop.audio.recorder import Heard
from kazeia_desktop.errors import AudioDeviceError, ModelMissingError
from kazeia_desktop.events import State, StateChanged
from kazeia_desktop.gui.first_run import loudspeaker_step, memory
from kazeia_desktop.gui.models import work
from kazeia_desktop.gui.pages.first_run_page import FirstRunPage
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.voices import device_choice
from kazeia_desktop.models.fetch import Progress
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import Opened, Opener
from tests.gui.test_models_page import install

pytestmark = pytest.mark.gui
REAL_SOUND = loudspeaker_step.sound
STARTER = ("silero-vad", "kokoro-82m", "whisper-base", "qwen2.5-coder-0.5b")


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(*(tmp_path / name for name in ("config", "data", "cache", "logs")))


@pytest.fixture(autouse=True)
def no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    def record(
        device: str, longest_s: float, finish: CancelToken, cancel: CancelToken,
        report: Callable[[Heard], None], keep: bool = True,
    ) -> None:  # fmt: skip
        """Somebody speaks into the second microphone only."""
        assert not keep
        while True:
            report(Heard(device, 1.0, 0.1 if device == "Casque" else 0.0001, 0.3, False))
            cancel.wait(0.01)
            cancel.raise_if_set()

    monkeypatch.setattr(device_choice.DeviceChoice, "_list", lambda *_: ("Micro USB", "Casque"))
    monkeypatch.setattr(recorder, "record", record)
    monkeypatch.setattr(loudspeaker_step, "sound", lambda paths, settings, cancel, report: None)


def shown(opened: Opener, host: FakeHost | None = None) -> tuple[Opened, FirstRunPage]:
    one = opened(host)
    one.closed = False
    one.window.show_page("first-run")
    page = one.window.page
    assert isinstance(page, FirstRunPage)
    one.until(lambda: one.window.settled)
    return one, page


def missing() -> FakeHost:
    host = FakeHost()
    host.error = ModelMissingError("The model {name} is not there.", name="whisper-base")
    return host


def test_they_are_wanted_once_and_only_without_models(paths: Paths) -> None:
    assert memory.is_wanted(paths)
    install(paths, "whisper-base")
    assert not memory.is_wanted(paths)
    (paths.models_dir / "whisper-base" / "model.bin").unlink()
    assert memory.is_wanted(paths)
    memory.remember(paths)
    assert memory.is_done(paths) and not memory.is_wanted(paths)


def test_every_step_can_be_skipped_and_the_end_is_remembered(opened: Opener, paths: Paths) -> None:
    one, page = shown(opened)
    assert page.count.text() == "Étape 1 sur 5" and not page.before.isEnabled()
    titles = []
    for _ in page.steps:
        titles.append(page.step.title.text())
        assert page.step.isVisible() and sum(step.isVisible() for step in page.steps) == 1
        page.next.click()
    assert titles == ["Bienvenue dans Kazeia", "Les modèles", "Votre micro", "Votre haut-parleur", "Un premier échange"]
    assert one.window.page is None
    one.until(lambda: memory.is_done(paths))


def test_the_set_is_fetched_in_the_background_and_the_engine_started(
    opened: Opener, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    go = CancelToken()

    def get(paths: Paths, name: str, cancel: CancelToken, report: Callable[[object], None]) -> Path:
        asked.append(name)
        report(Progress(name, "x", 1_000_000, 2_000_000, 500_000.0, 2.0))
        while not go.wait(0.01):
            cancel.raise_if_set()
        return install(paths, name)

    monkeypatch.setattr(work, "get", get)
    host = missing()
    one, page = shown(opened, host)
    page.next.click()
    step, card = page.models, page.models.cards["starter"]
    one.until(lambda: card.get.isVisible())
    assert "734 Mo" in card.detail.text() and "MIT" in card.detail.text()
    assert "environ" in step.cards["recommended"].detail.text() and "libres" in step.note.text()
    assert asked == [] and page.next.text() == "Plus tard"
    card.get.click()
    one.until(lambda: "Silero" in card.line.text())
    assert page.next.text() == "Continuer pendant ce temps"
    assert not step.cards["recommended"].bar.isVisible()
    card.pause.click()
    one.until(card.again.isVisible)
    card.again.click()
    one.until(card.pause.isVisible)
    page.next.click()
    assert page.at == 2
    page.before.click()
    host.error = None
    go.set()
    one.until(lambda: card.badge.text() == "présent")
    assert sorted(set(asked)) == sorted(STARTER)
    one.until(lambda: len(host.engines) == 1)
    assert page.next.text() == "Continuer"


def test_cancel_drops_the_whole_set(opened: Opener, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def get(paths: Paths, name: str, cancel: CancelToken, report: Callable[[object], None]) -> Path:
        asked.append(name)
        cancel.wait(10)
        cancel.raise_if_set()
        return paths.models_dir

    monkeypatch.setattr(work, "get", get)
    one, page = shown(opened)
    page.next.click()
    card = page.models.cards["recommended"]
    one.until(card.get.isVisible)
    card.get.click()
    one.until(lambda: asked == ["silero-vad"])
    card.cancel.click()
    one.until(lambda: card.get.isVisible() and page.models.queue.tasks == ())
    one.settle()
    assert asked == ["silero-vad"]
    assert page.context.settings().llm.model != "qwen3-4b-instruct"


def test_the_microphone_is_heard_with_the_right_device(opened: Opener) -> None:
    one, page = shown(opened)
    page.show_step(2)
    step = page.steps[2]
    one.until(lambda: "Casque" in step.device.names)  # type: ignore[attr-defined]
    one.until(lambda: one.engine.called("set_muted") == [("set_muted", True)])
    one.settle()
    assert step.state.text() == "Dites quelques mots\u202f: la barre bouge avec eux."  # type: ignore[attr-defined]
    step.device.show_value("Casque")  # type: ignore[attr-defined]
    step.device.edited.emit()  # type: ignore[attr-defined]
    one.until(lambda: step.heard)  # type: ignore[attr-defined]
    assert page.context.settings().audio.input_device == "Casque"
    assert "fonctionne" in step.state.text()  # type: ignore[attr-defined]
    page.next.click()
    one.settle()
    assert one.engine.called("set_muted")[-1] == ("set_muted", True)  # what is said meanwhile is no question
    page.next.click()
    one.until(lambda: one.engine.called("set_muted")[-1] == ("set_muted", False))


def test_without_a_microphone_one_goes_on_in_writing(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AudioDeviceError("There is no microphone: plug one in. Typing works without.")

    monkeypatch.setattr(recorder, "record", refuse)
    one, page = shown(opened)
    page.show_step(2)
    one.until(lambda: page.next.text() == "Continuer par écrit")
    assert page.steps[2].problem.isVisible()  # type: ignore[attr-defined]
    page.show_step(4)
    one.engine.emit(StateChanged(State.IDLE))
    one.until(lambda: "Écrivez" in page.words_step.text.text())


def test_the_loudspeaker_is_asked_about_after_it_played(opened: Opener) -> None:
    one, page = shown(opened)
    page.show_step(3)
    step = page.steps[3]
    assert not step.heard.isVisible()  # type: ignore[attr-defined]
    step.play.click()  # type: ignore[attr-defined]
    one.until(step.heard.isVisible)  # type: ignore[attr-defined]
    step.heard.click()  # type: ignore[attr-defined]
    assert page.at == 4


def test_what_the_window_does_with_the_microphone_is_said_in_the_bar(opened: Opener) -> None:
    one, page = shown(opened)
    one.until(lambda: one.window.presence.state is State.MUTED)
    word, hint = one.window.presence.word, one.window.presence.hint
    assert word.text() == "Conversation en pause"
    page.show_step(2)
    assert word.text() == "Test du micro" and "n'écoute pas" in hint.text()
    assert not one.window.presence.mute.isChecked()
    assert one.window.desktop.tray.icon.toolTip() == "Kazeia\nTest du micro"
    page.show_step(4)
    one.until(lambda: word.text() == "À l'écoute")
    assert not hint.isVisible()


def test_enter_leads_through_the_steps(opened: Opener) -> None:
    one, page = shown(opened)

    def enter() -> None:
        focus = one.window.focusWidget()
        assert focus is page.primary and page.primary.objectName() == "primary"
        one.bot.keyClick(focus, Qt.Key.Key_Return)

    enter()
    assert page.at == 1
    one.until(lambda: page.models.offer is not None)
    assert page.primary is page.models.cards["starter"].get and page.next.objectName() == ""
    one.until(lambda: one.window.focusWidget() is page.primary)  # but nothing is fetched unasked
    page.next.click()
    enter()
    assert page.at == 3 and page.primary.text() == "Jouer un son"
    enter()
    one.until(lambda: page.primary.text() == "Je l'ai entendu")
    enter()
    assert page.at == 4
    page.step.setFocus()
    page.show_step(3)
    device = page.step.device.widget  # type: ignore[attr-defined]
    device.setFocus()
    one.bot.keyClick(device, Qt.Key.Key_Return)  # from a control that has no use for it
    one.until(lambda: page.primary.text() == "Je l'ai entendu")
    assert device.hasFocus()


def test_the_voice_says_that_it_is_being_prepared(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    go = {phase: CancelToken() for phase in ("tones", "preparing", "speaking")}
    stopped: list[bool] = []

    def sound(paths: Paths, settings: object, cancel: CancelToken, report: Callable[[object], None]) -> None:
        for phase, token in go.items():
            report(phase)
            while not token.wait(0.01):
                stopped.extend([True] * cancel.is_set())
                cancel.raise_if_set()

    monkeypatch.setattr(loudspeaker_step, "sound", sound)
    one, page = shown(opened)
    page.show_step(3)
    step = page.steps[3]
    assert isinstance(step, loudspeaker_step.LoudspeakerStep)
    step.play.click()
    assert step.state.text() == "Deux notes, puis une phrase." and step.play.text() == "Arrêter"
    assert not step.busy.isVisible() and one.window.presence._use is Use.PLAY
    go["tones"].set()
    one.until(step.busy.isVisible)
    assert "La voix se prépare" in step.state.text() and step.heard.hasFocus()
    go["preparing"].set()
    one.until(lambda: step.state.text() == "Kazeia parle.")
    assert not step.busy.isVisible() and step.heard.isVisible()
    step.play.click()
    one.until(lambda: bool(stopped))
    assert step.play.text() == "Rejouer" and step.heard.isVisible()


def test_the_tones_come_before_the_voice_is_loaded(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    from kazeia_desktop.audio import player
    from kazeia_desktop.gui.voices import work as voices_work

    told: list[object] = []

    def speak(*args: object) -> None:
        told.append("load")
        raise ModelMissingError("The model {name} is not there.", name="kokoro-82m")

    monkeypatch.setattr(player, "play_samples", lambda *_: told.append("chime"))
    monkeypatch.setattr(voices_work, "speak", speak)
    REAL_SOUND(paths, Settings(), CancelToken(), told.append)
    assert told == ["tones", "chime", "preparing", "load"]


def test_the_first_exchange_closes_into_the_conversation(opened: Opener, paths: Paths) -> None:
    one, page = shown(opened)
    one.engine.exchange("Test", "Un.")  # a turn before that step leaves nothing
    one.settle()
    assert one.window.page is page
    page.show_step(4)
    one.until(lambda: page.words_step.text.text() == "Dites «\u202fBonjour\u202f»\u202f: Kazeia vous répond.")
    one.engine.exchange("Bonjour", "Bonjour !")
    one.until(lambda: one.window.page is None)
    one.until(lambda: memory.is_done(paths))


def test_while_models_load_none_is_said_to_be_missing(opened: Opener) -> None:
    host = FakeHost()
    host.hold.clear()
    one = opened(host)
    one.settle()  # the state is told before the page is there
    one.window.show_page("first-run")
    page = one.window.page
    assert isinstance(page, FirstRunPage)
    page.show_step(4)
    one.settle()
    assert page.words_step.text.text() == "Kazeia se prépare\u202f: encore quelques secondes."
    assert not page.words_step.to_models.isVisible()
    host.hold.set()
    one.until(lambda: page.words_step.text.text() == "Dites «\u202fBonjour\u202f»\u202f: Kazeia vous répond.")


def test_missing_models_are_told_by_the_page_and_not_by_the_banner(opened: Opener) -> None:
    one, page = shown(opened, missing())
    one.settle()
    assert not one.window.banner.isVisible() and not one.window.presence.isVisible()
    page.show_step(4)
    assert one.window.presence.isVisible()
    one.until(page.words_step.to_models.isVisible)
    page.words_step.to_models.click()
    assert page.at == 1 and not one.window.presence.isVisible()
    one.window.show_conversation()
    assert one.window.presence.isVisible()


def test_everything_has_a_name_in_both_languages(opened: Opener) -> None:
    one, page = shown(opened)
    page.show_step(1)
    one.until(lambda: page.models.offer is not None)
    for control in page.tab_order:
        text = getattr(control, "text", lambda: "")()
        assert control.accessibleName() or text, control
    page.context.change("appearance.language", "en")
    assert page.title.text() == "First steps" and page.models.title.text() == "The models"
