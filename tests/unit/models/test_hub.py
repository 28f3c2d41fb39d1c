import hashlib
import socket
import time

import pytest

from kazeia_desktop.errors import Cancelled
from kazeia_desktop.models.catalog import HubFile
from kazeia_desktop.models.hub import Hub, HubRefused, HubUnreachable
from kazeia_desktop.runtime.cancel import CancelToken
from tests.unit.models.conftest import COMMIT, CONFIG, WEIGHTS, HubSite, sha256

pytestmark = pytest.mark.unit
FILE = HubFile("some/repo", "main", "weights.bin")


def test_info_of_a_large_and_of_a_small_file(hub_site: HubSite) -> None:
    hub_site.files = {"weights.bin": WEIGHTS, "conf.json": CONFIG}
    hub_site.git = {"conf.json"}
    hub = Hub(hub_site.url)
    large = hub.info(FILE, CancelToken())
    assert (large.bytes, large.revision, large.sha256, large.git_sha1) == (len(WEIGHTS), COMMIT, sha256(WEIGHTS), None)
    small = hub.info(HubFile("some/repo", "main", "conf.json"), CancelToken())
    assert small.sha256 is None
    assert small.git_sha1 == hashlib.sha1(b"blob %d\0" % len(CONFIG) + CONFIG).hexdigest()
    assert hub_site.asked[0] == "HEAD /some/repo/resolve/main/weights.bin"
    assert not any("storage" in line for line in hub_site.asked), "HEAD does not follow to the storage host"


@pytest.mark.parametrize("start", [0, 1, 299_999])
def test_open_at_an_offset(hub_site: HubSite, start: int) -> None:
    hub_site.files = {"weights.bin": WEIGHTS}
    answer, offset = Hub(hub_site.url).open(FILE, COMMIT, start)
    with answer:
        assert offset == start and answer.read() == WEIGHTS[start:]


def test_a_server_without_ranges_starts_at_zero(hub_site: HubSite) -> None:
    hub_site.files, hub_site.ranges = {"weights.bin": WEIGHTS}, False
    answer, offset = Hub(hub_site.url).open(FILE, COMMIT, 1000)
    with answer:
        assert offset == 0 and answer.read() == WEIGHTS


def test_no_such_file(hub_site: HubSite) -> None:
    with pytest.raises(HubRefused, match="HTTP 404"):
        Hub(hub_site.url).info(FILE, CancelToken())
    with pytest.raises(HubRefused, match="HTTP 404"):
        Hub(hub_site.url).open(FILE, COMMIT, 0)


def test_nobody_listens_and_it_is_not_asked_again_for_a_minute() -> None:
    with socket.socket() as holder:  # bound, not listening: connections are refused
        holder.bind(("127.0.0.1", 0))
        now = [0.0]
        hub = Hub(f"http://127.0.0.1:{holder.getsockname()[1]}", clock=lambda: now[0])
        with pytest.raises(HubUnreachable, match="refused"):
            hub.info(FILE, CancelToken())
        holder.listen()  # from here on a second question would hang, not be refused
        now[0] = 59.0
        with pytest.raises(HubUnreachable, match="refused"):
            hub.info(FILE, CancelToken())


def test_a_server_that_never_answers_is_given_up_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        began = time.monotonic()
        with pytest.raises(HubUnreachable, match="no answer"):
            Hub(f"http://127.0.0.1:{server.getsockname()[1]}", connect_s=0.2).info(FILE, CancelToken())
        assert time.monotonic() - began < 2.0


def test_cancelling_does_not_wait_for_the_answer() -> None:
    cancel = CancelToken()
    cancel.set()
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(Cancelled):
        Hub(f"http://127.0.0.1:{server.getsockname()[1]}", connect_s=0.5).info(FILE, cancel)


def test_the_user_s_offline_mode_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("it used the network"))
    with pytest.raises(HubUnreachable, match="offline mode is on"):
        Hub().info(FILE, CancelToken())


def test_an_address_that_is_not_http_is_refused() -> None:
    with pytest.raises(HubUnreachable, match="file:"):
        Hub("file:///etc").info(FILE, CancelToken())


def test_the_login_is_not_carried_to_another_host(hub_site: HubSite) -> None:
    import email.message
    import io
    import urllib.request

    from kazeia_desktop.models.hub import _Redirects

    request = urllib.request.Request("https://hub.example/a")
    request.add_unredirected_header("Authorization", "Bearer secret")
    headers = email.message.Message()

    def follow(url: str) -> urllib.request.Request | None:
        return _Redirects().redirect_request(request, io.BytesIO(), 302, "", headers, url)  # type: ignore[arg-type]

    same, other = follow("https://hub.example/b"), follow("https://storage.example/b")
    assert same is not None and same.get_header("Authorization") == "Bearer secret"
    assert other is not None and other.get_header("Authorization") is None
    assert follow("http://hub.example/b") is None
