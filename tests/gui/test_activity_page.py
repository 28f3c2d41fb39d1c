"""The activity page: figures of the turns, load, log, and a report that tells nothing that was said."""

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from kazeia_desktop import log
from kazeia_desktop.errors import StorageError
from kazeia_desktop.events import Failed, TurnEnded, TurnStarted
from kazeia_desktop.gui.activity import diagnostics
from kazeia_desktop.gui.activity.figures import FORMAT, LAST, STAGES, VERSION, percentile
from kazeia_desktop.gui.activity.log_file import parse, read_tail, shown
from kazeia_desktop.gui.activity.plot import SPAN_S, Plot, nice_top
from kazeia_desktop.gui.activity.process_load import ProcessLoad, memory_bytes
from kazeia_desktop.gui.pages.activity_page import ActivityPage
from kazeia_desktop.gui.theme import LIGHT
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import LoopWatch, Opened, Opener

pytestmark = pytest.mark.gui

SECRET = "ma grand-mère habite à Quimper"
HEAD = "2026-11-30 09:00:01,123 {level:<7} llm kazeia_desktop.llm.base: "


def page_of(one: Opened) -> ActivityPage:
    one.window.show_page("activity")
    page = one.window.pages["activity"]
    assert isinstance(page, ActivityPage)
    one.settle()
    return page


def turn(one: Opened, number: int, typed: bool = False, **metrics: float | None) -> None:
    one.engine.emit(TurnStarted(number, typed))
    one.engine.emit(TurnEnded(number, SECRET, "done", metrics))


@pytest.fixture(autouse=True)
def home(kazeia_home: Path, tmp_path: Path) -> Path:
    """Where the window of `opened` keeps its files."""
    (tmp_path / "logs").mkdir()
    return tmp_path


def write_log(home: Path, *entries: tuple[str, str]) -> Path:
    file = home / "logs" / log.FILE_NAME
    file.write_text("".join(HEAD.format(level=level) + text + "\n" for level, text in entries), "utf-8")
    return file


