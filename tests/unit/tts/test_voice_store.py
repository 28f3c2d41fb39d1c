"""Added voices on disk: made, listed, recomputed, removed; odd names and damaged files."""

import json
import os
import stat
import sys
import unicodedata
import wave
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import KazeiaError, ModelCorruptError, ModelIncompatibleError, SettingsError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.tts.voice_store import AddedVoice, VoiceStore, checked_name, own_voice_dir, own_voice_dirs
from tests.fakes.speaker_network import voice_like, write_model

pytestmark = pytest.mark.unit

CLIP = voice_like(3.2)


class FakeEncoder:
    """An x-vector that depends on every sample."""

    def __init__(self, width: int = 8, fingerprint: str = "a") -> None:
        self.width, self.fingerprint, self.calls = width, fingerprint, 0

    def embed(self, audio: FloatArray) -> FloatArray:
        self.calls += 1
        return np.array([np.dot(audio, audio) + i for i in range(self.width)], np.float32)


class BrokenEncoder(FakeEncoder):
    def embed(self, audio: FloatArray) -> FloatArray:
        raise SettingsError("{text}", text="no")


@pytest.fixture
def store(tmp_path: Path) -> VoiceStore:
    return VoiceStore(tmp_path / "voix à moi")


def add(store: VoiceStore, name: str = "Marie", **more: object) -> AddedVoice:
    values: dict[str, object] = {"consent": "Marie, 3 mai, par écrit", "encoder": FakeEncoder(), "model_name": "m"}
    return store.add(name, CLIP, **(values | more))  # type: ignore[arg-type]


def files(store: VoiceStore, name: str = "Marie") -> list[str]:
    return sorted(path.name for path in store.folder_of(name).iterdir())


def everything(store: VoiceStore) -> list[str]:
    folder = store.folder_of("x").parent
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_add_and_get(store: VoiceStore) -> None:
    made = add(store, source="Marie parle.wav")
    assert files(store) == ["clip.wav", "voice.json", "xvector-m.npy"] and everything(store) == ["Marie"]
    found = store.get("Marie")
    assert found == made and found.source == "Marie parle.wav"
    assert found.consent.text == "Marie, 3 mai, par écrit" and found.consent.noted.endswith("+00:00")
    assert found.clip_seconds == pytest.approx(3.2)
    assert [(v.model, v.width, v.fingerprint) for v in found.xvectors] == [("m", 8, "a")]
    with wave.open(str(store.folder_of("Marie") / "clip.wav")) as wav:
        assert (wav.getnchannels(), wav.getsampwidth(), wav.getframerate(), wav.getnframes()) == (1, 2, 24_000, 76_800)
    vector = np.load(store.folder_of("Marie") / "xvector-m.npy")
    assert vector.dtype == np.float32 and vector.shape == (8,)
    assert store.list() == ((found,), ())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_a_clip_is_readable_by_its_owner_only(store: VoiceStore) -> None:
    add(store)
    assert stat.S_IMODE(store.folder_of("Marie").stat().st_mode) == 0o700


def test_the_x_vector_on_file_is_used(store: VoiceStore) -> None:
    voice, encoder = add(store), FakeEncoder()
    stored = store.xvector_for(voice, "m", 8, encoder)
    assert encoder.calls == 0 and stored.dtype == np.float32
    np.testing.assert_array_equal(stored, store.xvector_for(voice, "m", 8, None))
    # computing it again from the clip on file gives the same
    os.unlink(store.folder_of("Marie") / "xvector-m.npy")  # noqa: PTH108
    np.testing.assert_array_equal(store.xvector_for(voice, "m", 8, encoder), stored)
    assert encoder.calls == 1


def test_another_model_is_computed_from_the_clip_once(store: VoiceStore) -> None:
    voice, encoder = add(store), FakeEncoder(16)
    wide = store.xvector_for(voice, "big/one", 16, encoder)
    assert wide.shape == (16,)
    again = store.xvector_for(store.get("Marie"), "big/one", 16, encoder)
    np.testing.assert_array_equal(again, wide)
    assert encoder.calls == 1
    assert [(v.model, v.width) for v in store.get("Marie").xvectors] == [("m", 8), ("big/one", 16)]
    assert store.xvector_for(store.get("Marie"), "m", 8, None).shape == (8,), "the first is still there"
    assert not store.list()[1] and not [name for name in files(store) if name.startswith(".")]


def test_another_encoder_of_the_same_name_is_noticed(store: VoiceStore) -> None:
    voice, tuned = add(store), FakeEncoder(8, "b")
    store.xvector_for(voice, "m", 8, tuned)
    assert tuned.calls == 1 and [v.fingerprint for v in store.get("Marie").xvectors] == ["b"]


