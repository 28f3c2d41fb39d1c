"""One voice in the list."""

from PySide6.QtCore import QDateTime, QLocale, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QWidget

from kazeia_desktop.gui.card import Card, describe, plain_label, say
from kazeia_desktop.gui.states import capital
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.voices.listing import VoiceItem
from kazeia_desktop.gui.words import Words


def language_name(code: str, words: Words) -> str:
    """A language as the models of both kinds of voices call it, in the language of the window.

    Not in its own script: where no font has that, it would be a row of boxes.
    """
    tr = words.tr
    names = {
        "fr": tr("French"), "en": tr("English"), "french": tr("French"), "english": tr("English"),
        "german": tr("German"), "spanish": tr("Spanish"), "italian": tr("Italian"), "portuguese": tr("Portuguese"),
        "chinese": tr("Chinese"), "japanese": tr("Japanese"), "korean": tr("Korean"), "russian": tr("Russian"),
        "beijing_dialect": tr("Chinese of Beijing"), "sichuan_dialect": tr("Chinese of Sichuan"),
    }  # fmt: skip
    return names.get(code, capital(code.replace("_", " ")))


class VoiceRow(Card):
    """Shows a voice and says what the user wants done with it."""

    listen_wanted = Signal(object)  # VoiceItem
    clip_wanted = Signal(object)
    stop_wanted = Signal()
    use_wanted = Signal(object)
    rename_wanted = Signal(object, str)
    delete_wanted = Signal(object)

    def __init__(self, item: VoiceItem, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(words, tokens, parent)
        self.item = item
        self._playing = ""  # "voice" or "clip"
        self._preparing = False
        self._error = ""
        self.listen = self.action()
        self.use = self.action()
        self.clip, self.rename = self.action(), self.action()
        self.delete = self.action()
        self._name = QLineEdit(item.name)
        self._keep, self._leave = QPushButton(), QPushButton()
        self._renaming = QWidget()
        line = QHBoxLayout(self._renaming)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(GRID)
        line.addWidget(self._name, 1)
        line.addWidget(self._keep)
        line.addWidget(self._leave)
        self.line = plain_label("quiet")
        self.column.addWidget(self._renaming)
        self.column.addWidget(self.line)
        self._renaming.hide()
        self.listen.clicked.connect(lambda: self._toggle("voice"))
        self.clip.clicked.connect(lambda: self._toggle("clip"))
        self.use.clicked.connect(lambda: self.use_wanted.emit(self.item))
        self.rename.clicked.connect(self._begin_renaming)
        self.delete.clicked.connect(self._ask)
        self._keep.clicked.connect(self._rename)
        self._name.returnPressed.connect(self._rename)
        self._leave.clicked.connect(self._end_renaming)
        added = item.kind == "added"
        for button in (self.clip, self.rename):
            button.setVisible(added)
        self.delete.setVisible(added or item.kind == "damaged")
        self.listen.setVisible(item.kind != "damaged")
        self.use.setVisible(item.kind != "damaged" and not item.used)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        return (self._name, self._keep, self._leave, *super().controls)

    def set_playing(self, what: str, preparing: bool = False) -> None:
        """ "voice", "clip" or "": which of both is heard now; preparing: it is still being loaded."""
        self._playing, self._preparing = what, preparing
        self.retranslate()

    def set_error(self, text: str) -> None:
        """What went wrong with the last thing that was asked."""
        self._error = text
        self.retranslate()

    def _toggle(self, what: str) -> None:
        if self._playing == what:
            self.stop_wanted.emit()
        else:
            (self.listen_wanted if what == "voice" else self.clip_wanted).emit(self.item)

    def _begin_renaming(self) -> None:
        self._name.setText(self.item.name)
        self._renaming.show()
        self._name.selectAll()
        self._name.setFocus()

    def _end_renaming(self) -> None:
        self._renaming.hide()
        self.rename.setFocus()

    def take_back(self) -> bool:
        """Escape: the name stays."""
        renames = not self._renaming.isHidden()
        if renames:
            self._end_renaming()
        return renames or super().take_back()

    def _rename(self) -> None:
        name = self._name.text().strip()
        if name == self.item.name:
            self._end_renaming()
        elif name:
            self.rename_wanted.emit(self.item, name)

    def _ask(self) -> None:
        tr, name = self.words.tr, self.item.title
        question = (
            tr("Delete the voice {name} and its recording? Another voice speaks instead.", name=name)
            if self.item.used
            else tr("Delete the voice {name} and its recording?", name=name)
        )
        self.ask(question, tr("Delete"), lambda: self.delete_wanted.emit(self.item))

    def retranslate(self) -> None:
        tr, item = self.words.tr, self.item
        title = tr("Voice without a speaker, always the same") if item.kind == "chance" else item.title
        self.title.setText(tr("The system's voice") if item.kind == "system" else title)
        badge = tr("in use") if item.used else "" if item.ready else tr("cannot speak yet")
        say(self.badge, badge)
        say(self.detail, "\n".join(filter(None, self._details())))
        problem = self._error or (item.problem.told_in(self.words.language) if item.problem is not None else "")
        say(self.message, problem)
        say(self.line, tr("The voice is being prepared: a few seconds.") if self._preparing else "")
        stop = tr("Stop")
        self.listen.setText(stop if self._playing == "voice" else tr("Listen"))
        self.clip.setText(stop if self._playing == "clip" else tr("Hear the recording"))
        self.use.setText(tr("Use this voice"))
        self.rename.setText(tr("Rename"))
        self.delete.setText(tr("Delete"))
        self._keep.setText(tr("Rename"))
        self._leave.setText(tr("Cancel"))
        self._name.setAccessibleName(tr("New name of the voice {name}", name=item.title))
        for button in (self.listen, self.clip, self.use, self.rename, self.delete, self._keep, self._leave):
            button.setAccessibleName(tr("{what}: {text}", what=button.text(), text=self.title.text()))
            button.setToolTip(button.accessibleName())
        for control, text in (
            (self.listen, tr("Say a sentence in this voice; the conversation does not listen meanwhile")),
            (self.clip, tr("Play what this voice was made from")),
            (self.use, tr("Kazeia answers in this voice from the next clause")),
            (self.rename, tr("Give this voice another name")),
            (self.delete, tr("Delete this voice and its recording, after a question")),
            (self._keep, tr("Give this voice another name")),
            (self._leave, tr("Leave the name as it is")),
            (self._name, tr("1 to 40 letters, digits, - or _")),
        ):
            describe(control, text)
        self.listen.setEnabled(item.ready)
        self.use.setEnabled(item.ready)
        self.no.setText(tr("No, keep it"))

    def _details(self) -> tuple[str, ...]:
        tr, item = self.words.tr, self.item
        languages = capital(", ".join(language_name(code, self.words) for code in item.languages))
        told = " · ".join(filter(None, (languages, item.licence)))
        if item.added is None:
            return (told, self._missing())
        moment = QDateTime.fromString(item.added.consent.noted, Qt.DateFormat.ISODate).toLocalTime()
        when = self.words.locale.toString(moment.date(), QLocale.FormatType.LongFormat) if moment.isValid() else ""
        models = ", ".join(vector.model for vector in item.added.xvectors)
        return (
            tr("Agreed: {text}", text=item.added.consent.text)
            + (f" ({tr('noted on {date}', date=when)})" if when else ""),
            tr(
                "Recording of {seconds} s ({source}), for {models}",
                seconds=self.words.locale.toString(item.added.clip_seconds, "f", 1),
                source=item.added.source or "-",
                models=models or "-",
            ),
            self._missing(),
        )

    def _missing(self) -> str:
        """Why it cannot speak yet."""
        if self.item.ready or self.item.kind == "damaged":
            return ""
        if self.item.kind == "added":
            return self.words.tr(
                "It needs the own-voice model it was made for, or a Base model that can learn it anew."
            )
        return self.words.tr("It needs the model Kokoro and the program espeak-ng.")
