"""How many threads and which pieces Kazeia's own voice works with on this machine: the choice, as pure arithmetic.

`qwen3_measure` makes the figures, `qwen3_tuning_store` keeps what was chosen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kazeia_desktop.runtime.cores import Cores
from kazeia_desktop.settings.schema import TtsSettings

FRAME_MS: Final = 80.0
EQUAL: Final = 0.03
"""Speeds this near to the best count as equal: a second of measuring tells no finer."""
RAMPS: Final = ((1, 2, 4), (1, 1, 2, 4), (2, 4), (1, 2, 4, 8), (1, 4, 8), (2, 4, 8))
"""Frames of the codec's calls, first to last; the last one goes on."""
DEFAULT_RAMP: Final = RAMPS[0]
_FAST_ENOUGH: Final = 0.8
"""Of two ramps that keep up with the loudspeaker this well, the one that is heard first is better."""
_CLAUSE_FRAMES: Final = 25
"""Two seconds of speech, a usual clause: a first sound that leaves gaps in it is no first sound."""
_MOST_TEAMS: Final = 6


@dataclass(frozen=True, slots=True)
class Team:
    """Threads of the generator (talker and code predictor take turns) and of the codec, which work at once."""

    generator: int
    codec: int


@dataclass(frozen=True, slots=True)
class Trial:
    """What a few frames took with one team.

    Attributes:
        rtf: time / length of the sound, once it runs.
        first_ms: to the first sound.
        generator_ms, codec_ms: of a frame, each beside the other.
    """

    team: Team
    rtf: float
    first_ms: float
    generator_ms: float
    codec_ms: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was chosen for a model on a machine, and the figures of it.

    Attributes:
        ramp: frames of the codec's calls; the last one goes on.
        rtf: time / length of the sound.
        generator_share: of the work (threads times time), the generator's part; what lighter weights make less of.
        first_ms: to the first sound that no gap of a usual clause follows.
    """

    team: Team
    ramp: tuple[int, ...]
    rtf: float
    generator_share: float
    first_ms: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What the voice works with. stream_frames: of most calls of the codec; 0: all at the end."""

    talker: int
    code_predictor: int
    codec: int
    ramp: tuple[int, ...]
    stream_frames: int


def plan(settings: TtsSettings, tuning: Tuning | None, cores: Cores) -> Plan:
    """The settings, where they say something; what was measured for the rest, or a guess while nothing was."""
    team = default_team(cores) if tuning is None else tuning.team
    ramp = DEFAULT_RAMP if tuning is None else tuning.ramp
    if settings.ramp != "auto":
        ramp = tuple(int(frames) for frames in settings.ramp.split("-"))
    return Plan(
        settings.talker_threads or team.generator,
        settings.code_predictor_threads or team.generator,
        settings.codec_threads or team.codec,
        ramp,
        ramp[-1] if settings.stream_frames < 0 else settings.stream_frames,
    )


def is_automatic(settings: TtsSettings) -> bool:
    """Whether anything is left to be measured."""
    threads = (settings.talker_threads, settings.code_predictor_threads, settings.codec_threads)
    return 0 in threads or (settings.ramp == "auto" and settings.stream_frames < 0)


def default_team(cores: Cores) -> Team:
    """Before anything was measured."""
    return Team(min(cores.n_fast, 4), min(cores.n_physical, 2))


def teams(cores: Cores) -> tuple[Team, ...]:
    """What is worth trying, the likeliest first, at most six; of a codec's number of threads one after the other."""
    fast, all_ = cores.n_fast, cores.n_physical
    codecs = dict.fromkeys(max(1, n) for n in (min(all_, 2), 1, all_ // 2) if n <= 4)
    generators = dict.fromkeys(max(1, n) for n in (min(fast, 8), min(fast, 4), fast - 1, min(all_, 8), fast // 2))
    pairs = [Team(generator, codec) for codec in codecs for generator in generators]
    usable = [team for team in pairs if team.generator <= all_ and team.codec <= all_]
    return tuple(usable[:_MOST_TEAMS])


def best_trial(trials: Sequence[Trial]) -> Trial:
    """The fastest; of those as good as equal the one with the fewest threads, then the earliest first sound."""
    best = min(trial.rtf for trial in trials)
    near = [trial for trial in trials if trial.rtf <= best * (1 + EQUAL)]
    return min(near, key=lambda t: (t.team.generator + t.team.codec, t.first_ms, t.rtf, t.team.codec))


def generator_share(trial: Trial) -> float:
    """The generator's part of the work.

    Both work at once on the same cores, so the times of both are longer than alone, by about the same factor; threads
    times time is then in the proportion of the work.
    """
    generator, codec = trial.generator_ms * trial.team.generator, trial.codec_ms * trial.team.codec
    return generator / (generator + codec) if generator + codec > 0 else 0.5


def choose(trials: Sequence[Trial], call_ms: Mapping[int, float], trial_frames: int) -> Tuning:
    """The best team, then the best ramp for it.

    Args:
        trials: at least one.
        call_ms: frames of a codec's call -> how long it takes alone. Empty: the ramp stays the default.
        trial_frames: frames of each call of the codec in the trials.
    """
    trial = best_trial(trials)
    share = generator_share(trial)
    if trial_frames not in call_ms:
        return Tuning(trial.team, DEFAULT_RAMP, trial.rtf, share, trial.first_ms)
    made = [_with_ramp(ramp, trial, share, call_ms, trial_frames) for ramp in RAMPS if set(ramp) <= set(call_ms)]
    if not made:
        return Tuning(trial.team, DEFAULT_RAMP, trial.rtf, share, trial.first_ms)
    enough = max(_FAST_ENOUGH, min(tuning.rtf for tuning in made) * (1 + EQUAL))
    return min((t for t in made if t.rtf <= enough), key=lambda t: (t.first_ms, t.rtf))


def _with_ramp(
    ramp: tuple[int, ...], trial: Trial, share: float, call_ms: Mapping[int, float], trial_frames: int
) -> Tuning:
    """What the trial would have been with these pieces: another length makes the codec's part cheaper or dearer."""

    def relative(frames: int) -> float:
        return (call_ms[frames] / frames) / (call_ms[trial_frames] / trial_frames)

    rtf = trial.rtf * (share + (1 - share) * relative(ramp[-1]))
    first_ms = first_sound_ms(trial.generator_ms, {k: trial.codec_ms * k * relative(k) for k in ramp}, ramp)
    return Tuning(trial.team, ramp, rtf, share, first_ms)


def first_sound_ms(generator_ms: float, codec_ms: Mapping[int, float], ramp: Sequence[int]) -> float:
    """When the sound of a usual clause can begin so that no piece of it comes too late, from the first frame's start.

    Args:
        generator_ms: of a frame. codec_ms: frames -> of a call with so many.
    """
    frames = told = 0
    codec_free_ms = begin_ms = 0.0
    for size in _sizes(ramp):
        frames += size
        codec_free_ms = max(codec_free_ms, frames * generator_ms) + codec_ms[size]
        begin_ms = max(begin_ms, codec_free_ms - told * FRAME_MS)
        told = frames
        if told >= _CLAUSE_FRAMES:
            return begin_ms
    raise AssertionError("sizes never end")


def _sizes(ramp: Sequence[int]) -> Iterator[int]:
    yield from ramp
    while True:
        yield ramp[-1]