def test_two_models_with_look_alike_names(store: VoiceStore) -> None:
    voice = add(store, model_name="a/b")
    store.xvector_for(voice, "a:b", 8, FakeEncoder(8, "x"))
    assert len({v.file for v in store.get("Marie").xvectors}) == 2


@pytest.mark.parametrize("encoder", [None, FakeEncoder(8)])
def test_a_model_that_cannot_learn_it(encoder: FakeEncoder | None, store: VoiceStore) -> None:
    voice = add(store)
    with pytest.raises(ModelIncompatibleError) as told:
        store.xvector_for(voice, "Custom", 16, encoder)
    message = str(told.value)
    assert all(part in message for part in ("Marie", "m (8)", "Custom", "16")) and "\n" not in message


def test_a_folder_that_cannot_be_written_still_speaks(store: VoiceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = add(store)

    def refuse(self: Path, target: object) -> Path:
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "replace", refuse)
    assert store.xvector_for(voice, "other", 16, FakeEncoder(16)).shape == (16,)


def test_taken_and_replaced(store: VoiceStore) -> None:
    add(store)
    for name in ("Marie", "MARIE", "marie"):
        with pytest.raises(SettingsError, match="'Marie' already"):
            add(store, name)
    with pytest.raises(SettingsError, match="'Marie' already"):
        add(store, "MARIE", replace=True)  # another voice on Linux, the same folder elsewhere
    store.xvector_for(store.get("Marie"), "other", 16, FakeEncoder(16))
    add(store, replace=True, consent="again")
    assert store.get("Marie").consent.text == "again"
    assert files(store) == ["clip.wav", "voice.json", "xvector-m.npy"] and everything(store) == ["Marie"]


def test_nothing_changes_when_the_encoder_fails(store: VoiceStore) -> None:
    with pytest.raises(SettingsError):
        add(store, encoder=BrokenEncoder())
    assert everything(store) == []
    add(store)
    with pytest.raises(SettingsError):
        add(store, encoder=BrokenEncoder(), replace=True, consent="again")
    assert store.get("Marie").consent.text.startswith("Marie") and everything(store) == ["Marie"]


def test_a_full_disk_leaves_the_old_voice(store: VoiceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "save", full)
        with pytest.raises(SettingsError, match="No space left") as told:
            add(store, replace=True, consent="again")
        assert "\n" not in str(told.value)
    assert store.get("Marie").consent.text.startswith("Marie") and everything(store) == ["Marie"]


def test_the_last_step_of_a_replacement_fails(store: VoiceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store)
    rename = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if self.name.startswith(".new-"):
            raise PermissionError(13, "in use")
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        with pytest.raises(SettingsError, match="in use"):
            add(store, replace=True, consent="again")
    assert store.get("Marie").consent.text.startswith("Marie") and everything(store) == ["Marie"]


def test_a_replacement_that_was_cut_short_is_put_back(store: VoiceStore) -> None:
    add(store)
    folder = store.folder_of("Marie")
    folder.rename(folder.with_name(".old-Marie"))
    assert [voice.name for voice in store.list()[0]] == ["Marie"] and everything(store) == ["Marie"]


def test_remove_takes_all_that_is_left(store: VoiceStore) -> None:
    add(store)
    folder = store.folder_of("Marie")
    for left in (".old-Marie", ".new-Marie-abcd1234", ".gone-Marie-abcd1234"):
        (folder.with_name(left)).mkdir()
        (folder.with_name(left) / "clip.wav").write_bytes(b"speech")
    add(store, "Marie-Anne")
    assert store.remove("Marie") == folder
    assert everything(store) == ["Marie-Anne"]
    with pytest.raises(SettingsError, match=r"no voice 'Marie'.*ff_siwis.*Marie-Anne"):
        store.remove("Marie")
    with pytest.raises(SettingsError, match="no voice 'Marie'"):
        store.get("Marie")


@pytest.mark.parametrize(
    "name", ["Marie", "Été", "Ève-2", "x", "7", "a" * 40, "Ольга", "小明", "A_b-C", "Zoë_été-3", "सीता"]
)
def test_names_that_fit(name: str, store: VoiceStore) -> None:
    add(store, name)
    assert [voice.name for voice in store.list()[0]] == [name] and not store.list()[1]
    store.remove(unicodedata.normalize("NFD", name))
    assert everything(store) == []


