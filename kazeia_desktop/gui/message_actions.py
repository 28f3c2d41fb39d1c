"""What can be done with a message, and doing it: by menu, by the tools under the mouse, by keys."""

from enum import StrEnum
from functools import partial
from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QMessageBox, QToolButton

from kazeia_desktop.events import ConversationOpened, State, TurnsRemoved
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.bubble import Bubble
from kazeia_desktop.gui.chat_view import ChatView
from kazeia_desktop.gui.find_bar import FindBar
from kazeia_desktop.gui.theme import NARROW_PX, Tokens
from kazeia_desktop.gui.transcript import Speaker, Transcript
from kazeia_desktop.gui.words import Words

_LINGER_MS: Final = 120
"""So long the tools stay when the mouse is between the bubble and them."""


class Action(StrEnum):
    COPY = "copy"
    REPLAY = "replay"
    REGENERATE = "regenerate"
    EDIT = "edit"
    DELETE = "delete"


_ICONS: Final = {
    Action.COPY: "copy", Action.REPLAY: "replay", Action.REGENERATE: "regenerate", Action.EDIT: "edit",
    Action.DELETE: "delete",
}  # fmt: skip


def title(action: Action, words: Words) -> str:
    """What a menu calls it."""
    tr = words.tr
    return {
        Action.COPY: tr("Copy this message"),
        Action.REPLAY: tr("Listen again"),
        Action.REGENERATE: tr("Answer anew"),
        Action.EDIT: tr("Edit and send anew"),
        Action.DELETE: tr("Delete this exchange"),
    }[action]


def actions_of(transcript: Transcript, row: int) -> list[Action]:
    """What can be done with the message of a row now.

    What another engine was told (the application was loaded anew since) can only be copied and heard.
    """
    message = transcript.message(row)
    found = [Action.COPY] if message.text else []
    ours = transcript.engine_turn(message) is not None
    if message.speaker is Speaker.KAZEIA:
        heard = message.settled > 0 if message.ended == "interrupted" else bool(message.text and message.ended)
        if transcript.spoken and heard:
            found.append(Action.REPLAY)
        if message.ended and transcript.last_answer == row:
            found.append(Action.REGENERATE)
    elif ours and message.text:
        if message.ended == "interrupted" and row == transcript.rowCount() - 1:
            found.append(Action.REGENERATE)
        found.append(Action.EDIT)
    if ours:
        found.append(Action.DELETE)
    return found


