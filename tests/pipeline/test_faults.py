"""A fault in any worker, and a child process that is killed: told, logged, and the conversation goes on as it was."""

import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.events import Failed, State, StateChanged, TurnEnded
from kazeia_desktop.pipeline import conversation as module
from kazeia_desktop.tts import phonemes as phonemes_module
from kazeia_desktop.tts.phonemes import phonemes
from tests.fakes.stages import FakeConversation, until

pytestmark = [pytest.mark.pipeline, pytest.mark.expects_warning]

ANSWER = "Bonjour à vous. Il fait beau. Au revoir."
SECRET = "ce que quelqu'un a dit"


def once(owner: object, name: str) -> None:
    """The next call of a method fails as a fault of ours would; the ones after it work."""
    whole: Callable[..., object] = getattr(owner, name)

    def broken(*arguments: object, **named: object) -> object:
        setattr(owner, name, whole)
        raise RuntimeError(SECRET)

    setattr(owner, name, broken)


FAULTS: dict[str, Callable[[FakeConversation], tuple[object, str]]] = {
    "stt": lambda fake: (fake.conversation._recognize, "_recognize"),
    "llm": lambda fake: (fake.session, "reply"),
    "text": lambda fake: (fake.conversation._split, "_remember"),
    "tts": lambda fake: (fake.voice, "synthesize"),
    "playback": lambda fake: (fake.sink, "all_played"),
    "listen": lambda fake: (fake.conversation._listen, "_hear"),
}


def test_every_worker_is_tried() -> None:
    fake = FakeConversation()
    assert {worker.name for worker in fake.conversation._workers} == set(FAULTS)
    fake.conversation.close()


@pytest.mark.parametrize("part", FAULTS)
def test_a_fault_is_told_logged_and_nothing_is_lost(part: str, caplog: pytest.LogCaptureFixture) -> None:
    with FakeConversation(instant=True) as fake:
        fake.ask()
        fake.watcher.wait_for(TurnEnded, turn_id=1, reason="done")
        once(*FAULTS[part](fake))
        fake.ask()
        failed = fake.watcher.wait_for(Failed)
        assert isinstance(failed, Failed)
        assert (failed.values["part"], failed.fatal, failed.action) == (part, False, "retry")
        assert SECRET not in str(failed.values)
        ended = fake.watcher.wait_for(TurnEnded)
        assert isinstance(ended, TurnEnded)
        if ended.reason == "error":
            assert fake.watcher.wait_for(StateChanged, state=State.LISTENING)
        fake.ask()
        assert fake.watcher.wait(lambda e: isinstance(e, TurnEnded) and e.turn_id > 1 and e.reason == "done")
        known = [message.text for message in fake.session.history[:2]]
        assert known == ["Quel temps fait-il ?", ANSWER]  # what was said before
        until(lambda: fake.conversation.state is State.LISTENING, "it listens again")
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == 1 and part in told[0] and "RuntimeError < test_faults.py" in told[0]
    assert SECRET not in told[0]


def test_faults_far_apart_are_forgiven_and_many_at_once_are_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RESTARTS_S", 0.0)  # as if hours lay between them
    with FakeConversation(instant=True) as fake:
        for number in range(8):
            once(fake.session, "reply")
            fake.ask()
            failed = fake.watcher.wait_for(Failed)
            assert isinstance(failed, Failed) and not failed.fatal, number
            fake.watcher.wait_for(TurnEnded, reason="error")
        monkeypatch.setattr(module, "_RESTARTS_S", 300.0)
        for _ in range(3):  # and the last of those before
            once(fake.session, "reply")
            fake.ask()
            fake.watcher.wait_for(TurnEnded, reason="error")
        assert fake.watcher.wait_for(Failed, fatal=True)
        assert fake.watcher.wait_for(StateChanged, state=State.ERROR)
        fake.ask()
        until(lambda: not len(fake.source._frames), "all of it was read")
        assert fake.conversation.state is State.ERROR  # it stays, until the user tries again


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for espeak-ng")
def test_a_killed_child_of_the_voice_is_told_and_the_next_clause_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, mark = tmp_path / "espeak-ng", tmp_path / "killed"
    program.write_text(
        f'#!/bin/sh\ncat > /dev/null\nif [ ! -e "{mark}" ]; then : > "{mark}"; kill -9 $$; fi\necho bɔ̃ʒuʁ\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(phonemes_module, "find_espeak", lambda: str(program))
    with pytest.raises(InferenceError) as told:
        phonemes("Bonjour", "fr")
    assert "espeak-ng failed" in str(told.value) and "Bonjour" not in str(told.value)
    assert phonemes("Bonjour", "fr")
