"""The library: missing, noisy, restarted."""

import os
import subprocess
import sys
import threading

import pytest

from kazeia_desktop.audio import devices, portaudio
from kazeia_desktop.errors import AudioDeviceError

pytestmark = pytest.mark.unit


def test_without_the_library_the_error_names_the_package() -> None:
    script = (
        "import sys, ctypes.util; ctypes.util.find_library = lambda name: None\n"
        "from kazeia_desktop.audio import devices\n"
        "from kazeia_desktop.errors import AudioDeviceError\n"
        "try: devices.list_inputs()\n"
        "except AudioDeviceError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "libportaudio2" in done.stdout
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_what_libraries_print_is_dropped_and_ours_is_not() -> None:
    script = (
        "import os\n"
        "from kazeia_desktop.audio.portaudio import quiet_stderr\n"
        "os.write(2, b'before ')\n"
        "with quiet_stderr(): os.write(2, b'noise ')\n"
        "os.write(2, b'after')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr == "before after"


def test_quiet_leaks_no_file(capfd: pytest.CaptureFixture[str]) -> None:
    def n_open() -> int:
        return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0  # noqa: PTH208

    before = n_open()
    for _ in range(20):
        with portaudio.quiet_stderr():
            os.write(2, b"noise")
    assert n_open() == before
    assert capfd.readouterr().err == ""


def test_without_a_stderr_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_file(number: int) -> int:
        raise OSError("Bad file descriptor")

    monkeypatch.setattr(os, "dup", no_such_file)
    with portaudio.quiet_stderr():
        done = True
    assert done


@pytest.mark.expects_warning
def test_a_close_that_never_returns_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()

    class Stuck:
        def abort(self, ignore_errors: bool) -> None:
            never.wait(30)

        def close(self, ignore_errors: bool) -> None: ...

    monkeypatch.setattr(portaudio, "_CLOSE_S", 0.05)
    monkeypatch.setattr(portaudio, "_stuck", threading.Event())
    portaudio.close(portaudio.started(Stuck()), abort=True)
    with pytest.raises(AudioDeviceError, match="sound server has died"):
        devices.list_inputs()
    assert not portaudio.refresh()
    never.set()
