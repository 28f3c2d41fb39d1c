"""The page of models on a folder of its own; what is fetched is a fake that the test leads."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from kazeia_desktop.errors import DownloadError, KazeiaError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.gui.models import work
from kazeia_desktop.gui.models.queue import ModelQueue, Phase
from kazeia_desktop.gui.models.row import ModelRow
from kazeia_desktop.gui.pages.models_page import ModelsPage
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.convert.requantize import requantize
from kazeia_desktop.models.fetch import Progress
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from tests.fakes.fake_engine import FakeHost
from tests.fakes.micro_voice import write_checkpoint
from tests.fakes.speaker_network import write_model
from tests.fakes.tiny_llms import tiny_llm
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui
SMOL, BASE, WHISPER = "smollm2-135m", "qwen3-tts-0.6b-base", "whisper-base"


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("KAZEIA_HOME", str(tmp_path))
    return Paths.from_environment()


def install(paths: Paths, name: str) -> Path:
    """As if it had been downloaded; files are as long as they must be."""
    for file in Catalog.load().entry(name).files:
        place = paths.models_dir / name / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as stream:
            stream.truncate(file.bytes or 10)
    return paths.models_dir / name


@dataclass
class Fetcher:
    """Downloads that go on when the test says so."""

    asked: list[str] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)
    error: KazeiaError | None = None

    def get(self, paths: Paths, name: str, cancel: CancelToken, report: Callable[[object], None]) -> Path:
        self.asked.append(name)
        folder = paths.models_dir / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "x.part").write_bytes(bytes(1000))
        report(Progress(name, "x", 40_000_000, 100_000_000, 2_000_000.0, 30.0))
        while not self.go.wait(0.01):
            cancel.raise_if_set()
        if self.error is not None:
            raise self.error
        (folder / "x.part").unlink()
        install(paths, name)
        return folder


@pytest.fixture
def fetcher(monkeypatch: pytest.MonkeyPatch) -> Fetcher:
    made = Fetcher()
    monkeypatch.setattr(work, "get", made.get)
    return made


def shown(
    opened: Opener, host: FakeHost | None = None, values: dict[str, object] | None = None
) -> tuple[Opened, ModelsPage]:
    one = opened(host, values)
    one.window.show_page("models")
    page = one.window.page
    assert isinstance(page, ModelsPage)
    one.bot.waitUntil(
        lambda: page.listing is not None and all(row.isVisible() for row in page.rows.values()), timeout=20_000
    )  # imports
    return one, page


def visible(row: ModelRow) -> set[str]:
    return {name for name in ("get", "again", "pause", "cancel", "use", "convert", "verify", "delete")
            if getattr(row, name).isVisible()}  # fmt: skip


@pytest.mark.usefixtures("paths")
def test_every_model_shows_size_licence_and_source_and_nothing_is_fetched(opened: Opener, fetcher: Fetcher) -> None:
    one, page = shown(opened)
    assert set(page.rows) == {entry.name for entry in Catalog.load()}
    row = page.rows["qwen2.5-coder-0.5b"]
    assert row.detail.text() == "491 Mo · Apache-2.0 · Hugging Face, Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF"
    assert visible(row) == {"get"} and row.badge.text() == "jeu de départ"
    assert page.rows["qwen3-4b-instruct"].detail.text().startswith("environ 2,5 Go")
    assert "libres" in page.intro.text()
    one.settle()
    assert fetcher.asked == []


def test_a_download_can_be_paused_resumed_and_is_there_at_the_end(
    opened: Opener, fetcher: Fetcher, paths: Paths
) -> None:
    one, page = shown(opened)
    row = page.rows[SMOL]
    row.get.click()
    one.until(lambda: "40" in row.line.text())
    assert row.line.text() == "40 Mo sur 100 Mo · 2 Mo par seconde · encore 30 s"
    assert row.bar.value() == 400 and visible(row) == {"pause", "cancel"}
    row.pause.click()
    one.until(lambda: visible(row) == {"again", "cancel"})
    assert row.line.text().startswith("En pause · 40 Mo") and row.again.text() == "Reprendre"
    fetcher.go.set()
    row.again.click()
    one.until(lambda: visible(page.rows[SMOL]) == {"use", "verify", "delete"})
    assert fetcher.asked == [SMOL, SMOL] and not row.line.isVisible()
    page.rows[SMOL].use.click()
    one.until(lambda: page.rows[SMOL].badge.text() == "en service")
    assert page.context.settings().llm.model == SMOL
    assert paths.models_dir.exists()


def test_cancel_leaves_nothing_and_several_wait_for_their_turn(opened: Opener, fetcher: Fetcher, paths: Paths) -> None:
    one, page = shown(opened)
    page.rows[SMOL].get.click()
    page.rows[WHISPER].get.click()
    one.until(lambda: page.rows[WHISPER].line.text() == "Attend son tour")
    one.until(lambda: fetcher.asked == [SMOL])
    page.rows[SMOL].cancel.click()
    one.until(lambda: fetcher.asked == [SMOL, WHISPER])
    one.until(lambda: not (paths.models_dir / SMOL).exists())
    one.until(lambda: visible(page.rows[SMOL]) == {"get"})
    fetcher.go.set()
    one.until(lambda: "delete" in visible(page.rows[WHISPER]))


@pytest.mark.usefixtures("paths")
def test_offline_is_one_plain_line_with_try_again(opened: Opener, fetcher: Fetcher) -> None:
    fetcher.error = DownloadError(
        "The model {name} cannot be downloaded: the package index cannot be reached. Connect to the network and "
        "run `kazeia models get {name}` again: it goes on where it stopped.",
        name=SMOL,
    )
    fetcher.go.set()
    one, page = shown(opened)
    row = page.rows[SMOL]
    row.get.click()
    one.until(row.message.isVisible)
    assert row.message.text() == f"La source de {SMOL} ne répond pas. Connectez-vous au réseau et réessayez."
    assert row.again.text() == "Réessayer" and visible(row) == {"again", "cancel"}
    fetcher.error = None
    row.again.click()
    one.until(lambda: "delete" in visible(row))


def test_a_download_of_an_earlier_run_is_offered_to_go_on_or_be_dropped(
    opened: Opener, fetcher: Fetcher, paths: Paths
) -> None:
    folder = paths.models_dir / SMOL
    folder.mkdir(parents=True)
    (folder / "SmolLM2-135M-Instruct.Q4_1.gguf.part").write_bytes(bytes(2_000_000))
    one, page = shown(opened)
    row = page.rows[SMOL]
    assert visible(row) == {"again", "cancel"} and "2 Mo" in row.line.text()
    row.cancel.click()
    one.until(lambda: visible(row) == {"get"})
    assert not folder.exists() and fetcher.asked == []


def test_deleting_asks_and_says_what_is_lost(opened: Opener, paths: Paths) -> None:
    folder = install(paths, WHISPER)
    one, page = shown(opened)
    row = page.rows[WHISPER]
    assert row.badge.text() == "en service" and visible(row) == {"verify", "delete"}
    row.delete.click()
    assert row.asking and "ne comprend plus la parole" in row._asked.text() and row.no.hasFocus()
    row.no.click()
    assert folder.exists()
    row.delete.click()
    row.yes.click()
    one.until(lambda: visible(page.rows[WHISPER]) == {"get"})
    assert not folder.exists()


def test_a_damaged_file_is_found_by_verify(opened: Opener, paths: Paths) -> None:
    install(paths, "silero-vad")
    one, page = shown(opened)
    row = page.rows["silero-vad"]
    row.verify.click()
    one.until(row.message.isVisible)
    assert row.message.text() == "silero_vad.onnx est endommagé. Téléchargez de nouveau le modèle."


def test_a_qwen3_tts_folder_is_converted_and_used(opened: Opener, paths: Paths, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "Qwen3-TTS")
    one, page = shown(opened)
    page.own.open(tmp_path / "Qwen3-TTS")
    one.until(page.own.start.isVisible)
    page.own.dtype.show_value("q4_0")
    page.own.start.click()
    made = "Qwen3-TTS-q4_0"
    one.bot.waitUntil(lambda: made in page.rows and page.rows[made].use.isVisible(), timeout=60_000)
    assert (paths.models_dir / made / "manifest.json").exists()
    row = page.rows[made]
    assert "q4_0" in row.detail.text()
    row.use.click()
    tts = page.context.settings().tts
    assert (tts.engine, tts.model, tts.voice) == ("qwen3", made, "")
    assert ModelQueue.of(page.context).tasks == ()


def test_a_file_that_is_no_model_is_refused_in_one_line(opened: Opener, paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    one, page = shown(opened)
    page.own.open(tmp_path / "notes.txt")
    one.until(page.own.message.isVisible)
    assert "notes.txt" in page.own.message.text() and not paths.models_dir.exists()


def test_a_gguf_is_tried_before_it_is_taken(
    opened: Opener, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kazeia_desktop.llm import trial

    tried: list[str] = []

    def try_model(path: Path, *_: object) -> None:
        tried.append(path.name)
        if path.name == "bad.gguf":
            raise ModelMissingError("There is no {path}.", path=str(path))

    monkeypatch.setattr(trial, "try_model", try_model)
    for name in ("good", "bad"):
        (tmp_path / f"{name}.gguf").write_bytes(b"GGUF" + bytes(100))
    one, page = shown(opened)
    page.own.open(tmp_path / "bad.gguf")
    one.until(lambda: "bad" in page.rows and page.rows["bad"].message.isVisible())
    assert not (paths.models_dir / "bad").exists()
    page.rows["bad"].cancel.click()
    one.until(lambda: "bad" not in page.rows)
    page.own.open(tmp_path / "good.gguf")
    one.until(lambda: "good" in page.rows and page.rows["good"].use.isVisible())
    page.rows["good"].use.click()
    assert page.context.settings().llm.model == str(paths.models_dir / "good" / "good.gguf")
    assert tried == ["bad.gguf", "good.gguf"]


def test_a_damaged_converted_voice_says_so_and_can_be_deleted(opened: Opener, paths: Paths) -> None:
    write_model(paths.models_dir / "own")
    (paths.models_dir / "own" / "talker.gguf").unlink()
    one, page = shown(opened)
    row = page.rows["own"]
    assert row.message.isVisible() and visible(row) == {"delete"}
    row.delete.click()
    row.yes.click()
    one.until(lambda: "own" not in page.rows)


@pytest.mark.usefixtures("paths")
def test_what_was_missing_at_the_start_is_loaded_when_it_is_there(opened: Opener, fetcher: Fetcher) -> None:
    host = FakeHost()
    host.error = ModelMissingError("The model {name} is not there.", name=SMOL)
    one, page = shown(opened, host)
    one.closed = False
    host.error = None
    fetcher.go.set()
    page.rows[SMOL].get.click()
    one.until(lambda: len(host.engines) == 1)


@pytest.mark.usefixtures("paths")
def test_closing_the_window_stops_a_download_at_once(opened: Opener, fetcher: Fetcher) -> None:
    one, page = shown(opened)
    page.rows[SMOL].get.click()
    one.until(lambda: fetcher.asked == [SMOL])
    one.close()
    assert one.window.ended_in_time
    assert ModelQueue.of(page.context).task(SMOL) is not None
    assert ModelQueue.of(page.context).task(SMOL).phase is Phase.RUNNING  # type: ignore[union-attr]


@pytest.mark.usefixtures("paths")
def test_everything_has_a_name_in_both_languages(opened: Opener) -> None:
    _one, page = shown(opened)
    for control in page.tab_order:
        text = getattr(control, "text", lambda: "")()
        assert control.accessibleName() or text, control
    assert page.rows[SMOL].get.accessibleName().startswith("Télécharger\u202f: SmolLM2")
    page.context.change("appearance.language", "en")
    assert page.rows[SMOL].get.accessibleName().startswith("Get: SmolLM2")
    assert page.title.text() == "Models"


def own_model(paths: Paths) -> Path:
    """A tiny language model of the user's own, with weights of 16 bits."""
    made = requantize(tiny_llm("qwen3"), paths.models_dir / "own" / "own.gguf", "f16", pure=True)
    return made.path


