"""The page of voices on a real folder of voices; what sounds is a fake."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest

from kazeia_desktop.audio import recorder
from kazeia_desktop.audio.recorder import Heard
from kazeia_desktop.audio.wav import write_wav
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.gui.pages.voices_page import VoicesPage
from kazeia_desktop.gui.voices import device_choice, work
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.voice_store import VoiceStore
from tests.fakes.speaker_network import voice_like, write_model
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui


class FakeEncoder:
    width, fingerprint = 24, ""

    def embed(self, audio: FloatArray) -> FloatArray:
        return np.ones(24, np.float32)


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("KAZEIA_HOME", str(tmp_path))
    monkeypatch.setattr(device_choice.DeviceChoice, "_list", lambda *_: ("Micro USB", "Casque"))
    return Paths.from_environment()


@pytest.fixture
def own_model(paths: Paths) -> str:
    write_model(paths.models_dir / "own", "tiny")
    return "own"


@pytest.fixture
def marie(paths: Paths) -> str:
    VoiceStore.of(paths).add("Marie", voice_like(3.2), "Marie Dupont, 3 mai, par écrit", FakeEncoder(), "tiny", "m.wav")
    return "Marie"


def shown(opened: Opener, values: dict[str, object] | None = None) -> tuple[Opened, VoicesPage]:
    one = opened(values=values)
    one.window.show_page("voices")
    page = one.window.page
    assert isinstance(page, VoicesPage)
    one.bot.waitUntil(
        lambda: page.listing is not None and all(row.isVisible() for row in page.rows), timeout=20_000
    )  # imports
    return one, page


@pytest.fixture
def playing(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is heard; it lasts until it is stopped."""
    heard: list[str] = []

    def play(name: str, cancel: CancelToken) -> None:
        heard.append(name)
        cancel.wait(10)
        cancel.raise_if_set()

    monkeypatch.setattr(work, "speak", lambda paths, settings, item, cancel, began: play(item.name, cancel))
    monkeypatch.setattr(work, "play_added", lambda paths, settings, name, cancel: play(f"clip {name}", cancel))
    monkeypatch.setattr(work, "play_clip", lambda samples, settings, cancel: play("new clip", cancel))
    yield heard


@pytest.mark.usefixtures("paths")
def test_without_an_own_voice_the_page_says_what_is_missing(opened: Opener) -> None:
    one, page = shown(opened)
    assert page.note.isVisible() and "Qwen3-TTS Base" in page.note.detail.text()
    assert not page.add_button.isVisible()
    light = page.row_of("ff_siwis")
    assert light is not None and not light.listen.isEnabled() and "Kokoro" in light.detail.text()
    assert one.window.page is page


@pytest.mark.usefixtures("own_model")
def test_an_added_voice_shows_who_agreed_and_what_it_fits(opened: Opener, marie: str) -> None:
    one, page = shown(opened)
    row = page.row_of(marie)
    assert row is not None and not page.note.isVisible()
    assert "Marie Dupont, 3 mai, par écrit" in row.detail.text() and "tiny" in row.detail.text()
    row.use.click()
    one.until(lambda: (r := page.row_of(marie)) is not None and r.item.used)
    assert one.window.transcript is not None
    settings = page.context.settings()
    assert (settings.tts.engine, settings.tts.voice) == ("qwen3", marie)
    one.until(lambda: bool(one.engine.called("apply")))
    assert all(call[1].tts.voice == marie for call in one.engine.called("apply"))  # both at once


@pytest.mark.usefixtures("own_model")
def test_escape_takes_a_question_back_before_it_leaves_the_page(opened: Opener, marie: str) -> None:
    one, page = shown(opened)
    row = page.row_of(marie)
    assert row is not None
    row.delete.click()
    assert row.asking and row.no.hasFocus()
    QTest.keyClick(row.no, Qt.Key.Key_Escape)
    assert not row.asking and one.window.page is page
    row.rename.click()
    QTest.keyClick(row._name, Qt.Key.Key_Escape)
    assert not row._name.isVisible() and one.window.page is page
    QTest.keyClick(row.rename, Qt.Key.Key_Escape)
    assert one.window.page is None


