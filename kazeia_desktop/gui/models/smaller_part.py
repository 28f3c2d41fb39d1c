"""A language model with smaller weights: which type, what that does to its size, and what it costs."""

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kazeia_desktop.gui.card import describe, plain_label, say
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.labelled import Labelled
from kazeia_desktop.gui.models import told
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor
from kazeia_desktop.gui.theme import GRID
from kazeia_desktop.gui.words import Words

PURE: Final = "-pure"
"""Behind a type: every matrix has it, where llama.cpp gives some more bits."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of a model's file now, and as it would be."""

    now: int
    then: int


def split(choice: str) -> tuple[str, bool]:
    """The dtype of a choice, and whether every matrix has it; see `models.convert.requantize`."""
    return choice.removesuffix(PURE), choice.endswith(PURE)


def type_choices(words: Words) -> list[Choice]:
    """The types that are worth it, the most usual one first."""
    tr = words.tr
    return [
        Choice("q4_k_m", tr("Q4_K_M: 4 bits, the usual one")),
        Choice("q4_0" + PURE, tr("Q4_0 throughout: the smallest here, quick, the least exact")),
        Choice("q6_k", tr("Q6_K: 6 bits, nearly as exact")),
        Choice("q8_0", tr("Q8_0: 8 bits, as good as the original")),
    ]


class SmallerPart(QWidget):
    """Asks for the size of what is chosen (`size_wanted`), and shows it."""

    size_wanted = Signal(str)  # of type_choices
    changed = Signal()  # whether it can be begun

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._sizes: Sizes | None = None
        self._problem = ""
        self.type = ChoiceEditor()
        self._line = Labelled(self.type.widget)
        self.told, self.warning = plain_label(), plain_label("quiet")
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        box.addWidget(self._line)
        box.addWidget(self.told)
        box.addWidget(self.warning)
        self.type.edited.connect(self._ask)
        self.retranslate()

    @property
    def choice(self) -> str:
        """What is chosen now."""
        return self.type.value() or type_choices(self._words)[0].value

    @property
    def worth_it(self) -> bool:
        """Whether it is known that the file would be smaller."""
        return self._sizes is not None and self._sizes.then < self._sizes.now

    def open(self) -> None:
        """It is shown: look up the size."""
        self.show()
        self._ask()
        self.type.widget.setFocus()

    def _ask(self) -> None:
        self._sizes, self._problem = None, ""
        self._tell()
        self.size_wanted.emit(self.choice)

    def show_sizes(self, sizes: Sizes) -> None:
        """What is known of the choice."""
        self._sizes = sizes
        self._tell()

    def show_problem(self, text: str) -> None:
        """Why nothing can be made of the model."""
        self._problem = text
        self._tell()

    def _tell(self) -> None:
        tr, sizes = self._words.tr, self._sizes
        if self._problem:
            text = self._problem
        elif sizes is None:
            text = tr("The size is being worked out…")
        else:
            now, then = (told.size(n, self._words) for n in (sizes.now, sizes.then))
            text = tr("{before} now, {after} then.", before=now, after=then)
            if not self.worth_it:
                text = tr("{before} now, {after} then: nothing would be gained.", before=now, after=then)
        say(self.told, text)
        self.changed.emit()

    def retranslate(self) -> None:
        tr = self._words.tr
        kept = self.choice
        self._line.label.setText(tr("Type of the weights"))
        self.type.widget.setAccessibleName(tr("Type of the weights"))
        self.type.set_choices(type_choices(self._words))
        self.type.show_value(kept)
        describe(self.type.widget, tr("Smaller weights are faster and less exact"))
        self.warning.setText(
            tr("Smaller weights take less memory and answer faster, but not as well, above all in a small model. "
               "The original stays: compare both.")
        )  # fmt: skip
        self._tell()
