"""The first step: what Kazeia is."""

from kazeia_desktop.gui.first_run.step import Step
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.theme import Tokens


class WelcomeStep(Step):
    """Words only."""

    def __init__(self, context: PageContext, tokens: Tokens) -> None:
        super().__init__(context, tokens)
        self.retranslate()

    @property
    def next_text(self) -> str:
        return self.context.words.tr("Begin")

    def retranslate(self) -> None:
        tr = self.context.words.tr
        self.title.setText(tr("Welcome to Kazeia"))
        self.text.setText(
            tr(
                "Kazeia is somebody to talk to: you speak, it answers aloud. Everything runs on this machine. What you "
                "say and what it answers never leave it, and without your asking nothing is fetched from the network."
            )
            + "\n\n"
            + tr("A few minutes are enough: its models, your microphone, your loudspeaker, then a first exchange. "
                 "Every step can be skipped and taken later, from the menu.")
        )  # fmt: skip