@pytest.mark.usefixtures("own_model")
def test_one_voice_is_heard_at_a_time_and_the_microphone_is_closed_meanwhile(
    opened: Opener, marie: str, playing: list[str]
) -> None:
    one, page = shown(opened)
    row = page.row_of(marie)
    assert row is not None
    row.listen.click()
    one.until(lambda: playing == [marie])
    assert row.listen.text() == "Arrêter"
    row.clip.click()
    one.until(lambda: playing == [marie, f"clip {marie}"])
    assert (row.listen.text(), row.clip.text()) == ("Écouter", "Arrêter")
    one.until(lambda: one.engine.called("set_muted") == [("set_muted", True)])
    one.window.show_conversation()
    one.until(lambda: one.engine.called("set_muted")[-1] == ("set_muted", False))
    assert row.clip.text() != "Arrêter"


@pytest.mark.usefixtures("own_model", "marie")
def test_a_microphone_that_was_off_stays_off(opened: Opener, marie: str, playing: list[str]) -> None:
    one, page = shown(opened)
    one.window.set_muted(True)
    row = page.row_of(marie)
    assert row is not None
    row.listen.click()
    one.until(lambda: playing == [marie])
    row.listen.click()
    one.until(lambda: row.listen.text() == "Écouter")
    one.settle()
    assert ("set_muted", False) not in one.engine.calls


@pytest.mark.usefixtures("own_model")
def test_renaming_and_deleting_the_used_voice_keep_the_settings_true(opened: Opener, marie: str, paths: Paths) -> None:
    one, page = shown(opened, {"tts.engine": "qwen3", "tts.voice": marie})
    row = page.row_of(marie)
    assert row is not None and row.item.used
    row.rename.click()
    row._name.setText("a b")
    row._keep.click()
    one.until(lambda: "a b" in row.message.text())
    row._name.setText("Ma-sœur")
    row._keep.click()
    one.until(lambda: page.row_of("Ma-sœur") is not None)
    assert page.context.settings().tts.voice == "Ma-sœur"
    row = page.row_of("Ma-sœur")
    assert row is not None
    row.delete.click()
    assert row.asking and not row.delete.isVisible() and row.no.hasFocus()
    row.no.click()
    assert not row.asking and VoiceStore.of(paths).folder_of("Ma-sœur").exists()
    row.delete.click()
    row.yes.click()
    one.until(lambda: page.row_of("Ma-sœur") is None)
    assert not VoiceStore.of(paths).folder_of("Ma-sœur").exists()
    assert page.context.settings().tts.voice == ""


@pytest.mark.usefixtures("own_model")
def test_a_file_becomes_a_voice_only_with_name_and_consent(
    opened: Opener, tmp_path: Path, paths: Paths, playing: list[str]
) -> None:
    one, page = shown(opened)
    form = page.add
    file = tmp_path / "Paul.wav"
    write_wav(file, voice_like(4.0), 24_000)
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(file))])
    page.dropEvent(
        QDropEvent(
            QPointF(5, 5), Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        )
    )
    one.until(lambda: form.clip is not None)
    assert "Paul.wav" in form.heard.text() and form.keep.isVisible() and not form.keep.isEnabled()
    form.listen.click()
    one.until(lambda: playing == ["new clip"])
    form.name.setText("Paul")
    form.who.setText("Paul Durand")
    form.how.setText("de vive voix")
    assert not form.keep.isEnabled()
    form.agreed.setChecked(True)
    form.keep.click()
    one.until(lambda: page.row_of("Paul") is not None)
    voice = VoiceStore.of(paths).get("Paul")
    assert voice.source == "Paul.wav" and voice.consent.text.startswith("Paul Durand, ")
    assert voice.consent.text.endswith(", de vive voix")
    assert not form.isVisible() and page.add_button.isVisible()


@pytest.mark.usefixtures("own_model")
def test_a_file_that_cannot_be_a_voice_is_refused_in_one_line(opened: Opener, tmp_path: Path) -> None:
    one, page = shown(opened)
    page.add_button.click()
    file = tmp_path / "court.wav"
    write_wav(file, voice_like(1.0), 24_000)
    page.add.open_file(file)
    one.until(lambda: page.add.message.isVisible())
    assert "court.wav" in page.add.message.text() and "\n" not in page.add.message.text()
    assert not page.add.keep.isVisible() and page.add.clip is None


Recorder = Callable[..., FloatArray]


def fake_record(samples: FloatArray, begun: threading.Event) -> Recorder:
    def record(device: str, longest_s: float, finish: CancelToken, cancel: CancelToken, report: object) -> FloatArray:
        assert callable(report) and longest_s == 30.0
        report(Heard("Micro USB", 4.2, 0.1, 0.5, False))
        begun.set()
        while not finish.wait(0.01):
            cancel.raise_if_set()
        return samples

    return record