class MessageTools(QFrame):
    """A few buttons at the upper edge of the bubble under the mouse. The menu has them all, for keys and fingers."""

    def __init__(self, chat: ChatView, actions: "MessageActions") -> None:
        super().__init__(chat.viewport())
        self._chat = chat
        self._actions = actions
        self._bubble: Bubble | None = None
        self.setObjectName("kazeiaMessage")
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(0)
        self.buttons: dict[Action, QToolButton] = {}
        for action in (Action.COPY, Action.REPLAY, Action.REGENERATE, Action.EDIT):
            button = QToolButton(self)
            button.setObjectName("chip")
            button.clicked.connect(partial(self._do, action))
            self.buttons[action] = button
            row.addWidget(button)
        self._gone = QTimer(self)
        self._gone.setSingleShot(True)
        self._gone.setInterval(_LINGER_MS)
        self._gone.timeout.connect(self._hide_unless_pointed)
        self.hide()
        chat.pointed.connect(self._pointed)
        chat.moved.connect(self._follow)

    def dress(self, tokens: Tokens) -> None:
        for action, button in self.buttons.items():
            button.setIcon(icons.icon(_ICONS[action], tokens.quiet, 16))

    def retranslate(self, words: Words) -> None:
        for action, button in self.buttons.items():
            button.setToolTip(title(action, words))
            button.setAccessibleName(title(action, words))

    def _pointed(self, bubble: Bubble, there: bool) -> None:
        if not there:
            self._gone.start()
        elif self._chat.window().width() >= NARROW_PX and bubble.editor is None:
            self._gone.stop()
            self._bubble = bubble
            self._follow()

    def _follow(self) -> None:
        """Stay at the bubble; hide when it is elsewhere."""
        bubble, row = self._bubble, None
        if bubble is not None and bubble.underMouse():
            row = self._chat.row_of(bubble)
        if bubble is None or row is None:
            self._bubble = None
            self.hide()
            return
        possible = self._actions.of(row)
        for action, button in self.buttons.items():
            button.setVisible(action in possible)
        if not possible:
            self.hide()
            return
        self.adjustSize()
        x = bubble.x() + bubble.more.x() - self.width() - 4
        self.move(max(0, x), max(0, bubble.y() - self.height() // 2))
        self.show()
        self.raise_()

    def _hide_unless_pointed(self) -> None:
        if not self.underMouse() and (self._bubble is None or not self._bubble.underMouse()):
            self._bubble = None
            self.hide()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._gone.start()

    def _do(self, action: Action) -> None:
        row = None if self._bubble is None else self._chat.row_of(self._bubble)
        if row is not None:
            self._actions.do(action, row)


class MessageActions(QObject):
    """Joins what is shown of a conversation to the engine.

    Args:
        bridge: tells what is forgotten, replayed, or taken up again.
    """

    def __init__(
        self, chat: ChatView, transcript: Transcript, bridge: EngineBridge, words: Words, tokens: Tokens
    ) -> None:
        super().__init__(chat)
        self._chat = chat
        self._transcript = transcript
        self._bridge = bridge
        self._words = words
        self._tokens = tokens
        self.menu: QMenu | None = None
        self.question: QMessageBox | None = None
        self.tools = MessageTools(chat, self)
        self.find = FindBar(chat, transcript, words)
        self._dress(tokens)
        self._retranslate()
        chat.dressed.connect(self._dress)
        chat.retranslated.connect(self._retranslate)
        chat.menu_wanted.connect(self._show_menu)
        chat.edited.connect(self._edit)
        bridge.state_changed.connect(self._state_changed)
        bridge.turns_removed.connect(self._turns_removed)
        bridge.replay_started.connect(transcript.replay_started)
        bridge.conversation_opened.connect(self._opened)

    def _dress(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.tools.dress(tokens)
        self.find.dress(tokens)

    def _retranslate(self) -> None:
        self.tools.retranslate(self._words)
        self.find.retranslate()

    def of(self, row: int) -> list[Action]:
        """What can be done with a row."""
        return actions_of(self._transcript, row)

    def do(self, action: Action, row: int) -> None:
        """Do it; nothing happens when it is no longer possible."""
        if action not in self.of(row):
            return
        message = self._transcript.message(row)
        turn = self._transcript.engine_turn(message)
        match action:
            case Action.COPY:
                QGuiApplication.clipboard().setText(message.text)
            case Action.REPLAY:
                said = message.text[: message.settled] if message.ended == "interrupted" else message.text
                self._bridge.command(lambda engine: engine.replay(turn or 0, said))
            case Action.REGENERATE:
                self._bridge.command(lambda engine: engine.regenerate())
            case Action.EDIT:
                self._chat.reveal(row)
                bubble = self._chat.bubble_at(row)
                if bubble is not None:
                    bubble.edit()
            case Action.DELETE:
                self._ask_delete(row)

    def cancel(self) -> bool:
        """Escape: end what is being edited, or the search; whether there was something."""
        for bubble in self._chat.bubbles:
            if bubble.editor is not None:
                bubble.end_edit()
                return True
        if self.find.isVisible():
            self.find.close_bar()
            return True
        return False

    def _show_menu(self, row: int, place: QPoint) -> None:
        tr = self._words.tr
        self.menu = menu = QMenu(self._chat)
        bubble = self._chat.bubble_at(row)
        if bubble is not None and bubble.text.hasSelectedText():
            chosen = bubble.text.selectedText()
            menu.addAction(tr("Copy the selection"), partial(QGuiApplication.clipboard().setText, chosen))
        for action in self.of(row):
            if action is Action.DELETE:
                menu.addSeparator()
            entry = menu.addAction(icons.icon(_ICONS[action], self._tokens.text, 16), title(action, self._words))
            entry.triggered.connect(partial(self.do, action, row))
        if not menu.isEmpty():
            menu.popup(place)

    def _ask_delete(self, row: int) -> None:
        tr = self._words.tr
        message = self._transcript.message(row)
        box = self.question = QMessageBox(self._chat)
        box.setWindowTitle("Kazeia")
        box.setText(tr("Delete this exchange?"))
        box.setInformativeText(tr("What you said and the answer are forgotten, also where they are kept."))
        delete = box.addButton(tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        cancel = box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(cancel)
        box.setEscapeButton(cancel)

        def done() -> None:
            turn = self._transcript.engine_turn(message)
            if box.clickedButton() is delete and turn is not None:
                self._bridge.command(lambda engine: engine.delete_turn(turn))
            box.deleteLater()
            self.question = None

        box.finished.connect(done)
        box.open()

    def _edit(self, row: int, text: str) -> None:
        turn = self._transcript.engine_turn(self._transcript.message(row))
        if turn is not None:
            self._bridge.command(lambda engine: engine.edit(turn, text))

    def _state_changed(self, state: State) -> None:
        self._transcript.hearing(state is State.HEARING)

    def _turns_removed(self, gone: TurnsRemoved) -> None:
        self._transcript.turns_removed(gone.first, gone.last)

    def _opened(self, opened: ConversationOpened) -> None:
        self._transcript.show_conversation(opened.exchanges)
