"""The scripts behind make, with stand-ins for the programs that they call."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for Linux"),
]

TOOLS = Path(__file__).parents[3] / "tools"
NEEDED = ("bash", "env", "dirname", "cat")


def programs(folder: Path, **sources: str) -> Path:
    """A PATH of its own: the shell's basics, and stand-ins with the given bash source."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NEEDED:
        real = shutil.which(name)
        assert real is not None
        (folder / name).symlink_to(real)
    for name, source in sources.items():
        file = folder / name.replace("_", "-")
        file.write_text(f"#!{shutil.which('bash')}\n{source}\n", "utf-8")
        file.chmod(0o755)
    return folder


def run(
    script: Path, *arguments: str, path: Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(script), *arguments],
        env={"PATH": str(path), **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.fixture
def package_list(tmp_path: Path) -> Path:
    file = tmp_path / "packages.txt"
    file.write_text("# a comment\n\nhere   # what for\nabsent # what for\n", "utf-8")
    return file


APT = {
    "python3": f'exec {sys.executable} "$@"',
    "c++": "",
    "dpkg_query": "[[ ${@: -1} == here || -e $STATE/${@: -1} ]] && echo -n installed",
    "apt_get": 'echo "apt-get $*" >>"$STATE/calls"; [[ $1 == install ]] && : >"$STATE/absent"; exit 0',
    "sudo": 'echo "sudo" >>"$STATE/calls"; exec "$@"',
}


def test_missing_packages_are_installed_once(tmp_path: Path, package_list: Path) -> None:
    path = programs(tmp_path / "bin", **APT)
    first = run(TOOLS / "system_packages.sh", str(package_list), path=path, STATE=str(tmp_path))
    assert first.returncode == 0, first.stderr
    assert "not installed: absent\n" in first.stdout
    calls = (tmp_path / "calls").read_text("utf-8")
    assert "install -y -q --no-install-recommends absent\n" in calls
    assert ("sudo" in calls) == (os.geteuid() != 0)
    assert ("may ask for your password" in first.stdout) == (os.geteuid() != 0)
    again = run(TOOLS / "system_packages.sh", str(package_list), path=path, STATE=str(tmp_path))
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert (tmp_path / "calls").read_text("utf-8") == calls


def test_a_failed_installation_says_what_was_not_installed(tmp_path: Path, package_list: Path) -> None:
    path = programs(tmp_path / "bin", **{**APT, "apt_get": "exit 100"})
    done = run(TOOLS / "system_packages.sh", str(package_list), path=path, STATE=str(tmp_path))
    assert done.returncode == 1
    assert "could not be installed: absent." in done.stderr


def test_another_system_is_told_the_list(tmp_path: Path, package_list: Path) -> None:
    path = programs(tmp_path / "bin", python3=APT["python3"], **{"c++": ""})
    done = run(TOOLS / "system_packages.sh", str(package_list), path=path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == ["  here", "  absent"]


def test_skip_system_leaves_it_alone(tmp_path: Path, package_list: Path) -> None:
    path = programs(tmp_path / "bin")
    done = run(TOOLS / "system_packages.sh", str(package_list), path=path, SKIP_SYSTEM="1")
    assert (done.returncode, done.stdout) == (0, "")


def test_every_listed_package_is_named_once() -> None:
    lists = sorted((TOOLS.parent / "packaging" / "linux").glob("system-packages*.txt"))
    names = [line.split()[0] for file in lists for line in file.read_text("utf-8").splitlines() if line[:1] not in "#"]
    assert len(names) > 20
    assert len(names) == len(set(names))


OLD = "echo"  # a Python outside 3.11-3.13 prints an empty line
BROKEN = "exit 127"  # a version manager's stand-in for a version that is not there


def test_a_python_that_fits_is_found_behind_those_that_do_not(tmp_path: Path) -> None:
    path = programs(tmp_path / "bin", **{"python3": OLD, "python3.13": BROKEN, "python3.12": APT["python3"]})
    done = run(TOOLS / "find_python.sh", path=path)
    assert done.returncode == 0
    assert Path(done.stdout.strip()).samefile(sys.executable)


def test_no_python_that_fits(tmp_path: Path) -> None:
    done = run(TOOLS / "find_python.sh", path=programs(tmp_path / "bin", python3=OLD))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Kazeia needs Python 3.11, 3.12 or 3.13")


DEVICES = '[[ $1 == devices ]] && { echo "$INPUTS"; exit; }; echo "kazeia $*"'
MICROPHONE = '{"inputs": [{"name": "USB"}]}'


@pytest.mark.parametrize(
    ("display", "inputs", "says"),
    [
        ({"DISPLAY": ":0"}, MICROPHONE, ""),
        ({"WAYLAND_DISPLAY": "wayland-0"}, MICROPHONE, ""),
        ({}, MICROPHONE, "no display:"),
        ({"DISPLAY": ":0"}, '{"inputs": []}', "no microphone:"),
        ({}, '{"inputs": []}', "no display and no microphone:"),
    ],
)
def test_the_window_or_a_recorded_question(tmp_path: Path, display: dict[str, str], inputs: str, says: str) -> None:
    (tmp_path / "tools").mkdir()
    script = Path(shutil.copy(TOOLS / "run.sh", tmp_path / "tools"))
    programs(tmp_path / ".venv" / "bin", kazeia=DEVICES, python=APT["python3"])
    path = programs(tmp_path / "bin")
    done = run(script, path=path, cwd=tmp_path, INPUTS=inputs, **display)
    assert done.returncode == 0, done.stderr
    if says:
        assert f"This machine has {says}" in done.stdout
        assert "kazeia ask /usr/share/asterisk/sounds/fr_CA_f_June/vm-savefolder.wav -o reply.wav" in done.stdout
    else:
        assert done.stdout == "kazeia \n"


def test_a_failing_device_list_counts_as_no_microphone(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    script = Path(shutil.copy(TOOLS / "run.sh", tmp_path / "tools"))
    programs(
        tmp_path / ".venv" / "bin", kazeia='[[ $1 == devices ]] && exit 1; echo "kazeia $*"', python=APT["python3"]
    )
    done = run(script, path=programs(tmp_path / "bin"), cwd=tmp_path, DISPLAY=":0")
    assert "no microphone:" in done.stdout
    assert "kazeia ask" in done.stdout
