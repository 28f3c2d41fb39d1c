"""A process ends at once, with its children, whatever runs in it."""

import os
import select
import subprocess
import sys
import threading
import time

import pytest

from kazeia_desktop.runtime.leaving import still_running

pytestmark = [pytest.mark.unit, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

STUCK = """
import subprocess, sys, threading
from kazeia_desktop.runtime.leaving import leave, still_running
child = subprocess.Popen([sys.executable, "-c", "import subprocess, sys; subprocess.run(['sleep', '47.11'])"])
threading.Thread(target=child.wait, name="waits").start()
print(child.pid, still_running())
leave(3)
"""
DESTRUCTOR = """
import ctypes
from kazeia_desktop.runtime.leaving import skip_destructors
library = ctypes.CDLL(None)
library.__cxa_atexit(library.pause, None, None)  # waits for ever
skip_destructors()
library.exit(5)
"""


def ends(pid: int) -> bool:
    """Whether a process is gone, within some seconds."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


def test_it_ends_though_a_thread_does_not() -> None:
    began_s = time.monotonic()
    ran = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 3 and time.monotonic() - began_s < 20
    child, _, names = ran.stdout.strip().partition(" ")
    assert names == "['waits']"
    assert ends(int(child))


def test_c_exit_waits_for_no_destructor() -> None:
    assert subprocess.run([sys.executable, "-c", DESTRUCTOR], timeout=30).returncode == 5


def test_a_daemon_is_not_waited_for() -> None:
    hold = threading.Event()
    before = still_running()
    threads = [threading.Thread(target=hold.wait, name=f"t{daemon}", daemon=daemon) for daemon in (True, False)]
    for thread in threads:
        thread.start()
    try:
        assert [name for name in still_running() if name not in before] == ["tFalse"]
    finally:
        hold.set()
        for thread in threads:
            thread.join()
