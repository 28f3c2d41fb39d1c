"""The kept conversations: look through, search, open, rename, delete, export; what is kept; the note of facts."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.conversations.ask_bar import AskBar
from kazeia_desktop.gui.conversations.delegate import ConversationDelegate
from kazeia_desktop.gui.conversations.delete_all import DeleteAll
from kazeia_desktop.gui.conversations.facts_editor import FactsEditor
from kazeia_desktop.gui.conversations.keeper import Keeper, Listed
from kazeia_desktop.gui.conversations.model import ConversationList, Index
from kazeia_desktop.gui.conversations.privacy_switch import PrivacySwitch
from kazeia_desktop.gui.shortcuts import Shortcuts
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.memory.conversations import Summary

_TYPING_MS: Final = 200
"""After the last letter of a search."""


class _List(QListView):
    """Leaves Space to the window, where it interrupts."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            event.ignore()
        else:
            super().keyPressEvent(event)


class Sidebar(QWidget):
    """Emits what the user wants of the engine; does the rest through `keeper`."""

    open_wanted = Signal(int)
    new_wanted = Signal()
    keep_wanted = Signal(bool)
    close_wanted = Signal()

    def __init__(
        self,
        keeper: Keeper,
        keeps: bool,
        shortcuts: Shortcuts,
        words: Words,
        tokens: Tokens,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._shortcuts = shortcuts
        self.keeper = keeper
        self._words = words
        self._tokens = tokens
        self._told: Callable[[], str] = str
        self._total = 0
        self._shown_for = ""
        self.model = ConversationList(words, parent=self)
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

        self.title = QLabel(self)
        self.title.setObjectName("section")
        self.new = self._tool()
        self.new.clicked.connect(self.new_wanted)
        self.close_button = self._tool()
        self.close_button.clicked.connect(self.close_wanted)
        self.search = QLineEdit(self)
        self.search.setClearButtonEnabled(True)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._typing.timeout.connect(self.refresh)
        self.search.textChanged.connect(lambda _: self._typing.start())
        self.privacy = PrivacySwitch(keeps, words, tokens, self)
        self.privacy.wanted.connect(self.keep_wanted)
        self.empty = QLabel(self)
        self.empty.setObjectName("quiet")
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.empty.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 0)
        self.view = self._make_view()
        self.note = QLabel(self)
        self.note.setObjectName("quiet")
        self.note.setWordWrap(True)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setContentsMargins(GRID, 0, GRID, 0)
        self.note.hide()
        self.ask = AskBar(words, self)
        self.facts_button = QPushButton(self)
        self.facts_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.facts_button.clicked.connect(self.show_facts)
        self.facts = FactsEditor(keeper, words, tokens)
        self.facts.done.connect(self.show_list)
        self.delete_all = DeleteAll(words, tokens, self)
        self.delete_all.hide()
        self._build()
        self.menu = QMenu(self)
        self._make_actions()

        keeper.listed.connect(self._listed)
        keeper.changed.connect(self.refresh)
        keeper.failed.connect(self._failed)
        keeper.exported.connect(self._exported)
        self.model.renamed.connect(keeper.rename)
        self.dress(tokens)
        self.retranslate()

    def _tool(self) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName("flat")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _make_view(self) -> QListView:
        view = _List(self)
        view.setObjectName("conversations")
        view.setModel(self.model)
        self.delegate = ConversationDelegate(self.model, self._tokens, view)
        self.delegate.menu_wanted.connect(self._menu_at_dots)
        view.setItemDelegate(self.delegate)
        view.setMouseTracking(True)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._menu_at)
        view.clicked.connect(self._clicked)
        view.activated.connect(self._open)
        return view

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(GRID, 0, 0, 0)
        head.setSpacing(0)
        head.addWidget(self.title, 1)
        head.addWidget(self.new)
        head.addWidget(self.close_button)
        top = QVBoxLayout()
        top.setContentsMargins(GRID, GRID // 2, GRID, GRID)
        top.setSpacing(GRID)
        top.addLayout(head)
        top.addWidget(self.privacy)
        top.addWidget(self.search)
        foot = QVBoxLayout()
        foot.setContentsMargins(GRID, GRID, GRID, GRID)
        foot.setSpacing(GRID)
        foot.addWidget(self.note)
        foot.addWidget(self.ask)
        foot.addWidget(self.facts_button)
        foot.addWidget(self.delete_all)
        kept = QWidget()
        box = QVBoxLayout(kept)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addLayout(top)
        box.addWidget(self.empty, 1)
        box.addWidget(self.view, 1)
        box.addLayout(foot)
        self.stack = QStackedWidget(self)
        self.stack.addWidget(kept)
        self.stack.addWidget(self.facts)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 1, 0)  # the line at the edge is seen
        whole.addWidget(self.stack)

    def _make_actions(self) -> None:
        """The menu of a row; its keys work in the list too."""
        self._open_action, self._rename_action, self._export_action, self._delete_action = (
            QAction(self.view) for _ in range(4)
        )
        for action, keys, act in (
            (self._open_action, "", lambda: self._open(self.view.currentIndex())),
            (self._rename_action, "F2", lambda: self.view.edit(self.view.currentIndex())),
            (self._export_action, "Ctrl+E", self._export),
            (self._delete_action, "Del", self._ask_to_delete),
        ):
            if keys and keys != "F2":  # F2 is the view's own
                action.setShortcut(QKeySequence(keys))
                action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
                self.view.addAction(action)
            action.triggered.connect(act)
            self.menu.addAction(action)

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        return (
            self.new, self.close_button, self.privacy.switch, self.search, self.view, self.ask.no, self.ask.yes,
            self.facts_button, *self.delete_all.tab_order, *self.facts.tab_order,
        )  # fmt: skip

    # What is shown

    def prepare(self) -> None:
        """The sidebar is about to be seen."""
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Look up what is kept now, or what the search finds."""
        self.keeper.refresh(self.search.text())

    def conversation_opened(self, conversation: int | None) -> None:
        """The engine goes on with this conversation, or with a new one."""
        self.model.set_current(conversation)
        self.refresh()

    def show_keeps(self, keeps: bool) -> None:
        """Whether conversations are kept, as the settings say."""
        self.privacy.show_keeps(keeps)
        self._show_empty()

    @Slot(object)
    def _listed(self, listed: Listed) -> None:
        if self.view.state() == QAbstractItemView.State.EditingState:
            QTimer.singleShot(_TYPING_MS, self.refresh)  # not under the hands of who writes a title
            return
        chosen = self._chosen()
        self._total, self._shown_for = listed.total, listed.wanted.strip()
        self.model.show_found(listed.found, listed.current if listed.known else self.model.current, listed.wanted)
        row = self.model.row_of(chosen.id if chosen is not None else None)
        if row >= 0:
            self.view.setCurrentIndex(self.model.index(row))
        self._show_empty()

    def _show_empty(self) -> None:
        tr = self._words.tr
        if self._shown_for:
            told = tr("Nothing was found for “{wanted}”.", wanted=self._shown_for)
        elif self.privacy.switch.isChecked():
            told = tr("What you talk about with Kazeia will be found here.")
        else:
            told = tr("Nothing is kept. Switch it on to find your conversations here.")
        self.empty.setText(told)
        empty = not self.model.rows
        self.empty.setVisible(empty)
        self.view.setVisible(not empty)
        self.search.setEnabled(self._total > 0 or bool(self.search.text()))
        self.delete_all.show_total(self._total)

    def focus_search(self) -> None:
        """To search all conversations."""
        self.show_list()
        (self.search if self.search.isEnabled() else self.new).setFocus()

    def take_focus(self) -> None:
        """The keyboard's place in the list when it opens."""
        (self.view if self.view.isVisible() else self.new).setFocus()

    def show_facts(self) -> None:
        """The note about the user, in the place of the list."""
        self.stack.setCurrentWidget(self.facts)
        self.facts.prepare()

    def show_list(self) -> None:
        """Back from the note."""
        self.stack.setCurrentIndex(0)

    # What the user does with a row

    def _chosen(self) -> Summary | None:
        row = self.model.at(self.view.currentIndex())
        return None if row is None else row.conversation

    @Slot(QModelIndex)
    def _clicked(self, index: QModelIndex) -> None:
        if not self.menu.isVisible():  # else the three dots were touched
            self._open(index)

    @Slot(QModelIndex)
    def _open(self, index: Index) -> None:
        row = self.model.at(index)
        if row is not None and row.conversation is not None and row.conversation.id != self.model.current:
            self.open_wanted.emit(row.conversation.id)

    def _menu_at(self, place: QPoint) -> None:
        index = self.view.indexAt(place)
        if not index.isValid():  # by the keyboard's menu key
            index = self.view.currentIndex()
            place = self.view.visualRect(index).center()
        self._show_menu(index, self.view.viewport().mapToGlobal(place))

    def _menu_at_dots(self, index: QModelIndex) -> None:
        self._show_menu(index, self.view.viewport().mapToGlobal(self.view.visualRect(index).bottomRight()))

    def _show_menu(self, index: QModelIndex, place: QPoint) -> None:
        row = self.model.at(index)
        if row is not None and row.conversation is not None:
            self.view.setCurrentIndex(index)
            self.menu.popup(place)

    def _ask_to_delete(self) -> None:
        chosen = self._chosen()
        if chosen is not None:
            self._tell(None)
            self.ask.ask_to_delete(chosen.title, lambda: self._delete(chosen.id))

    def _delete(self, conversation: int) -> None:
        self.keeper.delete(conversation)
        self.view.setFocus()

    def _export(self) -> None:
        chosen = self._chosen()
        if chosen is None:
            return
        tr = self._words.tr
        dialog = QFileDialog(self, tr("Export the conversation"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([tr("Text (Markdown) (*.md)"), tr("Data (JSON) (*.json)")])
        dialog.setDefaultSuffix("md")
        dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix("json" if "json" in name else "md"))
        dialog.selectFile(_file_name(chosen.title))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self.keeper.export(chosen.id, Path(path)))
        dialog.open()

    # News

    def _tell(self, told: Callable[[], str] | None) -> None:
        """A quiet line; None takes it away."""
        self._told = told or str
        self.note.setText(self._told())
        self.note.setVisible(told is not None)

    def erased(self) -> None:
        """All conversations were deleted."""
        if self.model.current is not None:
            self.keeper.deleted.emit(self.model.current)
        self.keeper.changed.emit()
        self._tell(lambda: self._words.tr("All conversations are deleted."))
        self.new.setFocus()

    @Slot(object)
    def _failed(self, error: KazeiaError) -> None:
        self._tell(lambda: self._words.told(error.template, error.values))
        self.facts.text.setEnabled(True)

    @Slot(str)
    def _exported(self, path: str) -> None:
        self._tell(lambda: self._words.tr("Written to {path}.", path=path))

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.delegate.tokens = tokens
        self.new.setIcon(icons.icon("plus", tokens.text, 20))
        self.close_button.setIcon(icons.icon("close", tokens.text, 18))
        self.facts_button.setIcon(icons.icon("note", tokens.text, 18))
        self.privacy.dress(tokens)
        self.facts.dress(tokens)
        self.delete_all.dress(tokens)
        self.view.viewport().update()

    def retranslate(self) -> None:
        tr = self._words.tr
        self.title.setText(tr("Conversations"))
        self.new.setToolTip(self._shortcuts.with_keys(tr("New conversation"), "new"))
        self.new.setAccessibleName(tr("New conversation"))
        self.close_button.setToolTip(tr("Close the list of conversations"))
        self.close_button.setAccessibleName(tr("Close the list of conversations"))
        self.search.setPlaceholderText(tr("Search the conversations"))
        self.search.setAccessibleName(tr("Search the conversations"))
        self.view.setAccessibleName(tr("Conversations"))
        self.view.setAccessibleDescription(tr("Enter opens, F2 renames, Delete deletes, Ctrl+E exports."))
        self.facts_button.setText(tr("Note about you"))
        self.facts_button.setToolTip(tr("What Kazeia should always know"))
        self._open_action.setText(tr("Open"))
        self._rename_action.setText(tr("Rename (F2)"))
        self._export_action.setText(tr("Export…"))
        self._delete_action.setText(tr("Delete…"))
        self.model.retranslate()
        self.privacy.retranslate()
        self.ask.retranslate()
        self.facts.retranslate()
        self.delete_all.retranslate()
        self.note.setText(self._told())
        self._show_empty()


def _file_name(title: str) -> str:
    """A title as a name that every system takes."""
    plain = "".join(c if c.isalnum() or c in " -_'" else " " for c in title)
    return " ".join(plain.split())[:60] or "conversation"