def test_a_language_model_is_made_smaller_and_the_sizes_are_told(opened: Opener, paths: Paths) -> None:
    file = own_model(paths)
    one, page = shown(opened)
    row = page.rows["own"]
    assert row.smaller.isVisible() and not row.part.isVisible() and not row.begin.isVisible()
    row.smaller.click()
    assert row.part.isVisible() and row.part.type.widget.hasFocus() and not row.begin.isEnabled()
    assert not row.delete.isVisible() and "moins bien" in row.part.warning.text()
    row.part.type.show_value("q4_0-pure")
    row.part.type.edited.emit()
    one.bot.waitUntil(row.begin.isEnabled, timeout=20_000)
    assert "maintenant" in row.part.told.text() and "ensuite" in row.part.told.text()
    row.begin.click()
    made = "own-q4_0"
    one.bot.waitUntil(lambda: made in page.rows and page.rows[made].use.isVisible(), timeout=30_000)
    written = paths.models_dir / made / f"{made}.gguf"
    assert written.stat().st_size < file.stat().st_size and file.exists()
    assert page.rows[made].line.text().startswith("Tiré de own\u202f: ")
    assert not row.part.isVisible()
    page.rows[made].use.click()
    assert page.context.settings().llm.model == str(written)


def test_what_would_be_larger_is_not_made(opened: Opener, paths: Paths) -> None:
    requantize(own_model(paths), paths.models_dir / "small" / "small.gguf", "q4_0", pure=True)
    one, page = shown(opened)
    row = page.rows["small"]
    row.smaller.click()
    row.part.type.show_value("q8_0")
    row.part.type.edited.emit()
    one.bot.waitUntil(lambda: "rien n'y serait gagné" in row.part.told.text(), timeout=20_000)
    assert not row.begin.isEnabled()
    QTest.keyClick(row.part.type.widget, Qt.Key.Key_Escape)
    assert not row.part.isVisible() and row.smaller.hasFocus() and one.window.page is page


