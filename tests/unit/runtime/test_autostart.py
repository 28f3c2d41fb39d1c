"""Starting with the session, on XDG desktops and on a registry that is a dictionary."""

import configparser
import shlex
from pathlib import Path

import pytest

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.runtime.autostart import DesktopFile, Registry, command

pytestmark = pytest.mark.unit


class FakeKey:
    """The Run key."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.error: OSError | None = None

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def set(self, name: str, command: str) -> None:
        if self.error is not None:
            raise self.error
        self.values[name] = command

    def remove(self, name: str) -> None:
        del self.values[name]


def exec_line(folder: Path) -> str:
    parser = configparser.RawConfigParser()
    parser.read(folder / "kazeia.desktop")
    assert parser["Desktop Entry"]["Type"] == "Application"
    return parser["Desktop Entry"]["Exec"]


def test_the_file_comes_and_goes(tmp_path: Path) -> None:
    entry = DesktopFile(tmp_path / "autostart")
    entry.set(False, command())
    assert not (tmp_path / "autostart").exists()
    entry.set(True, ["/usr/bin/python3", "-m", "kazeia_desktop", "--background"])
    assert exec_line(tmp_path / "autostart") == "/usr/bin/python3 -m kazeia_desktop --background"
    entry.set(False, command())
    assert list((tmp_path / "autostart").iterdir()) == []


def test_a_moved_kazeia_is_written_anew_unless_the_desktop_switched_it_off(tmp_path: Path) -> None:
    entry, file = DesktopFile(tmp_path), tmp_path / "kazeia.desktop"
    entry.renew(["/old/python"])
    entry.renew(["/new/python"])
    assert exec_line(tmp_path) == "/new/python"
    file.write_text(file.read_text().replace("enabled=true", "enabled=false"))
    entry.renew(["/newer/python"])
    assert exec_line(tmp_path) == "/new/python"


def test_words_are_quoted_as_the_specification_says(tmp_path: Path) -> None:
    DesktopFile(tmp_path).set(True, ["/opt/my apps/python", "100%", 'a"b'])
    line = exec_line(tmp_path).replace("\\\\", "\\")  # a string value's own escapes
    assert shlex.split(line.replace("%%", "%")) == ["/opt/my apps/python", "100%", 'a"b']


def test_a_moved_home_is_started_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAZEIA_HOME", "/data/kazeia")
    assert command()[:2] == ["env", "KAZEIA_HOME=/data/kazeia"]
    monkeypatch.delenv("KAZEIA_HOME")
    assert command()[1:] == ["-m", "kazeia_desktop", "--background"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "autostart").write_text("a file")
    with pytest.raises(SettingsError, match="Starting with the session cannot be changed"):
        DesktopFile(tmp_path / "autostart").set(True, command())


def test_the_registry_has_a_command_line() -> None:
    key = FakeKey()
    Registry(key).set(False, command())
    Registry(key).set(True, [r"C:\Program Files\Python\python.exe", "-m", "kazeia_desktop"])
    assert key.values == {"Kazeia": '"C:\\Program Files\\Python\\python.exe" -m kazeia_desktop'}
    Registry(key).set(False, command())
    assert key.values == {}
    key.error = PermissionError(13, "Access is denied")
    with pytest.raises(SettingsError, match="Access is denied"):
        Registry(key).set(True, command())
