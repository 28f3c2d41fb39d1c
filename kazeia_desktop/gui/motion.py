"""Whether the system asks for less movement. Qt does not tell (6.11), so each system is asked in its own words."""

import contextlib
import subprocess
import sys
from typing import Final

_WAIT_S: Final = 2.0
_SPI_GETCLIENTAREAANIMATION: Final = 0x1042
_PORTAL: Final = (
    "gdbus", "call", "--session", "--timeout", "1", "--dest", "org.freedesktop.portal.Desktop",
    "--object-path", "/org/freedesktop/portal/desktop", "--method", "org.freedesktop.portal.Settings.ReadOne",
)  # fmt: skip
_QUESTIONS: Final = (
    ((*_PORTAL, "org.freedesktop.appearance", "reduced-motion"), "uint32 1"),
    ((*_PORTAL, "org.gnome.desktop.interface", "enable-animations"), "false"),
    (("gsettings", "get", "org.gnome.desktop.interface", "enable-animations"), "false"),
)
"""What is asked on Linux, and the word in the answer that means: less movement. The first that answers counts."""
_MACOS: Final = (("defaults", "read", "com.apple.universalaccess", "reduceMotion"), "1")


def system_reduces_motion(platform: str = sys.platform) -> bool:
    """Asks the desktop; False where nothing answers. Takes up to some seconds: for a job."""
    if platform == "win32":
        return _windows()
    questions = (_MACOS,) if platform == "darwin" else _QUESTIONS
    for command, word in questions:
        answer = _ask(command)
        if answer:
            return word in answer
    return False


def _ask(command: tuple[str, ...]) -> str:
    """What the program said; "" where it is missing, fails or does not answer."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_WAIT_S, check=False
        )
        return told.stdout.strip() if told.returncode == 0 else ""
    return ""


def _windows() -> bool:
    import ctypes

    animated = ctypes.c_int(1)
    user32 = getattr(ctypes, "windll").user32  # noqa: B009 - there is none elsewhere
    told = user32.SystemParametersInfoW(_SPI_GETCLIENTAREAANIMATION, 0, ctypes.byref(animated), 0)
    return bool(told) and not animated.value
