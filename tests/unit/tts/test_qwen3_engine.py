"""The engine around its models: a second try, what is told of an utterance, one utterance after the other.

The models are tiny and real; what the generator says and how it sounds is scripted.
"""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kazeia_desktop.errors import InferenceError, SettingsError
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts import qwen3
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_clause import Spoken
from kazeia_desktop.tts.qwen3_generator import Speech, Times
from kazeia_desktop.tts.qwen3_options import CODE_PREDICTOR_SAMPLING, TALKER_SAMPLING, SpeechOptions
from tests.fakes.micro_voice import write_checkpoint

pytestmark = pytest.mark.unit

PER_FRAME = 1920
LOUD, SILENT = 700, 0
SEED = 40


@dataclass
class Take:
    """One attempt: how it stops, and its frames' code 0, which is how loud they are."""

    stop: str
    codes: list[int]


@dataclass
class Scripted:
    """In place of FrameGenerator: one take after the other. seeds, rows: what it was given."""

    takes: list[Take]
    seeds: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    stop: str = "eos"
    times: Times = field(default_factory=Times)

    def frames(self, speech: Speech, seed: int, *rest: Any) -> Iterator[IntArray]:  # noqa: ANN401 - its options
        take = self.takes[len(self.seeds)]
        self.seeds.append(seed)
        self.rows.append(sum(1 for _ in speech.rows))
        for code in take.codes:
            yield np.full(16, code, np.int32)
        self.stop = take.stop


class Loudness:
    """In place of the codec's stream."""

    def reset(self) -> None: ...

    def push(self, codes: IntArray, cancel: CancelToken | None = None) -> FloatArray:
        return np.repeat(codes[:, 0].astype(np.float32) / 1000, PER_FRAME)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Qwen3Tts:
    base = tmp_path_factory.mktemp("voice")
    return Qwen3Tts.load(convert(OfficialSource(write_checkpoint(base / "c")), base / "f32", "f32").directory, 1)


@pytest.fixture
def tts(loaded: Qwen3Tts, monkeypatch: pytest.MonkeyPatch) -> Qwen3Tts:
    monkeypatch.setattr(loaded, "_codec_stream", Loudness())
    return loaded


def spoken(
    tts: Qwen3Tts, *takes: Take, text: str | Iterable[str] = "bon bon", **options: object
) -> tuple[Scripted, list[int]]:
    """The generator, and how loud each frame was."""
    tts._generator = generator = Scripted(list(takes))  # type: ignore[assignment]
    values: dict[str, object] = {"seed": SEED, **options}
    frames = list(tts.synthesize(text, None, SpeechOptions(**values), CancelToken()))  # type: ignore[arg-type]
    assert [frame.end_of_clause for frame in frames] == [False] * (len(frames) - 1) + [True]
    assert len(frames[-1].samples) == 0
    sound = np.concatenate([frame.samples for frame in frames])
    return generator, [round(float(level) * 1000) for level in sound[::PER_FRAME]]


def test_a_text_that_ends_is_said_once(tts: Qwen3Tts) -> None:
    generator, heard = spoken(tts, Take("eos", [LOUD] * 9))
    assert heard == [LOUD] * 9
    assert generator.seeds == [SEED]
    stats = tts.stats
    assert (stats.frames, stats.chunks, stats.retries, stats.seed, stats.stop) == (9, 4, 0, SEED, "eos")
    assert stats.codes.shape == (9, 16)
    assert stats.ttfa_ms is not None and 0 < stats.ttfa_ms <= stats.elapsed_s * 1000


@pytest.mark.parametrize("stop", ["budget", "silence", "loop"])
def test_what_was_not_heard_yet_is_said_again(tts: Qwen3Tts, stop: str) -> None:
    """With another seed; the silence before stays, it was played already."""
    generator, heard = spoken(tts, Take(stop, [SILENT] * 5), Take("eos", [LOUD] * 3))
    assert heard == [SILENT] * 5 + [LOUD] * 3
    assert generator.seeds == [SEED, SEED + 1]
    stats = tts.stats
    assert (stats.frames, stats.retries, stats.seed, stats.stop) == (3, 1, SEED + 1, "eos")


def test_what_was_heard_is_not_said_twice(tts: Qwen3Tts) -> None:
    generator, heard = spoken(tts, Take("loop", [LOUD] * 5))
    assert heard == [LOUD] * 5
    assert generator.seeds == [SEED]
    assert (tts.stats.retries, tts.stats.stop) == (0, "loop")


def test_a_text_decoded_at_once_is_always_said_again(tts: Qwen3Tts) -> None:
    """Nobody has heard the first try."""
    generator, heard = spoken(tts, Take("loop", [LOUD] * 5), Take("eos", [LOUD] * 3), stream_frames=0)
    assert heard == [LOUD] * 3
    assert generator.seeds == [SEED, SEED + 1]
    assert (tts.stats.retries, tts.stats.stop) == (1, "eos")


def test_there_is_no_third_try(tts: Qwen3Tts) -> None:
    generator, heard = spoken(tts, Take("loop", [SILENT] * 5), Take("silence", [SILENT] * 4))
    assert heard == [SILENT] * 9
    assert generator.seeds == [SEED, SEED + 1]
    assert (tts.stats.retries, tts.stats.stop) == (1, "silence")