@pytest.mark.parametrize(
    "name",
    ["", " ", "a b", "../x", "..", ".", ".x", "a/b", "a\\b", "C:", "a:b", "a" * 41, "-x", "_x", "a.b", "a\n", "a\0b",
     "\u0301a", "a\u200bb", "\udcff", "a\u202eb", "²", "x'", "%2e", "~"],
)  # fmt: skip
def test_names_that_do_not(name: str, store: VoiceStore) -> None:
    for use in (add, VoiceStore.get, VoiceStore.remove, VoiceStore.folder_of):
        with pytest.raises(SettingsError) as told:
            use(store, name)
        assert "\n" not in str(told.value) and "\n" not in told.value.told_in("fr")
        str(told.value).encode()
    assert everything(store) == []


@pytest.mark.parametrize("name", ["ff_siwis", "espeak-ng", "FF_SIWIS", "auto", "none", "NUL", "com1", "Lpt9"])
def test_names_that_are_taken(name: str, store: VoiceStore) -> None:
    with pytest.raises(SettingsError, match="taken"):
        add(store, name)


@given(st.text(max_size=45))
def test_a_name_that_fits_is_one_plain_folder(name: str) -> None:
    try:
        kept = checked_name(name)
    except SettingsError:
        return
    assert Path(kept).name == kept and checked_name(kept) == kept and not kept.startswith(".")


@pytest.mark.parametrize("consent", ["", " \n\t", "x" * 2001])
def test_no_consent_no_voice(consent: str, store: VoiceStore) -> None:
    with pytest.raises(SettingsError, match="consent"):
        add(store, consent=consent)
    assert everything(store) == []


def test_odd_characters_in_consent_and_source(store: VoiceStore) -> None:
    add(store, consent="Marie,\n le  3 mai \udcff", source="a\udc80\x1b[0m.wav")
    voice = store.get("Marie")
    assert voice.consent.text == "Marie, le 3 mai \ufffd" and voice.source == "a\ufffd\ufffd[0m.wav"


def damage_json(**values: object) -> object:
    def change(folder: Path) -> None:
        record = json.loads((folder / "voice.json").read_text("utf-8"))
        (folder / "voice.json").write_text(json.dumps(record | values), "utf-8")

    return change


def damage_vector(**values: object) -> object:
    return damage_json(xvectors=[{"model": "m", "width": 8, "file": "xvector-m.npy"} | values])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: (f / "voice.json").unlink(), "voice.json"),
        (lambda f: (f / "voice.json").write_bytes(b""), "voice.json: JSON"),
        (lambda f: (f / "voice.json").write_bytes(b"\xff\xfe{}"), "voice.json: JSON"),
        (lambda f: (f / "voice.json").write_bytes(b"[" * 100_000), "voice.json: JSON"),
        (lambda f: (f / "voice.json").write_bytes(b"[]"), "voice.json: JSON"),
        (lambda f: (f / "voice.json").write_bytes(b"x" * 2_000_000), "voice.json: 2000000"),
        (damage_json(name="Paul"), "voice.json: name Paul"),
        (damage_json(name=3), "voice.json: name"),
        (damage_json(consent=None), "voice.json: consent"),
        (damage_json(consent={"text": "", "noted": ""}), "voice.json: consent.text"),
        (damage_json(clip_seconds="3"), "voice.json: clip_seconds"),
        (damage_json(clip_seconds=float("nan")), "voice.json: clip_seconds"),
        (damage_json(version=2), "voice.json: version"),
        (damage_vector(width=-1), "voice.json: xvectors.0.width"),
        (damage_vector(file="../../secret"), "voice.json: xvectors.0.file"),
        (damage_vector(file="/etc/passwd"), "voice.json: xvectors.0.file"),
        (damage_vector(file="xvector-../m.npy"), "voice.json: xvectors.0.file"),
        (damage_vector(width=9), "xvector-m.npy: (9,) float32"),
        (damage_vector(width=7), "xvector-m.npy: (7,) float32"),
        (damage_vector(width=65_536), "xvector-m.npy: (65536,) float32"),
        (lambda f: (f / "xvector-m.npy").unlink(), "xvector-m.npy"),
        (lambda f: (f / "xvector-m.npy").write_bytes(b"junk"), "xvector-m.npy"),
        (lambda f: np.save(f / "xvector-m.npy", np.zeros(8)), "xvector-m.npy: (8,) float32"),
        (lambda f: np.save(f / "xvector-m.npy", np.full(8, np.nan, np.float32)), "xvector-m.npy: nan"),
        (lambda f: (f / "clip.wav").unlink(), "clip.wav"),
        (lambda f: (f / "clip.wav").write_bytes(b""), "clip.wav"),
        (lambda f: (f / "clip.wav").write_bytes(b"RIFF\xff\xff\xff\xffWAVE"), "clip.wav"),
        (lambda f: (f / "clip.wav").write_bytes((f / "clip.wav").read_bytes()[:-2]), "clip.wav"),
        (lambda f: (f / "clip.wav").write_bytes(b"x" * 3_000_000), "clip.wav: 3000000"),
    ],
)
def test_a_damaged_voice_is_told_and_the_others_are_listed(change: object, told: str, store: VoiceStore) -> None:
    add(store)
    add(store, "Zoé")
    assert callable(change)
    change(store.folder_of("Marie"))
    voices, problems = store.list()
    assert [voice.name for voice in voices] == ["Zoé"]
    (problem,) = problems
    assert isinstance(problem, ModelCorruptError) and "'Marie'" in str(problem) and told in str(problem)
    assert "\n" not in str(problem)
    store.remove("Marie")
    assert everything(store) == ["Zoé"]


