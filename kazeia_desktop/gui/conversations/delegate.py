"""How a row of the list is drawn, and how its title is edited in place."""

from typing import Final

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QMouseEvent, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.conversations.model import ConversationList, Row
from kazeia_desktop.gui.theme import GRID, RADIUS, SMALL_PX, TOUCH_PX, Tokens

Index = QModelIndex | QPersistentModelIndex

_HEADING_PX: Final = 36
_EXCERPT_PX: Final = 24
_MORE_PX: Final = 40
_MARK_PX: Final = 4
_ICON_PX: Final = 18


class ConversationDelegate(QStyledItemDelegate):
    """Draws headings, titles, moments, excerpts; a touch on the three dots asks for the row's menu."""

    menu_wanted = Signal(object)  # QModelIndex

    def __init__(self, model: ConversationList, tokens: Tokens, parent: QWidget) -> None:
        super().__init__(parent)
        self._model = model
        self.tokens = tokens

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row = self._model.at(index)
        if row is None or row.conversation is None:
            return QSize(0, _HEADING_PX)
        return QSize(0, TOUCH_PX + (_EXCERPT_PX if row.excerpt else 0))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = self._model.at(index)
        if row is None:
            return
        rect: QRect = option.rect
        font = QFont(option.font)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.conversation is None:
            self._paint_heading(painter, rect, font, row)
        else:
            self._paint_row(painter, rect, font, row, option)
        painter.restore()

    def _paint_heading(self, painter: QPainter, rect: QRect, font: QFont, row: Row) -> None:
        font.setPixelSize(SMALL_PX)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(QColor(self.tokens.quiet))
        place = rect.adjusted(2 * GRID, 0, -GRID, -GRID // 2)
        painter.drawText(place, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, row.title)

    def _paint_row(
        self, painter: QPainter, rect: QRect, font: QFont, row: Row, option: QStyleOptionViewItem
    ) -> None:  # fmt: skip
        tokens, state = self.tokens, option.state
        card = rect.adjusted(GRID, 1, -GRID, -1)
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        over = bool(state & QStyle.StateFlag.State_MouseOver)
        goes_on = row.conversation is not None and row.conversation.id == self._model.current
        if chosen or over or goes_on:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.hover))
            painter.drawRoundedRect(card, RADIUS, RADIUS)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(tokens.text))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(card.adjusted(1, 1, -1, -1), RADIUS - 1, RADIUS - 1)
        if goes_on:  # a bar and bold letters: not by colour alone
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.text))
            mark = QRect(card.left(), card.top() + GRID + 2, _MARK_PX, card.height() - 2 * GRID - 4)
            painter.drawRoundedRect(mark, _MARK_PX / 2, _MARK_PX / 2)
        line = QRect(card.left() + GRID + 4, card.top(), card.width() - 2 * GRID - 4, TOUCH_PX - 2)
        if chosen or over:
            icon = icons.icon("more", tokens.text, _ICON_PX)
            place = self._more(rect)
            icon.paint(painter, place.left() + (place.width() - _ICON_PX) // 2,
                       place.top() + (place.height() - _ICON_PX) // 2, _ICON_PX, _ICON_PX)  # fmt: skip
            line.setRight(place.left())
        else:
            small = QFont(font)
            small.setPixelSize(SMALL_PX)
            painter.setFont(small)
            painter.setPen(QColor(tokens.quiet))
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, row.moment)
            line.setRight(line.right() - painter.fontMetrics().horizontalAdvance(row.moment) - GRID)
        font.setWeight(QFont.Weight.DemiBold if goes_on else QFont.Weight.Normal)
        painter.setFont(font)
        painter.setPen(QColor(tokens.text))
        shown = painter.fontMetrics().elidedText(row.title, Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        if excerpt := row.excerpt:
            font.setPixelSize(SMALL_PX)
            font.setWeight(QFont.Weight.Normal)
            painter.setFont(font)
            painter.setPen(QColor(tokens.quiet))
            under = QRect(
                card.left() + GRID + 4, card.top() + TOUCH_PX - GRID, card.width() - 2 * GRID - 4, _EXCERPT_PX
            )
            shown = painter.fontMetrics().elidedText(excerpt, Qt.TextElideMode.ElideRight, under.width())
            painter.drawText(under, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, shown)

    @staticmethod
    def _more(rect: QRect) -> QRect:
        """Where the three dots are touched."""
        return QRect(rect.right() - GRID - _MORE_PX, rect.top(), _MORE_PX, TOUCH_PX)

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:  # fmt: skip
        if (
            event.type() == QEvent.Type.MouseButtonRelease
            and isinstance(event, QMouseEvent)
            and event.button() == Qt.MouseButton.LeftButton
            and self._more(option.rect).contains(event.position().toPoint())
        ):
            self.menu_wanted.emit(index)
            return True
        return super().editorEvent(event, model, option, index)

    # The title, in place

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setMaxLength(200)
        editor.setAccessibleName(self._model.title_word())
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        rect: QRect = option.rect
        editor.setGeometry(rect.left() + GRID, rect.top() + 2, rect.width() - 2 * GRID, TOUCH_PX - 4)
