import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kazeia_desktop.errors import Cancelled, KazeiaError, ModelCorruptError, ModelMissingError
from kazeia_desktop.models import verify
from kazeia_desktop.models.fetch import Progress
from kazeia_desktop.models.lock import exclusive
from kazeia_desktop.models.store import is_path
from kazeia_desktop.runtime.cancel import CancelToken
from tests.unit.models.conftest import WEIGHTS, Shop, StoreMaker, toy

pytestmark = pytest.mark.unit


def test_nothing_is_here_and_nothing_is_made(make_store: StoreMaker, models_dir: Path) -> None:
    store = make_store()
    assert not store.state("toy").present and store.installed("llm") == ()
    with pytest.raises(ModelMissingError, match=r"weights\.bin is missing. Run `kazeia models get toy`"):
        store.require("toy")
    assert not models_dir.exists()


def test_require_checks_once(make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    make_store().get("toy")
    monkeypatch.setattr(verify, "file_sha256", lambda *_: pytest.fail("it was hashed again"))
    store = make_store()
    assert store.require("toy") == store.path("toy")
    assert store.require_weights("toy") == store.file("toy", "weights.bin")


def test_require_hashes_what_was_copied_here(make_store: StoreMaker) -> None:
    make_store().get("toy")
    store = make_store()
    (store.path("toy") / verify.RECORD_NAME).unlink()
    assert store.state("toy").present and not store.state("toy").verified
    store.require("toy")
    assert store.state("toy").verified


def test_a_flipped_byte_is_refused_and_repaired_by_get(make_store: StoreMaker, shop: Shop) -> None:
    store = make_store()
    store.get("toy")
    path = store.file("toy", "weights.bin")
    damaged = bytearray(WEIGHTS)
    damaged[1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelCorruptError, match="Run `kazeia models get toy`"):
        store.require("toy")
    store.get("toy")
    assert path.read_bytes() == WEIGHTS and store.require("toy")


def test_bit_rot_is_found_by_verify_and_then_repaired(make_store: StoreMaker) -> None:
    store = make_store()
    store.get("toy")
    path = store.file("toy", "weights.bin")
    before = path.stat()
    path.write_bytes(bytes(len(WEIGHTS)))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [type(problem) for problem in store.verify("toy")] == [ModelCorruptError]
    store.get("toy")
    assert store.verify("toy") == [] and path.read_bytes() == WEIGHTS


def test_verify_names_every_file(make_store: StoreMaker) -> None:
    assert [str(problem).split(" is missing")[0][-11:] for problem in make_store().verify("toy")] == [
        "weights.bin",
        ": conf.json",
    ]


def test_installed_leaves_out_what_cannot_run(make_store: StoreMaker) -> None:
    store = make_store()
    store.get("toy")
    assert [entry.name for entry in store.installed("llm")] == ["toy"] and store.installed("stt") == ()


@pytest.mark.parametrize("name", ["", "huge", "..", "toy\0"])
def test_an_unknown_name(make_store: StoreMaker, name: str) -> None:
    store = make_store()
    for call in (store.require, store.path, store.get, store.verify, store.state):
        with pytest.raises(ModelMissingError, match="There is no model"):
            call(name)


def test_an_unknown_file(make_store: StoreMaker) -> None:
    with pytest.raises(ModelMissingError, match=r"no file '\.\./x'"):
        make_store().file("toy", "../x")


def test_the_user_s_own_file_is_taken_as_it_is(make_store: StoreMaker, tmp_path: Path) -> None:
    own = tmp_path / "mon modèle.gguf"
    own.write_bytes(b"GGUF")
    assert make_store().require(str(own)) == own
    assert make_store().require_weights(str(own)) == own
    assert make_store().require(str(tmp_path)) == tmp_path


@pytest.mark.parametrize("name", ["/nowhere/x.gguf", "x.gguf", "~nobody-here/x.gguf", "../../etc/none", "a/\0x.gguf"])
def test_the_user_s_own_file_that_is_not_there(make_store: StoreMaker, name: str) -> None:
    with pytest.raises(KazeiaError) as caught:
        make_store().require(name)
    assert Path(name).name in str(caught.value)


def test_what_is_a_path() -> None:
    assert is_path("/a/b.gguf") and is_path("b.GGUF") and is_path("~/b") and is_path("a/b")
    assert not is_path("qwen2.5-coder-0.5b") and not is_path("")


def test_a_second_download_waits_says_so_and_fetches_nothing_twice(make_store: StoreMaker, shop: Shop) -> None:
    waiting = threading.Event()
    second = make_store()

    def report(progress: Progress) -> None:
        if progress.waiting:
            waiting.set()

    thread = threading.Thread(target=lambda: second.get("toy", report))
    store = make_store()
    store.path("toy").mkdir(parents=True)
    with exclusive(store.path("toy") / ".lock", CancelToken(), lambda: None):
        thread.start()
        assert waiting.wait(5)
        store._get_locked(toy(), None, CancelToken())
    thread.join(10)
    assert second.state("toy").verified and len(shop.asked) == 3


def test_waiting_can_be_cancelled(make_store: StoreMaker) -> None:
    store, cancel = make_store(), CancelToken()
    store.path("toy").mkdir(parents=True)
    with exclusive(store.path("toy") / ".lock", CancelToken(), lambda: None), pytest.raises(Cancelled):
        store.get("toy", lambda _: cancel.set(), cancel)


_CHILD = """
import sys
from pathlib import Path
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.fetch import Tools
from kazeia_desktop.models.hub import Hub
from kazeia_desktop.models.store import ModelStore
from kazeia_desktop.models.wheels import Pip
from tests.unit.models.conftest import toy
pip = Pip((sys.executable, "-S", "-E", sys.argv[2] + "/pip.py", sys.argv[2]))
ModelStore(Path(sys.argv[1]), Catalog((toy(),)), Tools(Hub("http://127.0.0.1:9"), pip)).get("toy")
"""


def test_two_processes_do_not_fight(make_store: StoreMaker, shop: Shop, models_dir: Path) -> None:
    command = [sys.executable, "-c", _CHILD, str(models_dir), str(shop.folder)]
    children = [subprocess.Popen(command, cwd=Path(__file__).parents[3]) for _ in range(2)]
    assert [child.wait(60) for child in children] == [0, 0]
    assert sorted(shop.asked) == ["toy-part1==1.0", "toy-part2==1.0", "toy-part3==1.0"]
    assert make_store().verify("toy") == []


def test_no_network_call_without_get(make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    make_store().get("toy")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("it used the network"))
    store = make_store()
    store.require("toy"), store.installed("llm"), store.state("toy"), store.verify("toy")
    store.get("toy")
