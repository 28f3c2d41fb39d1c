"""What a section of the settings is made of."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo


class Apply(StrEnum):
    """When a changed setting is heard."""

    NOW = "now"
    NEXT_CLAUSE = "next_clause"
    NEXT_TURN = "next_turn"
    RELOAD = "reload"


@dataclass(frozen=True, slots=True)
class Shown:
    """How a setting is shown. Attached to the field as annotation metadata.

    title, help: (French, English). unit: as written after the value, "" for none.
    choices_from: "inputs", "outputs", "stt_models", "llm_models", "tts_models", "voices" or "compute_devices": offer
    what is there.
    """

    title: tuple[str, str]
    help: tuple[str, str]
    apply: Apply
    unit: str = ""
    choices_from: str = ""


class Section(BaseModel):
    """A group of settings. Immutable: a change makes a new tree."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Unfit(ValueError):
    """Raised by a validator that says itself, in one plain line, why a value does not fit.

    Attributes:
        template: English sentence with `{name}` fields, as of a KazeiaError.
        values: what fills the fields.
    """

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template.format(**values))
        self.template = template
        self.values = values


def shown_of(field: FieldInfo) -> Shown:
    """The Shown of a model field."""
    for item in field.metadata:
        if isinstance(item, Shown):
            return item
    raise TypeError(f"setting without Shown metadata: {field!r}")
