"""Presets survive files, names and people."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.settings.presets import (
    BUILT_IN,
    KEYS,
    LONGEST_NAME,
    Preset,
    PresetStore,
    checked_name,
    preset_of,
    read_preset,
    write_preset,
)  # fmt: skip
from kazeia_desktop.settings.schema import Apply, Settings, section_type, shown_of
from kazeia_desktop.settings.store import with_value

pytestmark = pytest.mark.unit

CHANGED = with_value(with_value(Settings(), "llm.temperature", 1.25), "tts.voice", "Grand-mère")


def test_every_key_is_a_setting_and_every_sampler_setting_is_a_key() -> None:
    for key in KEYS:
        section, _, name = key.partition(".")
        assert name in section_type(section).model_fields, key
    samplers = {
        f"tts.{name}" for name in section_type("tts").model_fields if name.startswith(("talker_", "code_predictor_"))
    } - {"tts.talker_threads", "tts.code_predictor_threads"}
    assert samplers <= set(KEYS)
    llm = {n for n, f in section_type("llm").model_fields.items() if shown_of(f).apply is Apply.NOW}
    assert {f"llm.{n}" for n in llm} - set(KEYS) == {"llm.checkpoint_mb", "llm.threads", "llm.prefill_threads"}


def test_built_in_presets_differ_and_leave_the_voice_that_speaks() -> None:
    made = [preset.applied(CHANGED) for preset in BUILT_IN]
    assert len({str(one) for one in made}) == len(BUILT_IN) == 4
    assert all(one.tts.voice == "Grand-mère" for one in made)
    assert all(preset.fits(one) for preset, one in zip(BUILT_IN, made, strict=True))
    assert BUILT_IN[0].fits(Settings()) and not any(preset.fits(Settings()) for preset in BUILT_IN[1:])


def test_choosing_one_after_the_other_leaves_nothing_of_the_first() -> None:
    usual, calm, lively, precise = BUILT_IN
    assert usual.applied(precise.applied(calm.applied(lively.applied(Settings())))) == Settings()


def test_what_is_saved_is_listed(tmp_path: Path) -> None:
    store = PresetStore(tmp_path / "config" / "presets")
    assert store.list() == ((), ())
    store.save(preset_of("  Élodie  du soir ", CHANGED))
    (found,), problems = store.list()
    assert not problems and found.name == "Élodie du soir"
    assert found.applied(Settings()) == CHANGED and found.fits(CHANGED) and not found.fits(Settings())


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    store = PresetStore(tmp_path)
    store.save(preset_of("Soir", CHANGED))
    with pytest.raises(SettingsError, match="already"):
        store.save(preset_of("SOIR", Settings()))
    store.save(preset_of("Soir", Settings()), replace=True)
    (found,), _ = store.list()
    assert found.fits(Settings())
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["", "   ", "x" * (LONGEST_NAME + 1), "a\x00b", "Posée", "calm", "CALM"])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError):
        PresetStore(tmp_path).save(Preset(name, {"llm.top_k": 1}))
    assert not list(tmp_path.iterdir())


def test_two_names_of_one_file_name(tmp_path: Path) -> None:
    store = PresetStore(tmp_path)
    for name in ("Été", "ete", "日本", "中国", "../../dehors", "con"):
        store.save(Preset(name, {"llm.top_k": 1}))
    found, problems = store.list()
    assert not problems and len(found) == 6
    assert all(file.parent == tmp_path for file in tmp_path.rglob("*.toml"))
    assert not (tmp_path / "con.toml").exists()


def test_rename_and_delete(tmp_path: Path) -> None:
    store = PresetStore(tmp_path)
    store.save(preset_of("Un", CHANGED))
    store.save(preset_of("Deux", Settings()))
    with pytest.raises(SettingsError, match="already"):
        store.rename("Un", "deux")
    assert store.rename("Un", "un").name == "un"  # its own name in other letters
    assert store.rename("un", "Trois").fits(CHANGED)
    store.delete("Deux")
    assert [preset.name for preset in store.list()[0]] == ["Trois"]
    for call in (lambda: store.delete("Deux"), lambda: store.rename("Deux", "Quatre")):
        with pytest.raises(SettingsError, match="no preset"):
            call()


def test_shared_and_taken_in(tmp_path: Path) -> None:
    shared = tmp_path / "cadeau.toml"
    write_preset(shared, preset_of("Soir", CHANGED))
    store = PresetStore(tmp_path / "presets")
    assert store.take_in(shared).name == "Soir"
    assert store.take_in(shared).name == "Soir 2"
    assert store.take_in(shared).fits(CHANGED)
    assert [preset.name for preset in store.list()[0]] == ["Soir", "Soir 2", "Soir 3"]


def test_a_part_of_the_settings_is_a_preset_too(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('version = 1\nname = "À la main"\n[llm]\ntemperature = 1\n', "utf-8")
    preset = read_preset(file)
    assert preset.values == {"llm.temperature": 1.0}
    assert preset.applied(CHANGED) == with_value(CHANGED, "llm.temperature", 1.0)


BAD = {
    "no TOML": "version = = 1",
    "empty": "",
    "no version": 'name = "x"\n[llm]\ntop_k = 1\n',
    "another version": 'version = 2\nname = "x"\n[llm]\ntop_k = 1\n',
    "no name": "version = 1\n[llm]\ntop_k = 1\n",
    "a number as name": "version = 1\nname = 3\n[llm]\ntop_k = 1\n",
    "a built-in name": 'version = 1\nname = "Posée"\n[llm]\ntop_k = 1\n',
    "no setting": 'version = 1\nname = "x"\n',
    "an unknown section": 'version = 1\nname = "x"\n[nothing]\na = 1\n',
    "an unknown setting": 'version = 1\nname = "x"\n[llm]\nnothing = 1\n',
    "a setting of another kind": 'version = 1\nname = "x"\n[backends]\nlibrary = "/tmp/evil.so"\n',
    "a model file": 'version = 1\nname = "x"\n[llm]\nmodel = "/tmp/evil.gguf"\n',
    "out of range": 'version = 1\nname = "x"\n[llm]\ntop_k = -3\n',
    "a text for a number": 'version = 1\nname = "x"\n[llm]\ntop_k = "many"\n',
    "a truth for a number": 'version = 1\nname = "x"\n[llm]\ntop_k = true\n',
    "a number for a truth": 'version = 1\nname = "x"\n[tts]\nearly_comma = 1\n',
    "a list": 'version = 1\nname = "x"\n[llm]\ntop_k = [1]\n',
    "not a number": 'version = 1\nname = "x"\n[llm]\ntemperature = nan\n',
    "a bare value": 'version = 1\nname = "x"\nllm = 3\n',
    "deep": 'version = 1\nname = "x"\n[llm]\ntop_k = ' + "[" * 5000,
    "large": "#" * 70_000,
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_told_in_one_line_and_not_kept(tmp_path: Path, content: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(content, "utf-8")
    with pytest.raises(SettingsError, match=r"bad\.toml") as caught:
        PresetStore(tmp_path / "presets").take_in(file)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    assert not (tmp_path / "presets").exists()


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read_preset(tmp_path / "gone.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="UTF-8"):
        read_preset(tmp_path / "x.toml")


def test_a_bad_file_among_good_ones_is_told(tmp_path: Path) -> None:
    store = PresetStore(tmp_path)
    store.save(preset_of("Bon", CHANGED))
    (tmp_path / "mauvais.toml").write_text("?", "utf-8")
    found, problems = store.list()
    assert [preset.name for preset in found] == ["Bon"]
    assert len(problems) == 1 and "mauvais.toml" in str(problems[0])


def test_a_path_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "presets").write_text("a file")
    with pytest.raises(SettingsError, match="cannot be written"):
        PresetStore(tmp_path / "presets").save(preset_of("x", CHANGED))


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PresetStore(tmp_path)
    store.save(preset_of("Soir", CHANGED))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(SettingsError, match="No space left"):
        store.save(preset_of("Soir", Settings()), replace=True)
    monkeypatch.undo()
    (kept,), _ = store.list()
    assert kept.fits(CHANGED) and len(list(tmp_path.iterdir())) == 1


@given(st.text(max_size=80))
def test_any_name_is_kept_as_it_is_shown_or_refused(name: str) -> None:
    try:
        checked = checked_name(name)
    except SettingsError:
        return
    assert checked_name(checked) == checked and 0 < len(checked) <= LONGEST_NAME and checked.isprintable()


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(content)
    with pytest.raises(SettingsError):
        read_preset(file)
