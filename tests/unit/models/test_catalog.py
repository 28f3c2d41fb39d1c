from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.errors import ModelError, ModelMissingError
from kazeia_desktop.models.catalog import Catalog, is_safe_file_name

pytestmark = pytest.mark.unit

GOOD = """
version = 1
[[model]]
name = "a"
kind = "llm"
title = "A"
licence = "MIT"
[[model.files]]
name = "f.bin"
bytes = 3
sha256 = "{sha}"
wheels = [{{ wheel = "x==1", member = "x/f.bin", bytes = 3, sha256 = "{sha}" }}]
""".format(sha="0" * 64)


def load(tmp_path: Path, text: str) -> Catalog:
    path = tmp_path / "catalog.toml"
    path.write_text(text, "utf-8")
    return Catalog.load(path)


def test_the_starter_set_is_whole_and_pinned() -> None:
    starter = [entry for entry in Catalog.load() if entry.starter]
    assert {entry.kind for entry in starter} == {"stt", "vad", "llm", "voice"}
    assert all(entry.pinned and entry.usable for entry in starter)
    assert all(file.wheels for entry in starter for file in entry.files), "a fresh machine needs the index only"
    assert sum(entry.bytes or 0 for entry in starter) == 733_511_939


def test_what_is_not_pinned_comes_from_the_hub_only() -> None:
    loose = [file for entry in Catalog.load() for file in entry.files if file.sha256 is None]
    assert loose
    assert all(file.hub and not file.wheels and file.bytes is None for file in loose)


def test_weights_are_the_first_file() -> None:
    assert Catalog.load().entry("whisper-base").weights.name == "model.bin"


def test_unknown_name() -> None:
    with pytest.raises(ModelMissingError, match="no model 'whisper-huge'"):
        Catalog.load().entry("whisper-huge")


def test_a_good_catalogue(tmp_path: Path) -> None:
    assert [entry.bytes for entry in load(tmp_path, GOOD)] == [3]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "f.bin"', 'name = "../f.bin"'),
        ('name = "f.bin"', 'name = "/etc/passwd"'),
        ('name = "f.bin"', r'name = "..\\f.bin"'),
        ('name = "f.bin"', 'name = "C:f.bin"'),
        ('name = "f.bin"', 'name = ".verified.json"'),
        ('name = "f.bin"', 'name = "nul.bin"'),
        ('name = "f.bin"', 'name = "x.part"'),
        ('name = "f.bin"', 'name = 7'),
        ('name = "a"', 'name = "../a"'),
        ('name = "a"', 'name = ".."'),
        ('name = "a"', 'name = "-r"'),
        ('wheel = "x==1"', 'wheel = "--index-url=http://x"'),
        ('wheel = "x==1"', 'wheel = "x"'),
        ('wheel = "x==1"', 'wheel = "http://x/x.whl"'),
        ('member = "x/f.bin"', 'member = "../f.bin"'),
        ("bytes = 3\n", "bytes = 4\n"),
        ("bytes = 3\n", "bytes = -3\n"),
        ("bytes = 3\n", "bytes = true\n"),
        ("bytes = 3\n", ""),
        ("0" * 64, "0" * 63),
        ("0" * 64, "Z" * 64),
        ('kind = "llm"', 'kind = "virus"'),
        ('licence = "MIT"', 'licence = ""'),
        ('title = "A"', 'title = "A"\nstarter = 1'),
        ('title = "A"', 'title = "A"\nsurprise = 1'),
        ("version = 1", "version = 2"),
        ("version = 1", "version = 1\nbroken"),
        ("[[model]]", "[model]"),
    ],
)  # fmt: skip
def test_a_hostile_or_broken_catalogue_is_refused_in_one_line(tmp_path: Path, old: str, new: str) -> None:
    assert old in GOOD
    with pytest.raises(ModelError, match="cannot be used") as caught:
        load(tmp_path, GOOD.replace(old, new))
    assert "\n" not in str(caught.value)


def test_a_hub_file_without_hash_may_not_have_wheels(tmp_path: Path) -> None:
    text = GOOD.replace("bytes = 3\n", "").replace('sha256 = "' + "0" * 64 + '"\nwheels', "wheels")
    with pytest.raises(ModelError, match="no sha256"):
        load(tmp_path, text)


def test_a_model_twice(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="twice"):
        load(tmp_path, GOOD + GOOD.replace("version = 1", ""))


def test_a_missing_catalogue(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be used"):
        Catalog.load(tmp_path / "none.toml")


@given(st.text(max_size=30) | st.from_regex(r"[A-Za-z0-9./\\:-]{1,20}", fullmatch=True))
def test_a_safe_name_stays_inside_its_folder(name: str) -> None:
    if is_safe_file_name(name):
        assert not PurePosixPath(name).is_absolute()
        assert not PureWindowsPath(name).drive and not PureWindowsPath(name).root
        assert ".." not in PureWindowsPath(name).parts
        assert name.isascii() and name.isprintable()


@given(st.binary(max_size=200))
def test_any_bytes_load_or_say_why(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.toml"
        path.write_bytes(content)
        with pytest.raises(ModelError):
            Catalog.load(path)
