import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kazeia_desktop.errors import Cancelled
from kazeia_desktop.models.lock import exclusive
from kazeia_desktop.runtime.cancel import CancelToken

pytestmark = pytest.mark.unit

_HOLDER = """
import sys
from pathlib import Path
from kazeia_desktop.models.lock import exclusive
from kazeia_desktop.runtime.cancel import CancelToken
with exclusive(Path(sys.argv[1]), CancelToken(), lambda: None):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_waited_for_and_a_dead_one_is_not(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    cancel = CancelToken()
    with pytest.raises(Cancelled), exclusive(lock, cancel, cancel.set):
        pytest.fail("two hold it")
    holder.kill()
    holder.communicate()
    with exclusive(lock, CancelToken(), lambda: pytest.fail("it waited for a dead process")):
        pass


def test_a_second_thread_waits(tmp_path: Path) -> None:
    order: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        with exclusive(tmp_path / ".lock", CancelToken(), waiting.set):
            order.append("second")

    thread = threading.Thread(target=second)
    with exclusive(tmp_path / ".lock", CancelToken(), lambda: None):
        thread.start()
        assert waiting.wait(5)
        order.append("first")
    thread.join(5)
    assert order == ["first", "second"]