@pytest.mark.usefixtures("own_model")
def test_recording_tells_time_and_level_then_what_is_wrong(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    monkeypatch.setattr(recorder, "record", fake_record(voice_like(4.0) * 0 + 1e-6, begun))
    one, page = shown(opened)
    page.add_button.click()
    part = page.add.record
    one.until(lambda: part.device.names == ("Micro USB", "Casque"))
    part.button.click()
    one.until(begun.is_set)
    one.until(lambda: part.level.level > 0)
    assert "4,2" in part.time.text() and part.button.text() == "Arrêter l'enregistrement"
    one.until(lambda: ("set_muted", True) in one.engine.calls)
    part.button.click()
    one.until(lambda: page.add.clip is not None)
    assert "Rien n'a été entendu" in page.add.advice.text() and not page.add.keep.isVisible()
    one.until(lambda: one.engine.calls[-1] == ("set_muted", False))
    monkeypatch.setattr(recorder, "record", fake_record(voice_like(4.0), begun))
    begun.clear()
    page.add.again.click()
    one.until(begun.is_set)
    assert part.isVisible()
    part.button.click()
    one.until(lambda: page.add.keep.isVisible())
    page.leave()


@pytest.mark.usefixtures("own_model")
def test_a_microphone_that_refuses_is_told_beside_the_button(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> FloatArray:
        raise AudioDeviceError("There is no microphone: plug one in. Typing works without.")

    monkeypatch.setattr(recorder, "record", refuse)
    one, page = shown(opened)
    page.add_button.click()
    page.add.record.button.click()
    one.until(lambda: page.add.record.problem.isVisible())
    assert page.add.record.button.text() == "Enregistrer" and not page.add.record.recording


@pytest.mark.usefixtures("own_model")
def test_everything_has_a_name_and_both_languages(opened: Opener, marie: str) -> None:
    _one, page = shown(opened)
    page.add_button.click()
    for control in page.tab_order:
        text = getattr(control, "text", lambda: "")()
        assert control.accessibleName() or text, control
    row = page.row_of(marie)
    assert row is not None and row.use.accessibleName() == "Choisir cette voix\u202f: Marie"
    page.context.change("appearance.language", "en")
    row = page.row_of(marie)
    assert row is not None and row.use.accessibleName() == "Use this voice: Marie"
    assert page.title.text() == "Voices"


def test_a_model_installed_since_the_start_is_offered_and_not_said_to_speak(opened: Opener, own_model: str) -> None:
    one, page = shown(opened)  # its engine speaks with Kokoro, the settings say "auto"
    chance, light = page.row_of(""), page.row_of("ff_siwis")
    assert chance is not None and light is not None
    assert not chance.item.used and light.item.used and chance.use.isVisible()
    chance.use.click()
    one.until(lambda: (row := page.row_of("")) is not None and row.item.used)
    assert page.context.settings().tts.model == own_model


@pytest.mark.usefixtures("own_model")
def test_a_microphone_switched_off_meanwhile_is_off_afterwards(opened: Opener, marie: str, playing: list[str]) -> None:
    one, page = shown(opened)
    row = page.row_of(marie)
    assert row is not None
    row.listen.click()
    one.until(lambda: playing == [marie])
    one.window.set_muted(True)
    row.listen.click()
    one.until(lambda: row.listen.text() == "Écouter")
    one.settle()
    assert ("set_muted", False) not in one.engine.calls
    one.window.set_muted(False)
    one.until(lambda: one.engine.called("set_muted")[-1] == ("set_muted", False))


def test_the_list_takes_the_engine_that_the_builder_takes(paths: Paths) -> None:
    from kazeia_desktop.gui.voices import listing
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.pipeline.builder import LIGHT_VOICE_MODEL, voice_engine, voices_dir
    from kazeia_desktop.settings.schema import Settings
    from kazeia_desktop.settings.store import with_value
    from tests.gui.test_models_page import install

    assert voices_dir() == listing._STYLES
    store = ModelStore(paths.models_dir, Catalog.load())
    for light in (False, True):
        if light:
            install(paths, LIGHT_VOICE_MODEL)
        for own in (False, True):
            if own and not light:
                write_model(paths.models_dir / "own")
            for engine in ("auto", "kokoro", "qwen3", "system"):
                for voice in ("", "ff_siwis", "espeak-ng", "Marie"):
                    settings = with_value(with_value(Settings(), "tts.engine", engine), "tts.voice", voice)
                    there = (paths.models_dir / "own").exists()
                    assert listing.engine_for(settings, there, light) == voice_engine(settings, store, paths)
