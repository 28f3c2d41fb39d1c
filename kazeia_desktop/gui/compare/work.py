"""What the page has done in jobs: two voices made, outlines drawn, sounds played. Heavy imports stay inside."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kazeia_desktop.gui.compare.wave import BARS
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings

if TYPE_CHECKING:
    from kazeia_desktop.pipeline.comparing import Spoken

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides, and what is shown of them. equal: share of equal codes, None where there are none."""

    sides: "tuple[Spoken, Spoken]"
    peaks: tuple[tuple[float, ...], tuple[float, ...]]
    equal: float | None


@dataclass(frozen=True, slots=True)
class Workshop:
    """Makes and plays; tests give another one.

    pair: says a text with two settings. Raises KazeiaError, Cancelled. play: a side through the loudspeaker of the
    settings. Raises KazeiaError, Cancelled.
    """

    pair: Callable[
        [Paths, str, tuple[Settings, Settings], threading.Event, CancelToken, Callable[[tuple[int, float]], None]], Pair
    ]
    play: "Callable[[Spoken, Settings, CancelToken], None]"


def make_pair(
    paths: Paths,
    text: str,
    sides: tuple[Settings, Settings],
    busy: threading.Event,
    cancel: CancelToken,
    report: Callable[[tuple[int, float]], None],
) -> Pair:
    """See Workshop. busy: the conversation needs the processor; its turn goes first."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.pipeline.builder import make_synthesizer, room_for_two, voice_engine
    from kazeia_desktop.pipeline.comparing import Voices, compare, equal_codes
    from kazeia_desktop.pipeline.reloading import needs_reload

    store = ModelStore(paths.models_dir, Catalog.load())

    def shared(one: Settings, other: Settings) -> bool:
        engines = {voice_engine(side, store, paths) for side in (one, other)}
        return len(engines) == 1 and not needs_reload(one.tts, other.tts.model_copy(update={"engine": one.tts.engine}))

    voices = Voices(
        lambda settings: make_synthesizer(settings, store, paths),
        shared,
        lambda settings: room_for_two(settings, store, paths),
        lambda token: wait_while(busy, token),
    )
    one, other = compare(text, sides, voices, cancel, lambda at, seconds: report((at, seconds)))
    loudest = max(_loudest(one), _loudest(other)) or 1.0
    return Pair((one, other), (outline(one, loudest), outline(other, loudest)), equal_codes(one, other))


def wait_while(busy: threading.Event, cancel: CancelToken) -> None:
    """Until `busy` is over, or `cancel` is set."""
    while busy.is_set() and not cancel.wait(_POLL_S):
        pass


def _loudest(spoken: "Spoken") -> float:
    return float(abs(spoken.samples).max())


def outline(spoken: "Spoken", loudest: float) -> tuple[float, ...]:
    """The peak of each of BARS stretches, 1 being `loudest`."""
    import numpy as np

    parts = np.array_split(np.abs(spoken.samples), BARS)
    return tuple(float(part.max()) / loudest if len(part) else 0.0 for part in parts)


def play(spoken: "Spoken", settings: Settings, cancel: CancelToken) -> None:
    """See Workshop."""
    from kazeia_desktop.audio.player import play_samples

    play_samples(spoken.samples, spoken.rate_hz, settings.audio, cancel)


WORKSHOP = Workshop(make_pair, play)
