"""One message as it is seen: who, what, and small quiet facts under it."""

import math
from typing import Final

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QEnterEvent, QGuiApplication, QTextDocument
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.message_chips import LatencyChips, breakdown, headlines, when
from kazeia_desktop.gui.message_editor import MessageEditor
from kazeia_desktop.gui.message_markup import Block, Look, code_of, parse, plain, to_html
from kazeia_desktop.gui.theme import GRID, SMALL_PX, Tokens
from kazeia_desktop.gui.transcript import Message, Speaker
from kazeia_desktop.gui.words import Words

_PADDING: Final = 14
_SLACK: Final = 2  # the focus border of the text, and rounding of text widths
_LONGEST: Final = 20_000
"""Characters of a message that are drawn; a longer text would keep the window from everything else."""


class Bubble(QFrame):
    """Draws one Message after the other: `bind` gives it another one, `show_message` follows each change of it."""

    menu_wanted = Signal(object)  # QPoint, global
    resized = Signal()  # another height is needed
    pointed = Signal(bool)  # the mouse came or left
    edited = Signal(str)  # what the user said is to be this

    def __init__(self, message: Message, words: Words, tokens: Tokens, parent: QWidget) -> None:
        super().__init__(parent)
        self.message = message
        self._words = words
        self._tokens = tokens
        self._width = 480
        self._made = False
        self._marks: tuple[tuple[int, int], ...] = ()
        self._current_mark = -1
        self.editor: MessageEditor | None = None
        user = message.speaker is Speaker.USER
        self.setObjectName("userMessage" if user else "kazeiaMessage")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

        self._name = QLabel(self)
        self._name.setObjectName("userName" if user else "kazeiaName")
        self.text = QLabel(self)
        self.text.setObjectName("messageText")
        self.text.setTextFormat(Qt.TextFormat.RichText)
        self.text.setWordWrap(True)
        self.text.setIndent(0)
        flags = Qt.TextInteractionFlag
        self.text.setTextInteractionFlags(
            flags.TextSelectableByMouse
            | flags.TextSelectableByKeyboard
            | flags.LinksAccessibleByMouse
            | flags.LinksAccessibleByKeyboard
        )
        self.text.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the bubble's
        self.text.linkActivated.connect(self._link)
        self.text.linkHovered.connect(self._link_hovered)
        self.fate = QLabel(self)
        self.fate.setObjectName("quiet")
        self.chip = LatencyChips(self)
        self.chip.toggled.connect(self._chip_toggled)
        self.more = QToolButton(self)
        self.more.setObjectName("chip")
        self.more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.more.setCursor(Qt.CursorShape.PointingHandCursor)
        keep = self.more.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.more.setSizePolicy(keep)
        self.more.clicked.connect(lambda: self.menu_wanted.emit(self.more.mapToGlobal(QPoint(0, self.more.height()))))
        self.breakdown = QLabel(self)
        self.breakdown.setObjectName("quiet")
        self.breakdown.setWordWrap(True)

        self._foot = QWidget(self)
        foot = QHBoxLayout(self._foot)
        foot.setContentsMargins(0, 2, 0, 0)
        foot.setSpacing(GRID)
        foot.addWidget(self.fate)
        foot.addWidget(self.chip)
        foot.addStretch(1)
        self._said = QVBoxLayout()
        self._said.setSpacing(2)
        self._said.addWidget(self._name)
        self._said.addWidget(self.text)
        self._said.addWidget(self._foot)
        self._said.addWidget(self.breakdown)
        self._said.addStretch(1)
        box = QHBoxLayout(self)
        box.setContentsMargins(_PADDING, GRID, GRID // 2, GRID + 3)
        box.setSpacing(GRID // 2)
        box.addLayout(self._said, 1)
        box.addWidget(self.more, 0, Qt.AlignmentFlag.AlignTop)
        box.addSpacing(GRID // 2)
        self.dress(tokens)
        self.retranslate()
        self._made = True
        self.show_message()

    def bind(self, message: Message) -> None:
        """Draw another message of the same speaker from now on."""
        self.message = message
        self.text.setText("")  # a selection was the other message's
        self._marks, self._current_mark = (), -1
        self.show_message()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.more.setIcon(icons.icon("more", tokens.quiet, 16))
        self.chip.dress(tokens)
        self.show_message()

    def retranslate(self) -> None:
        tr = self._words.tr
        user = self.message.speaker is Speaker.USER
        self._name.setText(tr("You") if user else "Kazeia")
        self.more.setToolTip(tr("What to do with this message"))
        self.more.setAccessibleName(tr("What to do with this message"))
        self.chip.setAccessibleName(tr("Show the time of each stage"))
        if self.editor is not None:
            self.editor.retranslate()
        self.show_message()

    def set_width(self, width: int, touch: bool) -> None:
        """The most that the bubble may take, in px; whether targets are as large as fingers."""
        self.chip.set_touch(touch)
        if width != self._width:
            self._width = width
            self._lay_out()

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        edits = () if self.editor is None else self.editor.tab_order
        return (*edits, self.text, self.chip, self.more)

    @property
    def busy(self) -> bool:
        """Whether the user does something in it: it must not become another message's."""
        focus = QApplication.focusWidget()
        inside = focus is not None and (focus is self or self.isAncestorOf(focus))
        return inside or self.editor is not None or self.text.hasSelectedText()

    def shown_html(self) -> str:
        """The text as it is drawn."""
        return self.text.text()

    def copy(self) -> None:
        """The whole message into the clipboard."""
        QGuiApplication.clipboard().setText(self.message.text)

    def set_marks(self, marks: tuple[tuple[int, int], ...], current: int) -> None:
        """Places in the text that were searched; current: the one that is shown, -1 for none."""
        if (marks, current) != (self._marks, self._current_mark):
            self._marks, self._current_mark = marks, current
            self._draw_text()

    def show_message(self) -> None:
        """Draw the message as it is now."""
        if not self._made:
            return
        message, tr = self.message, self._words.tr
        self._draw_text()
        who = tr("You") if message.speaker is Speaker.USER else "Kazeia"
        self.text.setAccessibleName(tr("{what}: {text}", what=who, text=message.text or self._pending()))
        self.setAccessibleName(self.text.accessibleName())
        self.more.setVisible(bool(message.text) and not message.hearing)
        self.fate.setText(self._fate_text())
        self.fate.setVisible(bool(self.fate.text()))
        self.fate.setToolTip(self._fate_help())
        self._name.setToolTip(when(message.said_s, self._words) if message.said_s else "")
        self._show_metrics()
        self._lay_out()

    def _pending(self) -> str:
        tr, message = self._words.tr, self.message
        if message.speaker is Speaker.KAZEIA:
            return "…"
        return tr("speaking…") if message.hearing else tr("being recognised")

    def _blocks(self) -> tuple[Block, ...]:
        message = self.message
        text = message.text[:_LONGEST]
        return plain(text) if message.speaker is Speaker.USER else parse(text, growing=not message.ended)

    def _draw_text(self) -> None:
        message = self.message
        selected = self.text.hasSelectedText(), self.text.selectionStart(), len(self.text.selectedText())
        text = message.text[:_LONGEST]
        if text:
            look = Look(self._tokens, message.settled, self._marks, self._current_mark, self._words.tr("Copy the code"))
            drawn = to_html(text, self._blocks(), look)
            if len(message.text) > _LONGEST:
                drawn += (
                    f'<p style="color:{self._tokens.quiet}">{self._words.tr("The rest is not shown; copy has it.")}</p>'
                )
        else:
            pending = self._pending()
            drawn = to_html(pending, plain(pending), Look(self._tokens, 0))
        if drawn == self.text.text():
            return
        self.text.setText(drawn)
        if selected[0]:  # the text grows while the user marks some of it
            self.text.setSelection(selected[1], selected[2])

    def _fate_text(self) -> str:
        tr, message = self._words.tr, self.message
        if message.replayed:
            return tr("Heard again")
        if message.ended == "interrupted":
            return tr("Interrupted")
        return tr("Failed") if message.ended == "error" else ""

    def _fate_help(self) -> str:
        tr, message = self._words.tr, self.message
        if message.ended != "interrupted":
            return ""
        if message.speaker is Speaker.USER:
            return tr("Stopped before anything was answered. Kazeia does not remember it.")
        return tr("Kazeia does not remember what was not heard.")

    def _show_metrics(self) -> None:
        chips = headlines(self.message.metrics, self._words) if self.message.metrics else {}
        self.chip.setVisible(bool(chips))
        if chips:
            self.chip.set_chips(chips, self._words.tr("Show the time of each stage"))
        opened = self.message.opened
        if self.chip.isChecked() != opened:
            self.chip.blockSignals(True)
            self.chip.setChecked(opened)
            self.chip.blockSignals(False)
        self.breakdown.setText(self._breakdown() if opened else "")

    def _breakdown(self) -> str:
        message = self.message
        told = breakdown(message.metrics, self._words)
        return f"{when(message.said_s, self._words)}\u00a0· {told}" if message.said_s else told

    def _chip_toggled(self, opened: bool) -> None:
        self.message.opened = opened
        self._show_metrics()
        self._lay_out()
        self.resized.emit()

    def _link(self, href: str) -> None:
        if href.startswith("copy:"):
            QGuiApplication.clipboard().setText(code_of(self.message.text[:_LONGEST], self._blocks(), int(href[5:])))
        else:
            from PySide6.QtGui import QDesktopServices

            QDesktopServices.openUrl(href)

    def _link_hovered(self, href: str) -> None:
        self.text.setToolTip("" if href.startswith("copy:") else href)

    # Editing in place

    def edit(self) -> None:
        """Let the user write the message anew."""
        if self.editor is not None:
            self.editor.field.setFocus()
            return
        self.editor = MessageEditor(self.message.text, self._words, self)
        self.editor.cancelled.connect(self.end_edit)
        self.editor.sent.connect(self._sent)
        self.editor.grown.connect(self._editor_grown)
        self._said.insertWidget(2, self.editor)
        self.editor.show()
        self._lay_out()
        self.resized.emit()
        self.editor.field.setFocus()

    def end_edit(self) -> None:
        """The message stays as it was."""
        if self.editor is None:
            return
        focus = QApplication.focusWidget()
        had_focus = focus is not None and self.editor.isAncestorOf(focus)
        editor, self.editor = self.editor, None
        editor.hide()
        editor.deleteLater()
        self._said.removeWidget(editor)
        self._lay_out()
        self.resized.emit()
        if had_focus:
            self.text.setFocus()

    def _sent(self, text: str) -> None:
        self.end_edit()
        self.edited.emit(text)

    def _editor_grown(self) -> None:
        self._lay_out()
        self.resized.emit()

    # Geometry

    def _lay_out(self) -> None:
        """Sizes are set, not negotiated: no layout has to ask many texts for their height."""
        opened = self.chip.isChecked() and not self.chip.isHidden()
        self.breakdown.setVisible(opened)
        self._foot.setVisible(not (self.fate.isHidden() and self.chip.isHidden()))
        self.text.setVisible(self.editor is None)
        for part in (self.text, self.more, self._name):
            part.ensurePolished()
        around = _PADDING + 2 * GRID + self.more.sizeHint().width() + 2
        inner = self._width - around
        fate = self.fate.sizeHint().width() + GRID if not self.fate.isHidden() else 0
        self.chip.fit(inner - fate)
        document = QTextDocument()
        document.setDefaultFont(self.text.font())
        document.setDocumentMargin(0)
        document.setHtml(self.text.text())
        document.setTextWidth(inner - _SLACK)
        needed = math.ceil(document.idealWidth()) + _SLACK
        needed = max(needed, self._name.sizeHint().width())
        if not self._foot.isHidden():
            needed = max(needed, fate + (0 if self.chip.isHidden() else self.chip.sizeHint().width()))
        if opened or self.editor is not None or "<table" in self.text.text():
            needed = inner
        width = min(inner, needed)
        document.setTextWidth(width - _SLACK)
        self.text.setFixedSize(width, math.ceil(document.size().height()) + _SLACK)
        if self.editor is not None:
            self.editor.set_width(width)
        self.breakdown.setFixedWidth(width)
        if opened:
            self.breakdown.setFixedHeight(max(SMALL_PX, self.breakdown.heightForWidth(width)))
        layout = self.layout()
        if layout is not None:
            layout.activate()
            self.setFixedSize(width + around, layout.sizeHint().height())

    # Mouse and menu

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.pointed.emit(True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(False)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        keyboard = event.reason() is QContextMenuEvent.Reason.Keyboard
        place = self.more.mapToGlobal(QPoint(0, self.more.height())) if keyboard else event.globalPos()
        self.menu_wanted.emit(place)
        event.accept()
