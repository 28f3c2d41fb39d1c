"""One message as it is seen: who, what, and small quiet facts under it."""

import html
import math
import re
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextDocument
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.theme import BODY_PX, GRID, LINE_HEIGHT, SMALL_PX, Tokens
from kazeia_desktop.gui.transcript import Message, Speaker
from kazeia_desktop.gui.words import Words

_PADDING: Final = 14
_LINE_PX: Final = round(BODY_PX * LINE_HEIGHT)
_PENDING: Final = "…"
_SLACK: Final = 2  # the focus border of the text, and rounding of text widths


class Bubble(QFrame):
    """Draws one Message. `show_message` is called after each change of it."""

    def __init__(self, message: Message, words: Words, tokens: Tokens, parent: QWidget) -> None:
        super().__init__(parent)
        self.message = message
        self._words = words
        self._tokens = tokens
        self._width = 480
        user = message.speaker is Speaker.USER
        self.setObjectName("userMessage" if user else "kazeiaMessage")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

        self._name = QLabel(self)
        self._name.setObjectName("userName" if user else "kazeiaName")
        self._text = QLabel(self)
        self._text.setObjectName("messageText")
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setWordWrap(True)
        self._text.setIndent(0)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.fate = QLabel(self)
        self.fate.setObjectName("quiet")
        self.chip = QPushButton(self)
        self.chip.setObjectName("metrics")
        self.chip.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.chip.setCursor(Qt.CursorShape.PointingHandCursor)
        self.chip.setCheckable(True)
        self.chip.toggled.connect(lambda _: self._lay_out())
        self._copy = self._tool()
        self._copy.clicked.connect(self.copy)
        keep = self._copy.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self._copy.setSizePolicy(keep)
        self.breakdown = QLabel(self)
        self.breakdown.setObjectName("quiet")
        self.breakdown.setWordWrap(True)

        self._foot = QWidget(self)
        foot = QHBoxLayout(self._foot)
        foot.setContentsMargins(0, 0, 0, 0)
        foot.setSpacing(GRID)
        foot.addWidget(self.fate)
        foot.addWidget(self.chip)
        foot.addStretch(1)
        said = QVBoxLayout()
        said.setSpacing(2)
        said.addWidget(self._name)
        said.addWidget(self._text)
        said.addWidget(self._foot)
        said.addWidget(self.breakdown)
        said.addStretch(1)
        box = QHBoxLayout(self)
        box.setContentsMargins(_PADDING, GRID, GRID // 2, GRID + 3)
        box.setSpacing(GRID // 2)
        box.addLayout(said, 1)
        box.addWidget(self._copy, 0, Qt.AlignmentFlag.AlignTop)
        box.addSpacing(GRID // 2)
        self.dress(tokens)
        self.retranslate()

    def _tool(self) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName("chip")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        return button

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self._copy.setIcon(icons.icon("copy", tokens.quiet, 16))
        self.show_message()

    def retranslate(self) -> None:
        tr = self._words.tr
        user = self.message.speaker is Speaker.USER
        self._name.setText(tr("You") if user else "Kazeia")
        self._copy.setToolTip(tr("Copy this message"))
        self._copy.setAccessibleName(tr("Copy this message"))
        self.chip.setAccessibleName(tr("Show the time of each stage"))
        self.show_message()

    def set_width(self, width: int) -> None:
        """The most that the bubble may take, in px."""
        if width != self._width:
            self._width = width
            self._lay_out()

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        return (self._text, self.chip, self._copy)

    def shown_html(self) -> str:
        """The text as it is drawn."""
        return self._text.text()

    def copy(self) -> None:
        """The whole message into the clipboard."""
        QGuiApplication.clipboard().setText(self.message.text)

    def show_message(self) -> None:
        """Draw the message as it is now."""
        message, tr = self.message, self._words.tr
        shown = message.text or _PENDING
        selected = self._text.hasSelectedText(), self._text.selectionStart(), len(self._text.selectedText())
        self._text.setText(self._html(shown))
        if selected[0]:  # the text grows while the user marks some of it
            self._text.setSelection(selected[1], selected[2])
        who = tr("You") if message.speaker is Speaker.USER else "Kazeia"
        self._text.setAccessibleName(tr("{what}: {text}", what=who, text=message.text or tr("being recognised")))
        self.setAccessibleName(self._text.accessibleName())
        self._copy.setVisible(bool(message.text))
        self.fate.setText(self._fate_text())
        self.fate.setVisible(bool(self.fate.text()))
        self.fate.setToolTip(
            tr("Kazeia does not remember what was not heard.") if message.ended == "interrupted" else ""
        )
        self._show_metrics()
        self._lay_out()

    def _fate_text(self) -> str:
        tr, message = self._words.tr, self.message
        if message.speaker is Speaker.KAZEIA and message.ended == "interrupted":
            return tr("Interrupted")
        return tr("Failed") if message.ended == "error" else ""

    def _html(self, text: str) -> str:
        at = self.message.settled
        quiet = f'<span style="color:{self._tokens.quiet}">{_escaped(text[at:])}</span>' if at < len(text) else ""
        return f'<p style="margin:0; line-height:{_LINE_PX}px">{_escaped(text[:at])}{quiet}</p>'

    def _show_metrics(self) -> None:
        words, tr = self._words, self._words.tr
        first = self.message.metrics.get("first_audio_ms")
        total = self.message.metrics.get("total_ms")
        rows = [
            (label, self.message.metrics.get(key))
            for key, label in (
                ("endpoint_ms", tr("end of speech noticed")),
                ("stt_ms", tr("speech recognised")),
                ("llm_ttft_ms", tr("first word found")),
                ("first_clause_ms", tr("first clause found")),
                ("tts_ttfa_ms", tr("voice ready")),
                ("first_audio_ms", tr("first sound")),
                ("total_ms", tr("whole turn")),
            )
        ]
        known = [f"{label} {words.seconds(value)}".replace(" ", "\u00a0") for label, value in rows if value is not None]
        headline = first if first is not None else total
        self.chip.setVisible(headline is not None)
        if headline is not None:
            told = words.seconds(headline)
            label = tr("first sound after {time}", time=told) if first is not None else tr("in {time}", time=told)
            self.chip.setText(label)
            self.chip.setToolTip(tr("Show the time of each stage"))
            self.chip.setAccessibleName(f"{label}. {tr('Show the time of each stage')}")
        self.breakdown.setText("\u00a0· ".join(known))

    def _lay_out(self) -> None:
        """Sizes are set, not negotiated: no layout has to ask hundreds of texts for their height."""
        self.breakdown.setVisible(self.chip.isChecked() and not self.chip.isHidden())
        self._foot.setVisible(not (self.fate.isHidden() and self.chip.isHidden()))
        for part in (self._text, self._copy, self.chip, self._name):
            part.ensurePolished()
        around = _PADDING + 2 * GRID + self._copy.sizeHint().width() + 2
        inner = self._width - around
        document = QTextDocument()
        document.setDefaultFont(self._text.font())
        document.setDocumentMargin(0)
        document.setHtml(self._text.text())
        document.setTextWidth(inner - _SLACK)
        needed = math.ceil(document.idealWidth()) + _SLACK
        needed = max(needed, self._name.sizeHint().width())
        if not self._foot.isHidden():
            needed = max(needed, self._foot.sizeHint().width())
        if not self.breakdown.isHidden():
            needed = inner
        width = min(inner, needed)
        document.setTextWidth(width - _SLACK)
        self._text.setFixedSize(width, math.ceil(document.size().height()) + _SLACK)
        self.breakdown.setFixedWidth(width)
        if not self.breakdown.isHidden():
            self.breakdown.setFixedHeight(max(SMALL_PX, self.breakdown.heightForWidth(width)))
        layout = self.layout()
        if layout is not None:
            layout.activate()
            self.setFixedSize(width + around, layout.sizeHint().height())


def _escaped(text: str) -> str:
    """As HTML; French signs keep to their word, so that no line begins with a question mark.

    No-break spaces of full width: Qt breaks lines at narrow ones (U+202F).
    """
    text = re.sub(r"[ \u202f]([?!;:»])", "\u00a0\\1", text).replace("«\u202f", "« ").replace("« ", "«\u00a0")
    return html.escape(text).replace("\n", "<br>")
