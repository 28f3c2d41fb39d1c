"""The settings file survives what happens to files."""

import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.settings.schema import SCHEMA_VERSION, SECTION_TITLES, Settings, section_type, shown_of
from kazeia_desktop.settings.store import SettingsStore, with_value

pytestmark = pytest.mark.unit


def test_defaults_where_there_is_no_file(tmp_path: Path) -> None:
    store = SettingsStore(tmp_path / "settings.toml")
    assert store.load() == Settings()
    assert store.problem is None


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    store = SettingsStore(tmp_path / "dossier réglages" / "settings.toml")
    changed = with_value(Settings(), "llm.temperature", 1.25)
    store.save(changed)
    assert SettingsStore(store.path).load() == changed
    assert tomllib.loads(store.path.read_text("utf-8"))["version"] == SCHEMA_VERSION


def test_saving_keeps_the_one_before(tmp_path: Path) -> None:
    store = SettingsStore(tmp_path / "settings.toml")
    store.save(with_value(Settings(), "llm.top_k", 7))
    store.save(with_value(Settings(), "llm.top_k", 8))
    assert tomllib.loads((tmp_path / "settings.bak").read_text("utf-8"))["llm"]["top_k"] == 7
    assert sorted(p.name for p in tmp_path.iterdir()) == ["settings.bak", "settings.toml"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not toml [", "at line 1"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"", "empty"),
        (b" \r\n", "empty"),
        (b"version = 99", "newer"),
        (b"version = 'one'", "version"),
        (b"version = 1\n[llm]\ntemperature = 9.0", "llm.temperature"),
        (b"version = 1\n[llm]\nno_such_thing = 1", "llm.no_such_thing"),
        (b"version = 1\nllm = 3", "llm"),
    ],
)
def test_a_broken_file_is_set_aside_with_its_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    store = SettingsStore(path)
    assert store.load() == Settings()
    assert store.problem is not None
    assert reason in str(store.problem)
    assert "\n" not in store.problem.told_in("fr").strip()
    assert (tmp_path / "settings.broken.toml").read_bytes() == content
    assert not path.exists()


def test_two_broken_files_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    for content in (b"one [", b"two ["):
        path.write_bytes(content)
        SettingsStore(path).load()
    assert (tmp_path / "settings.broken.toml").read_bytes() == b"one ["
    assert (tmp_path / "settings.broken-2.toml").read_bytes() == b"two ["


def test_an_unreadable_file_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.mkdir()  # a directory cannot be read as a file, by root neither
    store = SettingsStore(path)
    assert store.load() == Settings()
    assert store.problem is not None and str(path) in str(store.problem)
    assert path.is_dir()


def test_saving_where_nothing_can_be_written_is_told(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SettingsError, match="cannot be saved"):
        SettingsStore(blocked / "settings.toml").save(Settings())


def test_the_file_is_private(tmp_path: Path) -> None:
    store = SettingsStore(tmp_path / "settings.toml")
    store.save(Settings())
    if os.name == "posix":
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("llm.temperature", "0.7", 0.7),
        ("llm.flash_attention", "oui", True),
        ("llm.flash_attention", "off", False),
        ("llm.top_k", "12", 12),
        ("audio.duplex", "half", "half"),
        ("llm.persona", "oui", "oui"),
    ],
)
def test_values_are_read_as_typed(key: str, typed: str, value: object) -> None:
    section, field = key.split(".")
    assert getattr(getattr(with_value(Settings(), key, typed), section), field) == value


@pytest.mark.parametrize(
    ("key", "value"),
    [("llm.temperature", "hot"), ("llm.temperature", "nan"), ("audio.duplex", "both"), ("stt.threads", "0")],
)
def test_a_value_that_does_not_fit_is_told_with_value_and_key(key: str, value: str) -> None:
    with pytest.raises(SettingsError) as told:
        with_value(Settings(), key, value)
    assert key in str(told.value) and repr(value) in str(told.value)


@pytest.mark.parametrize(
    ("key", "value", "french"),
    [
        ("stt.threads", "99", "au plus 32"),
        ("stt.threads", "-1", "au moins 1"),
        ("stt.threads", "2.5", "il faut un nombre entier"),
        ("llm.temperature", "hot", "il faut un nombre"),
        ("tools.clock", "maybe", "il faut oui ou non"),
        ("audio.duplex", "both", "choisissez 'auto', 'full', 'half'"),
    ],
)
def test_why_a_value_does_not_fit_is_told_in_french_too(key: str, value: str, french: str) -> None:
    with pytest.raises(SettingsError) as told:
        with_value(Settings(), key, value)
    assert told.value.told_in("fr") == f"{value!r} ne convient pas au réglage {key}\u00a0: {french}."
    assert "Input should" not in str(told.value)


@pytest.mark.parametrize("key", ["", "llm", "llm.", ".x", "nope.x", "llm.nope", "llm.temperature.x"])
def test_an_unknown_key_is_told(key: str) -> None:
    with pytest.raises(SettingsError, match="no setting"):
        with_value(Settings(), key, "1")


@given(st.text())
def test_any_text_as_file_gives_settings_or_a_reason(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("settings") / "settings.toml"
    path.write_text(text, "utf-8", newline="")
    store = SettingsStore(path)
    assert store.load() == Settings()
    assert store.problem is not None


def test_every_setting_has_title_and_section_in_both_languages() -> None:
    assert list(SECTION_TITLES) == list(Settings.model_fields)
    for section in Settings.model_fields:
        for field in section_type(section).model_fields.values():
            assert all(shown_of(field).title)


def test_fixed_threads_of_version_1_become_automatic(tmp_path: Path) -> None:
    """And what somebody chose stays."""
    path = tmp_path / "settings.toml"
    path.write_text(
        "version = 1\n[tts]\ntalker_threads = 2\ncode_predictor_threads = 3\nstream_frames = 4\nspeed = 1.5\n"
    )
    store = SettingsStore(path)
    tts = store.load().tts
    assert store.problem is None
    assert (tts.talker_threads, tts.code_predictor_threads, tts.codec_threads) == (0, 3, 0)
    assert (tts.stream_frames, tts.speed) == (-1, 1.5)
    path.write_text("version = 2\n[tts]\ntalker_threads = 2\nstream_frames = 4\n")
    assert (store.load().tts.talker_threads, store.load().tts.stream_frames) == (2, 4)
    path.write_text("version = 1\n[llm]\ntop_k = 7\n")
    assert store.load().llm.top_k == 7


def test_no_layers_of_version_1_become_all(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("version = 1\n[llm]\ngpu_layers = 0\n")
    assert SettingsStore(path).load().llm.gpu_layers == -1
    path.write_text("version = 2\n[llm]\ngpu_layers = 0\n")
    assert SettingsStore(path).load().llm.gpu_layers == 0
