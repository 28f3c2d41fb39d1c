"""Starting with the session: a .desktop file where desktops follow XDG, a value in the registry on Windows."""

import os
import sys
from pathlib import Path
from typing import Final, Protocol

import platformdirs

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.runtime.small_files import write_atomically

_NAME: Final = "Kazeia"
_RUN_KEY: Final = r"Software\Microsoft\Windows\CurrentVersion\Run"
BACKGROUND: Final = "--background"
"""With it the window stays hidden where there is a tray."""


class RunKey(Protocol):
    """The values of the registry key of what starts with the session."""

    def get(self, name: str) -> str | None: ...

    def set(self, name: str, command: str) -> None: ...

    def remove(self, name: str) -> None: ...


def command() -> list[str]:
    """What starts Kazeia as it runs now."""
    home = os.environ.get("KAZEIA_HOME")
    env = ["env", f"KAZEIA_HOME={home}"] if home and sys.platform != "win32" else []
    return [*env, sys.executable, "-m", "kazeia_desktop", BACKGROUND]


class DesktopFile:
    """XDG autostart. Source: Desktop Application Autostart Specification 0.5."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = (folder or Path(platformdirs.user_config_dir()) / "autostart") / "kazeia.desktop"

    def set(self, enabled: bool, start: list[str]) -> None:
        """Write the file or remove it. Raises SettingsError."""
        try:
            if not enabled:
                self._file.unlink(missing_ok=True)
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            content = (
                "[Desktop Entry]\nType=Application\nVersion=1.0\n"
                f"Name={_NAME}\nComment=A private voice assistant\nComment[fr]=Une assistante vocale privée\n"
                f"Exec={' '.join(_quoted(word) for word in start)}\nIcon=kazeia\nTerminal=false\n"
                "X-GNOME-Autostart-enabled=true\n"
            )
            if not self._file.exists() or self._file.read_text("utf-8", "replace") != content:
                write_atomically(self._file, content.encode())
        except OSError as error:
            raise _cannot(error) from error

    def renew(self, start: list[str]) -> None:
        """Kazeia may have moved: write the file anew, unless the desktop's own tool switched it off in the meantime."""
        try:
            there = self._file.read_text("utf-8", "replace") if self._file.exists() else ""
        except OSError as error:
            raise _cannot(error) from error
        if not any(off in there for off in ("Hidden=true", "X-GNOME-Autostart-enabled=false")):
            self.set(True, start)


class Registry:
    """The Run key of the current user."""

    def __init__(self, key: RunKey) -> None:
        self._key = key

    def set(self, enabled: bool, start: list[str]) -> None:
        """Write the value or remove it. Raises SettingsError."""
        try:
            if enabled:
                self._key.set(_NAME, _windows_line(start))
            elif self._key.get(_NAME) is not None:
                self._key.remove(_NAME)
        except OSError as error:
            raise _cannot(error) from error


def start_at_login(enabled: bool) -> None:
    """Let Kazeia start with the session, or no longer.

    Raises:
        SettingsError: the system does not allow it.
    """
    if sys.platform == "win32":
        Registry(_WindowsRunKey()).set(enabled, command())
    else:
        DesktopFile().set(enabled, command())


def renew() -> None:
    """At a start with the setting on: what starts with the session is this Kazeia.

    Raises:
        SettingsError: the system does not allow it.
    """
    if sys.platform == "win32":
        start_at_login(True)
    else:
        DesktopFile().renew(command())


def _cannot(error: OSError) -> SettingsError:
    return SettingsError(
        "Starting with the session cannot be changed ({reason}): use the system's own settings.",
        reason=error.strerror or str(error),
    )


def _quoted(word: str) -> str:
    """A word of an Exec line: quoted where it must be; % begins a field code. Source: Desktop Entry Specification."""
    escaped = word.replace("%", "%%")
    if word and not any(c in " \t\n\"'\\><~|&;$*?#()`" for c in word):
        return escaped
    for sign in ("\\", '"', "`", "$"):
        escaped = escaped.replace(sign, "\\" + sign)
    return '"' + escaped.replace("\\", "\\\\") + '"'  # a string value: its backslashes are escaped once more


def _windows_line(words: list[str]) -> str:
    import subprocess

    return subprocess.list2cmdline(words)


class _WindowsRunKey:
    """The real one; winreg exists on Windows only."""

    def get(self, name: str) -> str | None:
        if sys.platform != "win32":
            raise OSError("no registry")
        import winreg

        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, _RUN_KEY) as key:
            try:
                return str(winreg.QueryValueEx(key, name)[0])
            except FileNotFoundError:
                return None

    def set(self, name: str, command: str) -> None:
        if sys.platform != "win32":
            raise OSError("no registry")
        import winreg

        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, _RUN_KEY) as key:
            winreg.SetValueEx(key, name, 0, winreg.REG_SZ, command)

    def remove(self, name: str) -> None:
        if sys.platform != "win32":
            raise OSError("no registry")
        import winreg

        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, _RUN_KEY) as key:
            winreg.DeleteValue(key, name)