def test_making_a_model_smaller_can_be_cancelled(opened: Opener, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    own_model(paths)
    real = work.requantize

    def slow(*args: object) -> Path:
        args[5].wait(10)  # type: ignore[attr-defined]
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(work, "requantize", slow)
    one, page = shown(opened)
    page._make_smaller("own", "q4_0-pure")
    one.until(lambda: "own-q4_0" in page.rows and page.rows["own-q4_0"].cancel.isVisible())
    page.rows["own-q4_0"].cancel.click()
    one.until(lambda: "own-q4_0" not in page.rows)
    assert not (paths.models_dir / "own-q4_0").exists()


def test_a_file_that_llama_cannot_read_is_told_in_the_form(opened: Opener, paths: Paths) -> None:
    (paths.models_dir / "bad").mkdir(parents=True)
    (paths.models_dir / "bad" / "bad.gguf").write_bytes(b"GGUF" + bytes(100))
    one, page = shown(opened)
    row = page.rows["bad"]
    row.smaller.click()
    one.bot.waitUntil(lambda: "bad.gguf" in row.part.told.text(), timeout=20_000)
    assert not row.begin.isEnabled()


def test_the_size_of_each_of_two_models_is_told(opened: Opener, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    requantize(own_model(paths), paths.models_dir / "small" / "small.gguf", "q8_0", pure=True)
    both = threading.Event()

    def sizes(_file: Path, _dtype: str, _pure: bool, cancel: CancelToken) -> tuple[int, int]:
        both.wait(10)
        cancel.raise_if_set()
        return 2_000_000, 1_000_000

    monkeypatch.setattr(work, "sizes", sizes)
    one, page = shown(opened)
    rows = page.rows["own"], page.rows["small"]
    for row in rows:
        row.smaller.click()
    both.set()
    one.until(lambda: all(row.begin.isEnabled() for row in rows))


def test_why_one_type_cannot_be_had_is_not_told_of_another(
    opened: Opener, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_model(paths)
    first, second = threading.Event(), threading.Event()

    def sizes(_file: Path, dtype: str, _pure: bool, _cancel: CancelToken) -> tuple[int, int]:
        if dtype == "q4_k_m":
            first.wait(10)
            raise ModelIncompatibleError("This type does not fit.")
        second.wait(10)
        return 2_000_000, 1_000_000

    monkeypatch.setattr(work, "sizes", sizes)
    one, page = shown(opened)
    row = page.rows["own"]
    row.smaller.click()
    row.part.type.show_value("q8_0")
    row.part.type.edited.emit()
    first.set()
    second.set()
    one.until(row.begin.isEnabled)
    one.settle()
    assert row.part.worth_it and "ensuite" in row.part.told.text()
