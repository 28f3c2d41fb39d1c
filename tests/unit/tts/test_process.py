"""Programs that write, fail, hang or are not there."""

import sys
import threading
import time

import pytest

from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.process import ProgramFailed, run_program

pytestmark = pytest.mark.unit


def python(script: str) -> list[str]:
    return [sys.executable, "-S", "-c", script]


def test_what_goes_in_comes_out_whatever_its_size() -> None:
    given = bytes(range(256)) * 4000
    copy = python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())")
    assert run_program(copy, given, CancelToken(), 20.0) == given


def test_the_last_line_of_an_error_is_told() -> None:
    with pytest.raises(ProgramFailed, match=r"^no such voice$"):
        run_program(python("import sys; sys.exit('warning\\nno such voice')"), b"", CancelToken(), 20.0)
    with pytest.raises(ProgramFailed, match="exit code 3"):
        run_program(python("raise SystemExit(3)"), b"", CancelToken(), 20.0)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ProgramFailed, match="No such file"):
        run_program(["/nowhere/espeak"], b"", CancelToken(), 1.0)


def test_a_program_that_does_not_end() -> None:
    started = time.monotonic()
    with pytest.raises(ProgramFailed, match="no end within 0 s"):
        run_program(python("import time; time.sleep(60)"), b"", CancelToken(), 0.05)
    assert time.monotonic() - started < 10


def test_cancelled_while_it_runs() -> None:
    cancel = CancelToken()
    timer = threading.Timer(0.1, cancel.set)
    timer.start()
    started = time.monotonic()
    assert run_program(python("import time; time.sleep(60)"), b"x" * 100_000, cancel, 50.0) is None
    timer.join()
    assert time.monotonic() - started < 10


def test_the_environment_is_passed() -> None:
    show = python("import os; print(os.environ['SPOKEN'], end='')")
    assert run_program(show, b"", CancelToken(), 20.0, {"SPOKEN": "été", "PYTHONUTF8": "1"}) == "été".encode()
