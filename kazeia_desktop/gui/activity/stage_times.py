"""The times of the last turns, a row a stage: name, bar, middle, and what one in twenty goes beyond."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from kazeia_desktop.gui.activity.figures import LAST, STAGES, Spread, spread
from kazeia_desktop.gui.activity.plot import Bar
from kazeia_desktop.gui.activity.record import Activity
from kazeia_desktop.gui.states import capital
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words

_FRAME_MS: Final = 80
"""A frame of the own voice: 80 ms of sound."""


def stage_word(name: str, words: Words) -> str:
    """What a stage of `figures.STAGES` is called."""
    tr = words.tr
    match name:
        case "endpoint_ms":
            return tr("end of speech noticed")
        case "stt_ms":
            return tr("speech recognised")
        case "llm_ttft_ms":
            return tr("first word found")
        case "first_clause_ms":
            return tr("first clause found")
        case "tts_ttfa_ms":
            return tr("voice ready")
        case "first_audio_ms":
            return tr("first sound")
        case _:
            return tr("whole turn")


class StageTimes(QFrame):
    """Follows an `Activity` while it is asked to by `refresh`."""

    def __init__(self, activity: Activity, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._activity = activity
        self._words = words
        self.setObjectName("card")
        grid = QGridLayout(self)
        grid.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        grid.setHorizontalSpacing(2 * GRID)
        grid.setVerticalSpacing(GRID)
        self._grid = grid
        self._heads = (QLabel(self), QLabel(self))
        for column, head in enumerate(self._heads, 2):
            head.setObjectName("quiet")
            head.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(head, 0, column)
        self._rows: dict[str, tuple[QLabel, Bar, QLabel, QLabel]] = {}
        for row, name in enumerate(STAGES, 1):
            parts = QLabel(self), Bar(tokens, self), QLabel(self), QLabel(self)
            for column, part in enumerate(parts):
                grid.addWidget(part, row, column)
            for figure in parts[2:]:
                figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                figure.setMinimumWidth(64)
            self._rows[name] = parts
        self.voice = QLabel(self)
        self.voice.setWordWrap(True)
        self.counted = QLabel(self)
        self.counted.setObjectName("quiet")
        self.counted.setWordWrap(True)
        self.set_narrow(False)
        grid.addWidget(self.voice, len(STAGES) + 1, 0, 1, 4)
        grid.addWidget(self.counted, len(STAGES) + 2, 0, 1, 4)

    def set_narrow(self, narrow: bool) -> None:
        """Without bars and with broken lines where there is little room."""
        self._grid.setColumnStretch(0, 1 if narrow else 0)
        self._grid.setColumnStretch(1, 0 if narrow else 1)
        for label, _, _, _ in self._rows.values():
            label.setWordWrap(narrow)
        for _, bar, _, _ in self._rows.values():
            bar.setVisible(not narrow)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        for _, bar, _, _ in self._rows.values():
            bar.dress(tokens)

    def retranslate(self) -> None:
        tr = self._words.tr
        self._heads[0].setText(tr("half of the turns"))
        self._heads[1].setText(tr("95 of 100"))
        for name, (label, _, _, _) in self._rows.items():
            label.setText(capital(stage_word(name, self._words)))
        self.refresh()

    def refresh(self) -> None:
        """Count anew."""
        tr, turns = self._words.tr, self._activity.turns
        found = {name: spread(turns, name) for name in STAGES}
        longest = max((one.p95 for one in found.values() if one is not None), default=0.0)
        for name, one in found.items():
            self._show(name, one, longest)
        self.voice.setText(self._voice_text())
        counted = min(LAST, len(turns))
        self.counted.setText(
            tr("Of the last {n} turns since the window was opened.", n=counted)
            if counted
            else tr("No turn yet. Speak or write to Kazeia, and its times appear here.")
        )

    def _show(self, name: str, one: Spread | None, longest: float) -> None:
        tr, (label, bar, middle, late) = self._words.tr, self._rows[name]
        if one is None:
            middle.setText("–")
            late.setText("–")
            bar.show_shares(0.0, 0.0)
            label.setAccessibleName(tr("{stage}: not measured yet", stage=label.text()))
            return
        middle.setText(self._words.seconds(one.p50))
        late.setText(self._words.seconds(one.p95))
        bar.show_shares(one.p50 / longest if longest else 0.0, one.p95 / longest if longest else 0.0)
        label.setAccessibleName(
            tr("{stage}: half of the turns within {p50}, 95 of 100 within {p95}",
               stage=label.text(), p50=middle.text(), p95=late.text())
        )  # fmt: skip

    def _voice_text(self) -> str:
        tr, words, turns = self._words.tr, self._words, self._activity.turns
        rtf = spread(turns, "tts_rtf")
        if rtf is None:
            return tr("Real-time factor of the voice: this voice does not tell.")
        told = tr(
            "Real-time factor of the voice: {p50}, 95 of 100 turns under {p95}. Below 1 it is faster than it speaks.",
            p50=words.locale.toString(rtf.p50, "f", 2), p95=words.locale.toString(rtf.p95, "f", 2),
        )  # fmt: skip
        parts = [
            f"{title}\u00a0{words.locale.toString(one.p50, 'f', 1)}\u202fms"
            for name, title in (
                ("talker_ms", tr("talker")), ("code_predictor_ms", tr("code predictor")), ("codec_ms", tr("codec")),
            )
            if (one := spread(turns, name)) is not None
        ]  # fmt: skip
        frames = tr("For each frame of {ms} ms: {parts}.", ms=_FRAME_MS, parts=", ".join(parts)) if parts else ""
        return f"{told} {frames}".strip()
