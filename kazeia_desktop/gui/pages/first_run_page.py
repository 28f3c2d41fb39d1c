"""The first steps, one after the other; shown by themselves where no model is there, and from the menu."""

import itertools
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.events import Failed
from kazeia_desktop.gui.banner import ErrorBanner
from kazeia_desktop.gui.card import describe, plain_label, restyle
from kazeia_desktop.gui.first_run import memory
from kazeia_desktop.gui.first_run.first_words_step import FirstWordsStep
from kazeia_desktop.gui.first_run.loudspeaker_step import LoudspeakerStep
from kazeia_desktop.gui.first_run.microphone_step import MicrophoneStep
from kazeia_desktop.gui.first_run.models_step import ModelsStep
from kazeia_desktop.gui.first_run.step import Step
from kazeia_desktop.gui.first_run.welcome_step import WelcomeStep
from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.presence_bar import BUSY, PresenceBar
from kazeia_desktop.gui.quiet_microphone import QuietMicrophone, Use
from kazeia_desktop.gui.theme import GRID, Tokens


class FirstRunPage(Page):
    """Goes on where it was left; ends in the conversation."""

    def __init__(self, context: PageContext, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(context, tokens, parent)
        self.models, self.words_step = ModelsStep(context, tokens), FirstWordsStep(context, tokens)
        self.steps: tuple[Step, ...] = (
            WelcomeStep(context, tokens), self.models, MicrophoneStep(context, tokens),
            LoudspeakerStep(context, tokens), self.words_step,
        )  # fmt: skip
        self.at = 0
        self._entered = False
        self._give_back: Callable[[], None] | None = None
        self.count = plain_label("quiet")
        self.before, self.next = QPushButton(), QPushButton()
        self.next.installEventFilter(self)
        self._led: QPushButton | None = None  # what Enter presses
        self._follow = False  # it was shown or pressed just now: the focus goes with it
        box = QVBoxLayout()
        box.setSpacing(3 * GRID)
        box.addWidget(self.count)
        for step in self.steps:
            step.hide()
            step.next_wanted.connect(self.go_on)
            step.changed.connect(self._refresh)
            for button in step.leads:
                button.pressed.connect(self._pressed)
                button.installEventFilter(self)
            box.addWidget(step)
        line = QHBoxLayout()
        line.setSpacing(GRID)
        line.addWidget(self.before)
        line.addStretch(1)
        line.addWidget(self.next)
        box.addLayout(line)
        self.column.addLayout(box)
        self.column.addStretch(1)
        self.before.clicked.connect(lambda: self.show_step(self.at - 1))
        self.next.clicked.connect(self.go_on)
        self.words_step.models_wanted.connect(lambda: self.show_step(1))
        context.bridge.failed.connect(self._failed)
        context.bridge.state_changed.connect(self._state_changed)
        self.dress(tokens)
        self.retranslate()

    def title_text(self) -> str:
        return self.context.words.tr("First steps")

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        controls = itertools.chain.from_iterable(step.controls for step in self.steps)
        return (self.back, *controls, self.before, self.next)

    @property
    def primary(self) -> QPushButton:
        """What Enter presses in this step."""
        return self.step.primary or self.next

    @property
    def first_focus(self) -> QWidget:
        return self.primary if self.step.settled else self

    @property
    def step(self) -> Step:
        """The one that is seen."""
        return self.steps[self.at]

    def prepare(self) -> None:
        self._dismiss()
        self.show_step(self.at)

    def leave(self) -> None:
        if self._entered:
            self._entered = False
            self.step.leave()
        self._listen(True)
        self._show_presence()

    def show_step(self, number: int) -> None:
        """Show a step of `steps`."""
        if self._entered:
            self.step.leave()
        self.step.hide()
        self.at = max(0, min(number, len(self.steps) - 1))
        self._entered = True
        self.step.show()
        self.step.enter()
        self._refresh()
        self._listen(self.step is self.words_step)
        self._show_presence()
        self.scroll_area.verticalScrollBar().setValue(0)
        self.first_focus.setFocus()
        self._follow = False

    def go_on(self) -> None:
        """To the next step; after the last one, to the conversation."""
        if self.at < len(self.steps) - 1:
            self.show_step(self.at + 1)
            return
        self.leave()
        self.at = 0
        self.step.hide()
        for step in self.steps:
            step.hide()
        paths = self.context.paths
        self.context.jobs.run("remember-first-steps", lambda *_: memory.remember(paths))
        self.back_wanted.emit()

    def _failed(self, failed: Failed) -> None:
        if self.isVisible() and failed.action == "models":
            self._dismiss()

    def _state_changed(self, _state: object) -> None:
        if self._entered:
            self._show_presence()

    def _dismiss(self) -> None:
        """That models are missing is what this page is about: no banner says it again."""
        banner = self.window().findChild(ErrorBanner)
        if banner is not None and banner.error is not None and banner.error.action == "models":
            banner.dismiss()

    def _listen(self, wanted: bool) -> None:
        """The conversation is deaf before the last step: a word to the test of the microphone is no question."""
        if not wanted and self._give_back is None:
            self._give_back = QuietMicrophone.of(self.context).begin(Use.PAUSE)
        elif wanted and self._give_back is not None:
            self._give_back()
            self._give_back = None

    def _show_presence(self) -> None:
        """Without an engine there is nothing to stop or to write to before the last step, only a red word."""
        presence = self.window().findChild(PresenceBar)
        if presence is not None:
            alone = self._entered and self.context.bridge.engine is None and self.step is not self.words_step
            presence.setVisible(not alone)

    def _refresh(self) -> None:
        tr = self.context.words.tr
        self.count.setText(tr("Step {n} of {total}", n=self.at + 1, total=len(self.steps)))
        self.before.setText(tr("Back"))
        self.before.setEnabled(self.at > 0)
        describe(self.before, tr("To the step before"))
        describe(self.next, tr("To the next step; what was not done can be done later"))
        self.next.setText(self.step.next_text)
        self._lead()

    def _pressed(self) -> None:
        self._follow = True

    def _lead(self) -> None:
        """Show which button leads on now; the focus goes with it, unless the user has taken it elsewhere."""
        before, self._led = self._led, self.primary
        for button in (self.next, *self.step.leads):
            restyle(button, "primary" if button is self._led else "")
        if not self._entered or not self.step.settled:
            return
        focus = self.window().focusWidget()
        goes = focus is before or (self._follow and isinstance(focus, QPushButton))
        if focus is self or (goes and before is not self._led):
            self._follow = False
            self._led.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The focus was given to the button, not put there: while Kazeia is busy, Space interrupts it all the same."""
        space = (
            isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Space
        )
        busy = space and self.context.bridge.state in BUSY and self.context.settings().shortcuts.interrupt == "Space"
        if busy and isinstance(event, QKeyEvent) and not event.isAutoRepeat():
            self.context.bridge.interrupt()
        return busy or super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, where no button has the focus."""
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.isAutoRepeat()
        if enter and self.step.settled and not isinstance(self.window().focusWidget(), QAbstractButton):
            self.primary.click()
        else:
            super().keyPressEvent(event)

    def dress(self, tokens: Tokens) -> None:
        super().dress(tokens)
        for step in self.steps:
            step.dress(tokens)

    def retranslate(self) -> None:
        super().retranslate()
        for step in self.steps:
            step.retranslate()
        self._refresh()