def test_a_damaged_x_vector_is_made_again(store: VoiceStore) -> None:
    voice, encoder = add(store), FakeEncoder()
    sound = store.xvector_for(voice, "m", 8, None)
    (store.folder_of("Marie") / "xvector-m.npy").write_bytes(b"junk")
    with pytest.raises(ModelCorruptError, match="xvector-m"):
        store.xvector_for(voice, "m", 8, None)
    np.testing.assert_array_equal(store.xvector_for(voice, "m", 8, encoder), sound)
    assert encoder.calls == 1 and not store.list()[1]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_byte_of_any_file(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = VoiceStore(tmp_path_factory.mktemp("voices"))
    voice = add(store)
    file = store.folder_of("Marie") / data.draw(st.sampled_from(files(store)))
    raw = bytearray(file.read_bytes())
    raw[data.draw(st.integers(0, min(len(raw) - 1, 400)))] = data.draw(st.integers(0, 255))
    file.write_bytes(raw)
    voices, problems = store.list()
    assert len(voices) + len(problems) == 1
    try:
        assert store.xvector_for(voice, "m", 8, FakeEncoder()).shape == (8,)
        assert store.xvector_for(voice, "n", 9, FakeEncoder(9)).shape == (9,)
    except KazeiaError as error:
        assert "\n" not in str(error)


def test_what_is_no_voice_is_told(store: VoiceStore) -> None:
    add(store)
    folder = store.folder_of("x").parent
    (folder / "my notes").mkdir()
    (folder / "readme.txt").write_text("hello", "utf-8")
    voices, problems = store.list()
    assert [voice.name for voice in voices] == ["Marie"] and "my notes" in str(problems[0]) and len(problems) == 1


def test_no_folder_no_voices(store: VoiceStore) -> None:
    assert store.list() == ((), ()) and everything(store) == []


def test_own_voice_dir(tmp_path: Path) -> None:
    paths = Paths(*(tmp_path / part for part in ("c", "d", "k", "l")))
    assert own_voice_dir(paths, Settings()) is None
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"format": "other"}'), ("d", "[" * 100_000)):
        (paths.models_dir / name).mkdir(parents=True)
        (paths.models_dir / name / "manifest.json").write_text(text, "utf-8")
    assert own_voice_dir(paths, Settings()) is None
    write_model(paths.models_dir / "qwen")
    write_model(paths.models_dir / "zwei")
    assert own_voice_dir(paths, Settings()) == paths.models_dir / "qwen"
    assert [path.name for path in own_voice_dirs(paths)] == ["qwen", "zwei"]


def test_a_renamed_voice_keeps_all_it_has(store: VoiceStore) -> None:
    before = add(store)
    vector = (store.folder_of("Marie") / "xvector-m.npy").read_bytes()
    after = store.rename("Marie", "Ma-sœur")
    assert after == before.model_copy(update={"name": "Ma-sœur"}) == store.get("Ma-sœur")
    assert (store.folder_of("Ma-sœur") / "xvector-m.npy").read_bytes() == vector
    assert everything(store) == ["Ma-sœur"]
    np.testing.assert_array_equal(store.clip("Ma-sœur"), np.clip(np.round(CLIP * 32768), -32768, 32767) / 32768)


def test_another_case_is_another_name_of_the_same_voice(store: VoiceStore) -> None:
    add(store)
    assert store.rename("Marie", "MARIE").name == "MARIE" and everything(store) == ["MARIE"]
    assert store.rename("MARIE", "MARIE").name == "MARIE"


def test_a_name_that_is_taken_or_cannot_be_is_refused_and_nothing_changes(store: VoiceStore) -> None:
    add(store)
    add(store, "Paul")
    for new in ("paul", "ff_siwis", "a b", ""):
        with pytest.raises(SettingsError):
            store.rename("Marie", new)
    with pytest.raises(SettingsError, match="choose"):
        store.rename("Jeanne", "Anne")
    assert everything(store) == ["Marie", "Paul"]
