"""Models of the user's own: what they are, and how they are taken in."""

import os
from pathlib import Path

import pytest

from kazeia_desktop.errors import Cancelled, KazeiaError, ModelCorruptError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.models import local
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.fetch import Progress
from kazeia_desktop.models.local import (
    free_name,
    import_language_model,
    import_voice,
    kind_of,
    local_language_models,
)
from kazeia_desktop.runtime.cancel import CancelToken
from tests.fakes.speaker_network import write_model

pytestmark = pytest.mark.unit


def gguf(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF" + bytes(5_000))
    return path


def test_kinds(tmp_path: Path) -> None:
    assert kind_of(gguf(tmp_path / "a.bin")) == "llm"
    write_model(tmp_path / "voice")
    assert kind_of(tmp_path / "voice") == "voice"
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "config.json").write_text("{}")
    assert kind_of(tmp_path / "hf") == "checkpoint"
    gguf(tmp_path / "pair" / "talker.gguf")
    gguf(tmp_path / "pair" / "mmproj.gguf")
    assert kind_of(tmp_path / "pair") == "checkpoint"
    (tmp_path / "x.txt").write_text("x")
    for wrong, kind in ((tmp_path / "x.txt", ModelIncompatibleError), (tmp_path / "no", ModelMissingError)):
        with pytest.raises(kind) as told:
            kind_of(wrong)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [("Mon modèle 4B (Q4)", "Mon-mod-le-4B-Q4"), ("..", "model"), ("a/../b", "a-..-b"), ("é", "model")],
)
def test_names_are_plain(wanted: str, name: str, tmp_path: Path) -> None:
    assert free_name(wanted, tmp_path) == name
    (tmp_path / name).mkdir()
    assert free_name(wanted, tmp_path) == f"{name}-2"


@pytest.mark.parametrize("linked", [True, False])
def test_a_file_is_taken_whole(linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not linked:

        def no_link(*_: object) -> None:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(local._bring, "__defaults__", (no_link,))
    source, heard = gguf(tmp_path / "stick" / "m.gguf"), list[Progress]()
    made = import_language_model(source, tmp_path / "models", "m", heard.append, CancelToken())
    assert made == tmp_path / "models" / "m" / "m.gguf" and made.read_bytes() == source.read_bytes()
    assert os.path.samefile(made, source) is linked  # noqa: PTH121
    assert heard[-1].done_bytes == heard[-1].total_bytes == 5_004
    assert list(local_language_models(tmp_path / "models", Catalog.load())) == [made]


def test_cancelled_or_impossible_leaves_nothing(tmp_path: Path) -> None:
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(Cancelled):
        import_language_model(gguf(tmp_path / "m.gguf"), tmp_path / "models", "m", None, cancel)
    with pytest.raises(KazeiaError):
        import_language_model(tmp_path / "no.gguf", tmp_path / "models", "m", None, CancelToken())
    assert not any((tmp_path / "models").iterdir())


def test_a_voice_is_checked_file_by_file(tmp_path: Path) -> None:
    write_model(tmp_path / "mine", "tiny")
    (tmp_path / "mine" / "talker.gguf.packed").write_bytes(b"made here, not needed there")
    made = import_voice(tmp_path / "mine", tmp_path / "models", "tiny", None, CancelToken())
    assert (made / "manifest.json").exists() and not (made / "talker.gguf.packed").exists()
    bad = tmp_path / "mine" / "talker.gguf"
    content = bad.read_bytes()
    bad.unlink()  # it is linked
    bad.write_bytes(content[:-1] + b"?")
    with pytest.raises(ModelCorruptError, match=r"talker.gguf"):
        import_voice(tmp_path / "mine", tmp_path / "models", "other", None, CancelToken())
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny"]


def test_catalogue_models_and_voices_are_no_local_ones(tmp_path: Path) -> None:
    gguf(tmp_path / "smollm2-135m" / "x.gguf")
    write_model(tmp_path / "voice")
    assert list(local_language_models(tmp_path, Catalog.load())) == []
    assert list(local_language_models(tmp_path / "no", Catalog.load())) == []