# Figures


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.floats(0, 1))
def test_a_percentile_is_between_least_and_most_and_grows(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert min(values) <= found <= max(values) * (1 + 1e-12)
    assert percentile(values, 0.0) == min(values) and percentile(values, 1.0) == max(values)


def test_percentiles_are_those_of_the_source() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == 2.5
    assert percentile([10, 20], 0.95) == pytest.approx(19.5)
    assert percentile([7], 0.95) == 7


def test_turns_before_the_page_was_opened_count(opened: Opener) -> None:
    one = opened()
    for number in range(1, 12):
        turn(one, number, stt_ms=100.0 * number, tts_rtf=0.8)
    one.settle()
    page = page_of(one)
    label, _, middle, late = page.times._rows["stt_ms"]
    assert (middle.text(), late.text()) == ("600\u202fms", "1,1\u202fs")
    assert "600\u202fms" in label.accessibleName()
    assert page.times._rows["endpoint_ms"][2].text() == "–"
    assert "0,80" in page.times.voice.text()
    assert page.table.turns.rowCount() == 11
    first = page.table.turns.index(0, 2)
    assert page.table.turns.data(first) == "Répondu"
    assert page.table.turns.data(page.table.turns.index(0, 4)) == "1,1\u202fs"  # the newest is on top


def test_only_the_last_turns_count_and_a_new_one_is_shown(opened: Opener) -> None:
    one = opened()
    page = page_of(one)
    for number in range(1, LAST + 21):
        turn(one, number, stt_ms=9000.0 if number <= 20 else 100.0)
    one.until(lambda: page.times._rows["stt_ms"][3].text() == "100\u202fms")
    page.clear.click()
    one.until(lambda: page.table.turns.rowCount() == 0)
    assert page.times._rows["stt_ms"][3].text() == "–" and not page.clear.isEnabled()


def test_the_page_speaks_both_languages_live(opened: Opener) -> None:
    one = opened()
    page = page_of(one)
    assert page.title.text() == "Activité"
    one.window.change("appearance.language", "en")
    assert page.title.text() == "Activity" and page.diagnostics.text() == "Copy diagnostics"
    assert page.table.turns.headerData(4, Qt.Orientation.Horizontal) == "Speech recognised"


# Load


def test_load_is_sampled_only_while_it_is_seen(opened: Opener) -> None:
    one = opened()
    page = page_of(one)
    assert page.load.sampling
    before = len(page.load.samples)
    one.window.show_conversation()
    assert not page.load.sampling and not page.log._timer.isActive()
    one.bot.wait(50)
    assert len(page.load.samples) == before
    one.window.show_page("activity")
    assert page.load.sampling
    one.window.hide()
    assert not page.load.sampling


def test_a_busy_thread_is_seen_in_the_figures() -> None:
    load = ProcessLoad()
    assert load.sample().cpu_percent is None
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    percent = load.sample().cpu_percent
    assert percent is not None and percent > 5
    load.restart()
    assert load.sample().cpu_percent is None


def test_memory_is_told_or_not_known(tmp_path: Path) -> None:
    assert memory_bytes(tmp_path / "no") is None
    statm = tmp_path / "statm"
    statm.write_text("100 7 3 1 0 9 0\n")
    assert memory_bytes(statm) in (7 * 4096, 7 * 16384, 7 * 65536)
    statm.write_text("odd")
    assert memory_bytes(statm) is None


def test_a_plot_forgets_what_is_old_and_has_a_round_top(opened: Opener) -> None:
    plot = Plot(LIGHT)
    for second in range(400):
        plot.add(float(second), second)
    assert plot.values[0] == 399 - SPAN_S and plot.values[-1] == 399
    plot.add(10.0, 1.0)  # the clock was set back
    assert plot.values == (1.0,)
    assert [nice_top(v) for v in (0, 1, 1.1, 6, 10, 11, 480, 900)] == [1, 1, 2, 10, 10, 20, 500, 1000]
    plot.resize(300, 120)
    empty = Plot(LIGHT)
    empty.resize(300, 120)
    assert plot.grab().toImage() != empty.grab().toImage()


# Export


def test_the_export_has_the_documented_fields_and_no_words(opened: Opener, tmp_path: Path) -> None:
    one = opened()
    turn(one, 1, typed=True, stt_ms=None, total_ms=900.0)
    turn(one, 2, stt_ms=200.0, total_ms=700.0)
    one.settle()
    page = page_of(one)
    file = tmp_path / "chiffres.json"
    page._choose_file()
    dialog = page.findChild(QFileDialog)
    assert dialog is not None
    dialog.fileSelected.emit(str(file))
    dialog.reject()
    one.until(file.exists)
    one.until(lambda: str(file) in page.news.text())
    text = file.read_text("utf-8")
    assert SECRET not in text
    tree = json.loads(text)
    assert (tree["format"], tree["version"], tree["counted_turns"]) == (FORMAT, VERSION, 2)
    assert tree["stages"]["total_ms"] == {"p50": 800.0, "p95": 890.0, "n": 2}
    assert tree["stages"]["endpoint_ms"] is None and set(STAGES) <= set(tree["stages"])
    assert [(t["number"], t["kind"], t["outcome"]) for t in tree["turns"]] == [
        (1, "typed", "done"),
        (2, "spoken", "done"),
    ]
    documented = (Path(__file__).parents[2] / "docs" / "activity.md").read_text("utf-8")
    fields = set(tree) | set(tree["turns"][0]) | set(tree["load"][0]) | {"p50", "p95", "n"}
    assert not [name for name in fields if f"`{name}`" not in documented]


def test_a_file_that_cannot_be_written_is_told(opened: Opener, tmp_path: Path) -> None:
    one = opened()
    page = page_of(one)
    page.export_to(tmp_path / "nowhere" / "x.json")
    one.until(lambda: "ne peuvent pas être écrits" in page.news.text())


# The log


def test_the_log_is_filtered_by_level_and_words(opened: Opener, home: Path) -> None:
    write_log(home, ("INFO", "loaded in 2 s"), ("WARNING", "slow Disk"), ("ERROR", "broken\nTraceback\n  line"))
    one = opened()
    page = page_of(one)
    view = page.log
    one.until(lambda: view.text.toPlainText().count("\n") == 4)
    view.level.show_value("WARNING")
    view.level.edited.emit()
    one.until(lambda: "loaded" not in view.text.toPlainText())
    assert view.text.toPlainText().endswith("broken\nTraceback\n  line")
    view.search.setText("DISK")
    one.until(lambda: view.text.toPlainText().endswith("slow Disk"))
    view.copy_button.click()
    assert QGuiApplication.clipboard().text() == view.text.toPlainText()
    view.search.setText("absent")
    one.until(lambda: "Aucune entrée" in view.told.text())


def test_the_log_is_followed(opened: Opener, home: Path) -> None:
    file = write_log(home, ("INFO", "one"))
    one = opened()
    page = page_of(one)
    one.until(lambda: page.log.text.toPlainText().endswith("one"))
    with file.open("a", encoding="utf-8") as stream:
        stream.write(HEAD.format(level="INFO") + "two\n")
    one.until(lambda: page.log.text.toPlainText().endswith("two"))
    page.log.follow.click()
    assert not page.log._timer.isActive()


def test_the_tail_of_a_long_log_begins_with_a_whole_entry(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_text("".join(HEAD.format(level="INFO") + f"{n} é\n" for n in range(100)), "utf-8")
    found = read_tail(file, 1000)
    assert 5 < len(found) < 20 and found[-1].text.endswith("99 é")
    assert all(entry.text.startswith("2026") for entry in found)
    assert read_tail(tmp_path / "none") == ()
    with pytest.raises(StorageError):
        read_tail(tmp_path)
    assert shown(found, logging.INFO, "", most_lines=3).count("\n") == 2


@given(st.text(max_size=300))
def test_any_text_is_parsed(text: str) -> None:
    assert parse(text) == () or "20" in text


def test_the_loop_is_not_late_with_a_full_log(opened: Opener, home: Path) -> None:
    write_log(home, *((("INFO", "x" * 90),) * 4000))
    one = opened()
    watch = LoopWatch()
    page = page_of(one)
    watch.restart()  # a page is built once
    page.log.refresh()
    one.bot.wait(600)
    assert page.log.text.blockCount() > 500
    assert watch.longest_ms <= 50


# Diagnostics


@pytest.fixture
def heard_log() -> Iterator[None]:
    """As `log.set_up` does, without its files."""
    logging.getLogger().addHandler(log.INCIDENTS)
    yield
    logging.getLogger().removeHandler(log.INCIDENTS)


@pytest.mark.expects_warning
@pytest.mark.usefixtures("heard_log")
def test_diagnostics_hold_everything_but_what_was_said(
    opened: Opener, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence is planted wherever words can be: speech, titles, settings, errors, the log, names of files."""
    monkeypatch.setattr(diagnostics, "_devices", lambda: ["microphones: Micro USB"])
    write_log(
        home, ("DEBUG", f"heard {SECRET}"), ("WARNING", f"cannot say {SECRET}"), ("ERROR", f"x\nValueError: {SECRET}")
    )
    host = FakeHost()
    values = {
        "llm.persona": SECRET,
        "llm.model": f"/home/x/{SECRET}.gguf",
        "llm.temperature": 1.25,
        "tts.voice": SECRET,
    }
    one = opened(host, values)
    one.engine.placement = {"stt": "whisper-base, int8, CPU", "tts": f"Qwen3-TTS, {SECRET}"}
    one.window._bridge._tell_info(one.engine)
    one.engine.exchange(SECRET, SECRET)
    turn(one, 9, stt_ms=321.0)
    one.engine.emit(
        Failed(
            "The part {part} failed unexpectedly ({reason}). The conversation goes on; see the log if it recurs.",
            {"part": "llm", "reason": f"ValueError: {SECRET}"},
            "",
            False,
        )
    )
    one.engine.emit(Failed(SECRET, {}, "", False))
    ours, other = logging.getLogger("kazeia_desktop.x"), logging.getLogger("other")
    try:
        raise ValueError(SECRET)
    except ValueError:
        ours.exception("a clause of %d words failed: %s", 12, SECRET)
        other.warning(SECRET)
    page = page_of(one)
    QGuiApplication.clipboard().setText("")
    page.diagnostics.click()
    one.until(lambda: bool(QGuiApplication.clipboard().text()))
    text = QGuiApplication.clipboard().text()
    for word in (SECRET, "Quimper", "grand-mère"):
        assert word not in text
    for wanted in (
        "kazeia 0.", "python 3.", "onnxruntime ", "platform: ", "processor: ", "microphones: Micro USB",
        "models of the own voice: 0", "stt: whisper-base, int8, CPU", "tts: Qwen3-TTS, …",
        f"llm.persona = ({len(SECRET)} characters)", "llm.temperature = 1.25", "stt_ms: ", "state: listening",
        "The part llm failed unexpectedly (ValueError …)", "a clause of 12 words failed: …",
        "ValueError < test_activity_page.py:", "WARNING other", "WARNING kazeia_desktop.llm.base", "screen: offscreen",
    ):  # fmt: skip
        assert wanted in text, wanted
    assert page.diagnostics.isEnabled()
    one.until(lambda: "Le diagnostic est copié" in page.news.text())


def test_only_changed_settings_are_told() -> None:
    assert list(diagnostics._changed(Settings(), ())) == []
    changed = with_value(with_value(Settings(), "audio.duplex", "full"), "audio.input_device", "Casque de Léa")
    assert list(diagnostics._changed(changed, ())) == [
        "audio.input_device = (another device than the system's)",
        "audio.duplex = full",
    ]


def test_leaving_nothing_running(opened: Opener) -> None:
    one = opened()
    page_of(one)
    started = time.monotonic()
    one.close()
    assert one.window.ended_in_time and time.monotonic() - started < 2


@pytest.mark.parametrize("language", ["fr", "en"])
@pytest.mark.parametrize("width", [1280, 1000, 700])
def test_no_word_of_the_table_is_cut(opened: Opener, width: int, language: str) -> None:
    one = opened(values={"appearance.language": language})
    one.window.resize(width, 900)
    page = page_of(one)
    turn(one, 1, first_audio_ms=12_345.0, total_ms=100_000.0)
    one.until(lambda: page.table.turns.rowCount() > 0)
    one.settle()
    table, turns = page.table, page.table.turns
    for column in range(turns.columnCount()):
        assert 0 < table.sizeHintForColumn(column) <= table.columnWidth(column), column
    total = sum(table.columnWidth(column) for column in range(turns.columnCount()))
    assert total <= table.viewport().width() or table.horizontalScrollBar().isVisible()
