"""The figures of both sides, side by side."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from kazeia_desktop.gui.card import plain_label
from kazeia_desktop.gui.theme import GRID
from kazeia_desktop.gui.words import Words

if TYPE_CHECKING:
    from kazeia_desktop.gui.compare.work import Pair
    from kazeia_desktop.pipeline.comparing import Spoken


class FigureTable(QWidget):
    """Rows of name, A, B; a row without a figure on either side is left out."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID // 2)
        for column, share in enumerate((2, 3, 3)):
            self._grid.setColumnStretch(column, share)
        self.rows: list[tuple[str, str, str]] = []

    def show_pair(self, pair: "Pair | None", words: Words) -> None:
        """None: nothing was made."""
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        self.rows = [] if pair is None else rows(pair, words)
        for at, row in enumerate(self.rows):
            for column, text in enumerate(row):
                label: QLabel = plain_label("quiet" if column == 0 and at else "")
                label.setText(text)
                label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
                self._grid.addWidget(label, at, column)
        self.setAccessibleName(words.tr("Figures of both sides"))
        self.setAccessibleDescription("; ".join(", ".join(filter(None, row)) for row in self.rows))


def rows(pair: "Pair", words: Words) -> list[tuple[str, str, str]]:
    """Name, A, B."""
    tr = words.tr
    table = [("", "A", "B")]

    def row(name: str, one: str, other: str) -> None:
        if one or other:
            table.append((name, one or "–", other or "–"))

    a, b = pair.sides
    row(tr("Voice"), a.voice, b.voice)
    row(tr("Loading the model"), _loading(a, words), _loading(b, words))
    row(tr("First sound"), words.seconds(a.first_ms), words.seconds(b.first_ms))
    for name, key in (
        (tr("Talker, a frame"), "talker_ms"),
        (tr("Code predictor, a frame"), "code_predictor_ms"),
        (tr("Codec, a frame"), "codec_ms"),
    ):
        row(name, _figure(a, key, words), _figure(b, key, words))
    row(tr("Time for a second of sound"), _pace(a, words), _pace(b, words))
    row(tr("Length"), words.seconds(1000 * a.seconds), words.seconds(1000 * b.seconds))
    if pair.equal is not None:
        row(tr("Equal codes"), tr("{percent} %", percent=round(100 * pair.equal)), "")
    return table


def _loading(side: "Spoken", words: Words) -> str:
    return words.tr("the same model") if side.load_ms is None else words.seconds(side.load_ms)


def _figure(side: "Spoken", key: str, words: Words) -> str:
    if side.figures is None:
        return ""
    return f"{words.locale.toString(float(getattr(side.figures, key)), 'f', 1)}\u202fms"


def _pace(side: "Spoken", words: Words) -> str:
    told = words.tr("real time") if side.rtf <= 1 else words.tr("slower than real time")
    return f"{words.seconds(1000 * side.rtf)}, {told}"
