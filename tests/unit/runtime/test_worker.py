"""A worker runs once, is named, and tells of what it raised."""

import threading

import pytest

from kazeia_desktop.errors import Cancelled
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.worker import Worker

pytestmark = pytest.mark.unit


def _never(error: Exception) -> None:
    pytest.fail(f"unexpected {error!r}")


def test_it_runs_in_a_named_thread_that_keeps_the_process_alive() -> None:
    seen: list[threading.Thread] = []
    worker = Worker("stt", lambda: seen.append(threading.current_thread()), _never)
    assert worker.join(0.0)  # not started: nothing to wait for
    worker.start()
    assert worker.join(5.0)
    assert seen[0].name == worker.name == "stt"
    assert not seen[0].daemon


def test_an_error_is_told_to_its_owner() -> None:
    told: list[Exception] = []

    def fail() -> None:
        raise RuntimeError("broken")

    worker = Worker("tts", fail, told.append)
    worker.start()
    assert worker.join(5.0)
    assert [str(e) for e in told] == ["broken"]


def test_join_says_when_it_still_runs() -> None:
    cancel = CancelToken()

    def wait() -> None:
        cancel.wait(5.0)

    worker = Worker("llm", wait, _never)
    worker.start()
    assert not worker.join(0.0)
    assert worker.alive
    cancel.set()
    assert worker.join(5.0)


def test_a_token_stays_set() -> None:
    cancel = CancelToken()
    cancel.raise_if_set()
    cancel.set()
    assert cancel.is_set() and cancel.wait(0.0)
    with pytest.raises(Cancelled):
        cancel.raise_if_set()