def test_a_bound_of_frames_is_no_failure(tts: Qwen3Tts) -> None:
    generator, _ = spoken(tts, Take("budget", [SILENT] * 5), max_frames=5)
    assert generator.seeds == [SEED]


def test_a_second_try_has_the_whole_text(tts: Qwen3Tts) -> None:
    """Of a text that came piece by piece, and cannot come again."""
    pieces = iter(["bon", " bon", " a", " bon"])
    generator, _ = spoken(tts, Take("loop", [SILENT]), Take("eos", [LOUD]), text=pieces, text_mode="streamed")
    whole, _ = spoken(tts, Take("eos", [LOUD]), text="bon bon a bon", text_mode="streamed")
    assert generator.rows == whole.rows * 2
    assert whole.rows[0] > 3


def test_a_random_seed_is_told(tts: Qwen3Tts) -> None:
    seeds = set()
    for _ in range(3):
        generator, _ = spoken(tts, Take("eos", [LOUD]), seed=None)
        assert generator.seeds == [tts.stats.seed]
        seeds.add(tts.stats.seed)
    assert len(seeds) == 3


def test_nothing_at_all(tts: Qwen3Tts) -> None:
    _, heard = spoken(tts, Take("eos", []))
    assert heard == []
    assert (tts.stats.frames, tts.stats.ttfa_ms) == (0, None)


def test_a_wrong_voice_is_said_and_the_next_speaks(tts: Qwen3Tts) -> None:
    with pytest.raises(SettingsError, match="63 numbers"):
        list(tts.synthesize("a", np.zeros(63, np.float32), SpeechOptions(), CancelToken()))
    assert spoken(tts, Take("eos", [LOUD]))[1] == [LOUD]


def test_a_text_that_fails_while_it_comes(tts: Qwen3Tts) -> None:
    def pieces() -> Iterator[str]:
        yield "bon bon"
        raise InferenceError("{text}", text="no more")

    with pytest.raises(InferenceError, match="no more"):
        list(tts.synthesize(pieces(), None, SpeechOptions(text_mode="whole"), CancelToken()))
    assert spoken(tts, Take("eos", [LOUD]))[1] == [LOUD]


def test_two_utterances_take_turns(tts: Qwen3Tts) -> None:
    tts._generator = Scripted([Take("eos", [LOUD] * 30)] * 2)  # type: ignore[assignment]
    first = tts.synthesize("a", None, SpeechOptions(), CancelToken())
    next(first)
    heard: list[int] = []
    other = threading.Thread(
        target=lambda: heard.extend(len(f.samples) for f in tts.synthesize("b", None, SpeechOptions(), CancelToken()))
    )
    other.start()
    other.join(0.05)
    assert other.is_alive() and heard == []
    rest = sum(len(frame.samples) for frame in first)
    other.join(5)
    assert rest == 29 * PER_FRAME and sum(heard) == 30 * PER_FRAME


def test_the_options_are_the_published_models(loaded: Qwen3Tts, tmp_path: Path) -> None:
    from kazeia_desktop.models.convert.official_config import SAMPLING

    published = tuple(SAMPLING[name] for name in ("temperature", "top_k", "top_p", "repetition_penalty"))
    talker = TALKER_SAMPLING
    assert (talker.temperature, talker.top_k, talker.top_p, talker.repetition_penalty) == published
    others = CODE_PREDICTOR_SAMPLING
    assert (others.temperature, others.top_k, others.top_p) == published[:3] and others.repetition_penalty == 1


@pytest.mark.parametrize("together", [False, True])
def test_who_waits_for_another_utterance_can_give_up(tts: Qwen3Tts, together: bool) -> None:
    """The other thread keeps its utterance open and never asks for the rest."""
    tts._lock.acquire()
    cancel = CancelToken()
    heard: list[object] = []
    options = SpeechOptions(language="french", seed=SEED)

    def speak() -> None:
        if together:
            heard.extend(tts.synthesize_all([Spoken("Bonjour.", None, options)], cancel))
        else:
            heard.extend(tts.synthesize("Bonjour.", None, options, cancel))

    waiting = threading.Thread(target=speak, name="waiting")
    waiting.start()
    try:
        waiting.join(0.05)
        assert waiting.is_alive()
        cancel.set()
        waiting.join(3.0)
        assert not waiting.is_alive()
    finally:
        tts._lock.release()
    assert heard == []
    assert not tts._lock.locked()


def test_no_more_threads_are_a_plain_line_and_those_before_stay(tts: Qwen3Tts, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (tts._team_sizes, tts._predictor, tts._session)

    def refused(n_threads: int) -> None:
        raise RuntimeError("Resource temporarily unavailable")

    monkeypatch.setattr(qwen3, "ThreadTeam", refused)
    with pytest.raises(InferenceError, match=r"no 3 threads .*temporarily unavailable"):
        tts.set_threads(3, 2)
    assert (tts._team_sizes, tts._predictor, tts._session) == before
