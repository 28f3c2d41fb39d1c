"""Clauses that wait are spoken together by a voice that can: in order, of one turn, none lost at a stop."""

import threading
from collections.abc import Callable, Generator

import numpy as np
import pytest

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.pipeline.desk import TurnDesk
from kazeia_desktop.pipeline.items import Reload, Saying
from kazeia_desktop.pipeline.reply_audio import ReplyAudio
from kazeia_desktop.pipeline.speaking import SpeakStage
from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.channel import Channel
from kazeia_desktop.tts.base import BatchVoice, SpeechFigures, SpeechSynthesizer
from tests.fakes.stages import RATE_HZ, FakeSink, FakeSynthesizer

pytestmark = pytest.mark.unit

WAIT_S = 5.0


class Together(FakeSynthesizer):
    """Takes all that wait when a clause's first frame was asked for. runs: the clauses of each run."""

    def __init__(self, before: Callable[[int], None] = lambda index: None) -> None:
        super().__init__()
        self.runs: list[list[int]] = []
        self.closed_runs = 0
        self._before = before
        self.now: SpeechFigures | None = None

    @property
    def figures(self) -> SpeechFigures | None:  # type: ignore[override]
        return self.now

    def synthesize_all(
        self, first: Clause, more: Callable[[], Clause | None], cancel: CancelToken
    ) -> Generator[SpeechFrame, None, None]:
        run = [first]
        self.runs.append([first.index])
        try:
            for clause in run:
                self._before(clause.index)
                for end in (False, True):
                    if cancel.is_set():
                        return
                    while (other := more()) is not None:
                        run.append(other)
                        self.runs[-1].append(other.index)
                    self.now = SpeechFigures(10 + clause.index, 0.5, 1.0, 1.0, 1.0, 0) if end else None
                    sound = np.full(800, 0.1, np.float32)
                    yield SpeechFrame(clause.turn_id, clause.index, sound, RATE_HZ, end_of_clause=end)
        finally:
            self.closed_runs += 1


class Speaking:
    """A stage whose inbox is filled before it runs to its end."""

    def __init__(self, voice: SpeechSynthesizer) -> None:
        self.desk = TurnDesk(lambda event: None)
        self.inbox: Channel[Saying] = Channel(16)
        self.sink = FakeSink()
        self.failed: list[KazeiaError] = []
        self.stage = SpeakStage(
            self.desk, self.inbox, Channel(4), voice, self.sink,
            lambda turn: None, lambda turn, error, action: self.failed.append(error),
            lambda clause: None, ReplyAudio(),
        )  # fmt: skip
        self.turn = self.desk.begin(typed=True)

    def clauses(self, *indices: int, turn: Turn | None = None, last: int = -1) -> None:
        for index in indices:
            text = f"clause {index}"
            self.inbox.put(Clause((turn or self.turn).id, index, text, text, last=index == last))

    def run(self) -> list[tuple[int, bool, bool]]:
        """Until all is spoken: (clause, end of clause, end of turn) of each frame."""
        self.inbox.close()
        self.stage.run()
        return [(f.clause_index, f.end_of_clause, f.end_of_turn) for f in self.sink.queue]


def frames(*indices: int, last: int = -1) -> list[tuple[int, bool, bool]]:
    return [(index, end, end and index == last) for index in indices for end in (False, True)]


def test_what_waits_is_spoken_together_and_in_order() -> None:
    voice = Together()
    assert isinstance(voice, BatchVoice)
    speaking = Speaking(voice)
    speaking.clauses(0, 1, 2, last=2)
    assert speaking.run() == frames(0, 1, 2, last=2)
    assert voice.runs == [[0, 1, 2]]
    # Each clause's own figures.
    assert [figures.frames for figures in speaking.turn.clauses] == [10, 11, 12]


def test_a_clause_that_comes_late_joins() -> None:
    speaking: Speaking
    voice = Together(lambda index: speaking.clauses(1) if index == 0 else None)
    speaking = Speaking(voice)
    speaking.clauses(0)
    thread = threading.Thread(target=speaking.stage.run)
    thread.start()
    while len(speaking.sink.queue) < 4:
        threading.Event().wait(0.002)
    speaking.inbox.close()
    thread.join(WAIT_S)
    assert voice.runs == [[0, 1]]


def test_another_turns_clauses_and_a_reload_wait() -> None:
    voice, other = Together(), Together()
    speaking = Speaking(voice)
    speaking.clauses(0)
    speaking.inbox.put(Reload(lambda: other, lambda: voice))
    speaking.clauses(1)
    assert speaking.run() == frames(0, 1)
    assert voice.closed
    assert (voice.runs, other.runs) == ([[0]], [[1]])


def test_a_stop_drops_what_was_taken() -> None:
    speaking: Speaking
    voice = Together(lambda index: speaking.turn.cancel.set() if index == 1 else None)
    speaking = Speaking(voice)
    speaking.clauses(0, 1, 2)
    assert speaking.run() == frames(0)
    assert voice.closed_runs == 1


def test_a_failure_ends_the_run() -> None:
    def fail(index: int) -> None:
        if index == 1:
            raise KazeiaError("It failed.")

    voice = Together(fail)
    speaking = Speaking(voice)
    speaking.clauses(0, 1)
    assert speaking.run() == frames(0)
    assert len(speaking.failed) == 1 and voice.closed_runs == 1


def test_a_voice_that_cannot_speaks_one_after_the_other() -> None:
    voice = FakeSynthesizer()
    assert not isinstance(voice, BatchVoice)
    speaking = Speaking(voice)
    speaking.clauses(0, 1, last=1)
    assert speaking.run() == frames(0, 1, last=1)
