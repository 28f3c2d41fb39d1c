"""Every error that Kazeia tells a person about.

A message is one plain line that says what failed, with which value, and what to do. It is given as
an English template with named values, so that the same error can be told in French from
`translations/fr/`: `SettingsError("Unknown setting {key!r}: see `kazeia settings show`", key=key)`.
"""

from kazeia_desktop import translations


class KazeiaError(Exception):
    """Base of all errors that are told to the user.

    Attributes:
        template: English sentence with `{name}` fields.
        values: what fills the fields.
        recoverable: whether the conversation can go on without a restart or a repair.
    """

    recoverable = True

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template, values)
        self.template = template
        self.values = values

    def told_in(self, language: str) -> str:
        """The message in `language` ("fr" or "en")."""
        return translations.translate(self.template, language, **self.values)

    def __str__(self) -> str:
        return self.told_in("en")


class UsageError(KazeiaError):
    """A command was called with words that do not fit; the CLI exits 2."""


class SettingsError(KazeiaError):
    """A setting's name, value or file is wrong."""


class AudioDeviceError(KazeiaError):
    """A microphone or loudspeaker is missing, busy or refuses the format."""


class AudioFormatError(KazeiaError):
    """A sound, from a file or a caller, is not what the stage can read."""


class ModelError(KazeiaError):
    """A model file cannot be used."""

    recoverable = False


class ModelMissingError(ModelError):
    """The file is not on this machine."""


class ModelCorruptError(ModelError):
    """The file is there but its bytes are not what they should be."""


class ModelIncompatibleError(ModelError):
    """The file is sound but this version of Kazeia cannot run it."""


class StorageError(KazeiaError):
    """Something that Kazeia keeps for the user cannot be written or read back."""


class NotRunningError(KazeiaError):
    """There is no running app that could be asked."""


class DownloadError(KazeiaError):
    """A model could not be fetched: no network, no space, wrong bytes."""


class InferenceError(KazeiaError):
    """A model failed while running."""


class Cancelled(KazeiaError):
    """The turn was cancelled; not a fault, never shown."""

    def __init__(self) -> None:
        super().__init__("Cancelled")
