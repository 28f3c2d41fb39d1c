"""The page of models: by kind, with size, licence and source; getting, checking, converting, deleting, using."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.card import plain_label, say
from kazeia_desktop.gui.drop_target import DropTarget
from kazeia_desktop.gui.jobs import Job
from kazeia_desktop.gui.models import told, work
from kazeia_desktop.gui.models.import_part import ImportPart
from kazeia_desktop.gui.models.listing import Kind, ModelListing, look_up
from kazeia_desktop.gui.models.queue import ModelQueue, Phase, Task, Verb
from kazeia_desktop.gui.models.row import ModelRow
from kazeia_desktop.gui.models.smaller_part import Sizes, split
from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.settings.schema import Settings

_KINDS: Final[tuple[Kind, ...]] = ("llm", "stt", "voice", "vad")
_ROWS_AT_ONCE: Final = 1
"""Made between two turns of the event loop, which must not stand still."""


class ModelsPage(DropTarget, Page):
    """Reads the disk when it is shown and after each change; nothing here uses the network but "Get"."""

    in_parts = True

    def __init__(self, context: PageContext, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(context, tokens, parent)
        self.rows: dict[str, ModelRow] = {}
        self.listing: ModelListing | None = None
        self._loading: Job | None = None
        self._stale = False
        self._made_of: dict[str, tuple[str, int]] = {}  # smaller models of this run: of what, and its bytes
        self._sizing: dict[str, Job] = {}
        self._made: set[str] = set()  # in this run of Kazeia: the voice that was loaded before still speaks
        self._watched = _watched(context.settings())
        self.queue = ModelQueue.of(context)
        self.intro = plain_label("quiet")
        self.own = ImportPart(context, tokens)
        self._headings: dict[Kind | None, QLabel] = {}
        self._lists: dict[Kind | None, QVBoxLayout] = {}
        self.column.addWidget(self.intro)
        for kind in (None, *_KINDS):  # None: what is still to be made
            self._headings[kind] = plain_label("section")
            self._headings[kind].hide()
            self._lists[kind] = QVBoxLayout()
            self._lists[kind].setSpacing(GRID)
            self.column.addWidget(self._headings[kind])
            self.column.addLayout(self._lists[kind])
        self.column.addWidget(self.own)
        self.column.addStretch(1)
        self.setAcceptDrops(True)
        self.own.take_wanted.connect(self._take_in)
        self.own.convert_wanted.connect(self._convert_own)
        self.queue.changed.connect(self._task_changed)
        self.queue.finished.connect(self._finished)
        self.dress(tokens)
        self.retranslate()

    def title_text(self) -> str:
        return self.context.words.tr("Models")

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        rows = itertools.chain.from_iterable(row.controls for row in self.rows.values())
        return (self.back, *rows, *self.own.controls)

    def prepare(self) -> None:
        self.reload()

    def settings_changed(self, settings: Settings) -> None:
        watched, self._watched = self._watched, _watched(settings)
        if self._watched != watched and self.isVisible():
            self.reload()

    # The list

    def reload(self) -> None:
        """Look everything up again."""
        if self._loading is not None:
            self._stale = True
            return
        paths, settings = self.context.paths, self.context.settings()
        self._loading = self.context.jobs.run(
            "list-models", lambda *_: look_up(paths, settings), self._listed, self._not_listed
        )

    def _listed(self, listing: ModelListing) -> None:
        self._loading = None
        if self.context.settings().tts.engine == "auto":
            items = tuple(replace(item, used=item.used and item.key not in self._made) for item in listing.items)
            listing = replace(listing, items=items)
        self.listing = listing
        for task in self.queue.tasks:
            if task.phase is Phase.DONE and task.verb is not Verb.VERIFY:
                self.queue.forget(task.key)
        self._fill()
        if self._stale:
            self._stale = False
            self.reload()

    def _not_listed(self, error: KazeiaError) -> None:
        self._loading = None
        say(self.intro, told.error(error, self.context.words))

    def _fill(self) -> None:
        listing = self.listing
        if listing is None:
            return
        kinds: dict[str, Kind | None] = {task.key: None for task in self.queue.tasks}
        kinds |= {item.key: item.kind for item in listing.items}
        for key in [key for key in self.rows if key not in kinds]:
            self._drop(key)
        made = 0
        for key, kind in kinds.items():
            layout = self._lists[kind]
            row = self.rows.get(key)
            if row is not None and layout.indexOf(row) < 0:  # a new model is there now
                self._drop(key)
                row = None
            if row is None:
                if made == _ROWS_AT_ONCE:
                    QTimer.singleShot(0, self, self._fill)
                    break
                made += 1
                row = self.rows[key] = self._row(key)
                layout.addWidget(row)
                self.made.emit(row)
            row.made_of = self._made_of.get(key)
            row.show_model(listing.item(key), self.queue.task(key))
        order = [key for kind in (None, *_KINDS) for key in kinds if kinds[key] == kind and key in self.rows]
        self.rows = {key: self.rows[key] for key in order}
        for first, second in itertools.pairwise(self.tab_order):
            QWidget.setTabOrder(first, second)
        self._tell()

    def _row(self, key: str) -> ModelRow:
        row = ModelRow(key, self.context.words, self.tokens)
        queue = self.queue
        row.get_wanted.connect(lambda key: queue.get(key, self._title(key)))
        row.verify_wanted.connect(lambda key: queue.verify(key, self._title(key)))
        row.pause_wanted.connect(queue.pause)
        row.again_wanted.connect(queue.again)
        row.cancel_wanted.connect(self._cancel)
        row.use_wanted.connect(self._use)
        row.convert_wanted.connect(self._convert)
        row.delete_wanted.connect(self._delete)
        row.size_wanted.connect(self._work_out_size)
        row.smaller_wanted.connect(self._make_smaller)
        return row

    def _drop(self, key: str) -> None:
        row = self.rows.pop(key)
        row.hide()
        row.setParent(None)
        row.deleteLater()

    def _title(self, key: str) -> str:
        item = self.listing.item(key) if self.listing is not None else None
        return item.title if item is not None else key

    def _tell(self) -> None:
        words, listing = self.context.words, self.listing
        tr = words.tr
        titles: dict[Kind | None, str] = {
            None: tr("Being made"), "llm": tr("Language models: what Kazeia answers with"),
            "stt": tr("Speech recognition: what Kazeia hears with"), "voice": tr("Voices: what Kazeia speaks with"),
            "vad": tr("Speech detection: when somebody speaks"),
        }  # fmt: skip
        for kind, heading in self._headings.items():
            heading.setText(titles[kind])
            heading.setVisible(self._lists[kind].count() > 0)
        if listing is not None:
            say(
                self.intro,
                tr(
                    "Models take {used} in {folder}; {free} are free. Nothing is fetched before you ask for it.",
                    used=told.size(listing.used_bytes, words), free=told.size(listing.free_bytes, words),
                    folder=told.folder(listing.models_dir),
                ),
            )  # fmt: skip

    # Tasks

    def _task_changed(self, key: str) -> None:
        row, task = self.rows.get(key), self.queue.task(key)
        listing = self.listing
        if row is not None and listing is not None:
            item = listing.item(key)
            if item is None and task is None:
                self._fill()
                return
            row.show_model(item, task)
            if task is None:
                self.reload()  # what was on the disk may be gone
        elif task is not None:
            self._fill()

    def _finished(self, task: Task) -> None:
        if task.verb in (Verb.CONVERT, Verb.IMPORT):
            self._made.add(task.key)
        self.reload()

    def _cancel(self, key: str) -> None:
        if self.queue.task(key) is not None:
            self.queue.cancel(key)
            return
        paths = self.context.paths  # what an earlier run of Kazeia had fetched of it

        def failed(error: KazeiaError) -> None:
            self.rows[key].set_error(told.error(error, self.context.words))

        self.context.jobs.run(
            "discard-download", lambda cancel, _: work.discard(paths, key, cancel), lambda _: self.reload(), failed
        )

    def _use(self, key: str) -> None:
        item = self.listing.item(key) if self.listing is not None else None
        if item is not None:
            self.context.change_all(item.settings)

    def _delete(self, key: str) -> None:
        item = self.listing.item(key) if self.listing is not None else None
        if item is None:
            return
        self.queue.forget(key)

        def failed(error: KazeiaError) -> None:
            if key in self.rows:
                self.rows[key].set_error(told.error(error, self.context.words))

        self.context.jobs.run(
            "delete-model", lambda cancel, _: work.delete(item.path, cancel), lambda _: self.reload(), failed
        )

    def _convert(self, key: str, dtype: str) -> None:
        item = self.listing.item(key) if self.listing is not None else None
        if item is not None:
            self._convert_as(item.path, f"{key}-{dtype}", item.title, dtype)

    def _work_out_size(self, key: str, choice: str) -> None:
        item = self.listing.item(key) if self.listing is not None else None
        if key in self._sizing:
            self._sizing.pop(key).cancel()
        if item is None or item.gguf is None:
            return
        (dtype, pure), file, row = split(choice), item.gguf, self.rows[key]

        def known(sizes: tuple[int, int]) -> None:
            if self.rows.get(key) is row and row.part.choice == choice:
                row.part.show_sizes(Sizes(*sizes))

        def failed(error: KazeiaError) -> None:
            if self.rows.get(key) is row and row.part.choice == choice:
                row.part.show_problem(told.error(error, self.context.words))

        self._sizing[key] = self.context.jobs.run(
            "size-of-model", lambda cancel, _: work.sizes(file, dtype, pure, cancel), known, failed
        )

    def _make_smaller(self, key: str, choice: str) -> None:
        item = self.listing.item(key) if self.listing is not None else None
        if item is None or item.gguf is None:
            return
        paths, (dtype, pure), file = self.context.paths, split(choice), item.gguf

        def named(name: str) -> None:
            self._made_of[name] = (item.title, item.size or 0)
            self.queue.requantize(file, name, f"{item.title}, {dtype.upper()}", dtype, pure)

        self.context.jobs.run("name-model", lambda *_: work.free_name(paths, f"{key}-{dtype}"), named)

    def _convert_own(self, path: Path, name: str, dtype: str) -> None:
        self._convert_as(path, name if name.endswith(dtype) else f"{name}-{dtype}", path.name, dtype)

    def _convert_as(self, path: Path, wanted: str, title: str, dtype: str) -> None:
        paths = self.context.paths
        self.context.jobs.run(
            "name-model", lambda *_: work.free_name(paths, wanted),
            lambda name: self.queue.convert(path, name, f"{title}, {dtype}", dtype),
        )  # fmt: skip

    def _take_in(self, path: Path, kind: str, name: str) -> None:
        self.queue.take_in(path, kind, name, path.stem if kind == "llm" else path.name)

    # A file or folder dropped anywhere on the page

    def take(self, path: Path) -> None:
        self.scroll_area.ensureWidgetVisible(self.own)
        self.own.open(path)

    # Language

    def retranslate(self) -> None:
        super().retranslate()
        self._tell()
        self.own.retranslate()
        for row in self.rows.values():
            row.retranslate()


def _watched(settings: Settings) -> tuple[str, ...]:
    """The settings that say which models are in use."""
    tts = settings.tts
    return (settings.stt.model, settings.llm.model, tts.engine, tts.model, tts.voice)
