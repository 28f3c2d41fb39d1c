"""The flags of ggml's backends: read, joined with what a case needs, set once."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.errors import ModelIncompatibleError, SettingsError
from kazeia_desktop.llm.backend_flags import BackendEnvironment, joined, parse_flags
from kazeia_desktop.settings.schema import BackendSettings, Settings
from kazeia_desktop.settings.store import with_value

pytestmark = pytest.mark.unit


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> BackendEnvironment:
    for name in ("GGML_VK_VISIBLE_DEVICES", "GGML_HEXAGON_NHMX", "GGML_HEXAGON_OPFILTER"):
        monkeypatch.setenv(name, "")  # put back when the test ends, whatever was set
        monkeypatch.delenv(name)
    return BackendEnvironment()


def test_lines_and_semicolons() -> None:
    flags = parse_flags("GGML_VK_VISIBLE_DEVICES=0,1; GGML_HEXAGON_NHMX = 0\n\nGGML_HEXAGON_NHMX=1")
    assert flags.values == {"GGML_VK_VISIBLE_DEVICES": "0,1", "GGML_HEXAGON_NHMX": "1"}
    assert flags.unknown == flags.refused == ()


def test_unknown_names_are_kept_and_named() -> None:
    flags = parse_flags("GGML_NEW_THING=x\nGGML_OPENCL_DEVICE=1")
    assert flags.values["GGML_NEW_THING"] == "x"
    assert flags.unknown == ("GGML_NEW_THING",)


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PATH", "PYTHONPATH", "KAZEIA_HOME", "ORT_DISABLE_TELEMETRY", "OMP_WAIT_POLICY"]
)
def test_what_belongs_to_the_process_is_refused(name: str) -> None:
    flags = parse_flags(f"{name}=x")
    assert flags.values == {}
    assert flags.refused == (name,)


@given(st.text())
def test_any_text_is_read_or_refused_by_the_setting(text: str) -> None:
    try:
        BackendSettings(flags=text)
    except ValueError:
        return
    for name, value in parse_flags(text).values.items():
        assert name.isidentifier()
        assert "\0" not in value


def test_a_line_without_a_value_does_not_fit_the_setting() -> None:
    with pytest.raises(SettingsError, match="NAME=value"):
        with_value(Settings(), "backends.flags", "GGML_VK_VISIBLE_DEVICES")


def test_filters_are_joined_and_other_values_are_the_users() -> None:
    needed = {"GGML_HEXAGON_OPFILTER": "SSM_CONV", "GGML_HEXAGON_NHMX": "0"}
    assert joined({}, needed) == needed
    assert joined({"GGML_HEXAGON_NHMX": "1"}, needed)["GGML_HEXAGON_NHMX"] == "1"
    assert joined({"GGML_HEXAGON_OPFILTER": "ADD|SUB"}, needed)["GGML_HEXAGON_OPFILTER"] == "ADD|SUB|SSM_CONV"
    assert joined({"GGML_HEXAGON_OPFILTER": "SSM_CONV|ADD"}, needed)["GGML_HEXAGON_OPFILTER"] == "SSM_CONV|ADD"


def test_flags_are_set_once_and_a_change_needs_a_restart(environment: BackendEnvironment) -> None:
    first = BackendSettings(flags="GGML_VK_VISIBLE_DEVICES=0")
    assert not environment.restart_needed(first, {})
    environment.begin(first, {})
    assert os.environ["GGML_VK_VISIBLE_DEVICES"] == "0"
    assert not environment.restart_needed(first, {})
    other = BackendSettings(flags="GGML_VK_VISIBLE_DEVICES=1")
    assert environment.restart_needed(other, {})
    environment.begin(other, {})
    assert os.environ["GGML_VK_VISIBLE_DEVICES"] == "0"


def test_a_case_that_needs_another_flag_needs_a_restart(environment: BackendEnvironment) -> None:
    settings = BackendSettings()
    environment.begin(settings, {"GGML_HEXAGON_NHMX": "0"})
    assert environment.restart_needed(settings, {"GGML_HEXAGON_OPFILTER": "SSM_CONV"})


def test_a_child_begins_with_its_own_flags(environment: BackendEnvironment) -> None:
    environment.begin(BackendSettings(flags="GGML_HEXAGON_NHMX=0"), {})
    child = environment.clean_environment({"GGML_VK_VISIBLE_DEVICES": "2"})
    assert "GGML_HEXAGON_NHMX" not in child
    assert child["GGML_VK_VISIBLE_DEVICES"] == "2"
    assert os.environ.get("GGML_VK_VISIBLE_DEVICES") is None


def test_a_library_that_is_none_is_told(environment: BackendEnvironment) -> None:
    settings = BackendSettings(library="/no/such/libggml-x.so")
    with pytest.raises(ModelIncompatibleError, match=r"libggml-x\.so cannot be loaded: no such file"):
        environment.begin(settings, {})
    assert environment.library == ""
