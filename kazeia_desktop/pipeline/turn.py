"""One exchange: something is said, something is answered."""

from dataclasses import dataclass, field

from kazeia_desktop.runtime.cancel import CancelToken


@dataclass(frozen=True, slots=True)
class Turn:
    """Identity of an exchange and the switch that stops all work on it."""

    id: int
    cancel: CancelToken = field(default_factory=CancelToken)
