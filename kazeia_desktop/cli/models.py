"""`kazeia models`: what is known, what is here, getting it, checking it."""

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kazeia_desktop.cli import models_convert
from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.cli.progress import ProgressBar
from kazeia_desktop.errors import UsageError
from kazeia_desktop.paths import Paths
from kazeia_desktop.translations import system_language, translate

if TYPE_CHECKING:
    from kazeia_desktop.models.catalog import ModelEntry
    from kazeia_desktop.models.store import ModelStore


def register(commands: Subparsers) -> None:
    """Add `models list`, `get`, `verify`, `path` and `convert`."""
    parser = commands.add_parser("models", help="list, get and check models", description="The model manager.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="every model, and which are here", description="List every model.")
    get = actions.add_parser(
        "get", help="download models", description="Download models; what is already here is checked, not fetched."
    )
    get.add_argument("names", metavar="NAME", nargs="*", help="for example whisper-base")
    get.add_argument("--starter", action="store_true", help="the set with which a fresh machine can talk")
    get.add_argument("--recommended", action="store_true", help="better and larger models (needs the model hub)")
    verify = actions.add_parser("verify", help="hash the files again", description="Hash the models' files again.")
    verify.add_argument("names", metavar="NAME", nargs="*", help="without it, all that are here")
    where = actions.add_parser("path", help="a model's folder", description="Print the folder of a model.")
    where.add_argument("name", metavar="NAME")
    models_convert.register(actions)
    for action, run in ((listing, _list), (get, _get), (verify, _verify), (where, _path)):
        action.add_argument("--json", action="store_true", help="one JSON object on stdout")
        action.set_defaults(run=run)


def _store() -> "ModelStore":
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore

    return ModelStore(Paths.from_environment().models_dir, Catalog.load())


def tr(template: str, **values: object) -> str:
    return translate(template, system_language(), **values)


def _described(store: "ModelStore", entry: "ModelEntry") -> dict[str, object]:
    """A model as `--json` tells it; bytes and sha256 are None while nobody knows them."""
    state = store.state(entry.name)
    files = []
    for file in entry.files:
        size, sha256 = store.expected(entry.name, file.name) or (None, None)
        files.append({"name": file.name, "bytes": size, "sha256": sha256, "pinned": file.sha256 is not None})
    sizes = [file["bytes"] for file in files if isinstance(file["bytes"], int)]
    return {
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title,
        "licence": entry.licence,
        "bytes": sum(sizes) if len(sizes) == len(files) else None,
        "sha256": files[0]["sha256"],
        "present": state.present,
        "verified": state.verified,
        "pinned": entry.pinned,
        "starter": entry.starter,
        "recommended": entry.recommended,
        "usable": entry.usable,
        "path": str(store.path(entry.name)),
        "files": files,
    }


def _list(options: argparse.Namespace) -> int:
    store = _store()
    models = [_described(store, entry) for entry in store.catalog]
    if options.json:
        print_json({"models_dir": str(store.models_dir), "models": models})
        return 0
    print_text(str(store.models_dir))
    for model in models:
        notes = [str(model["title"]), str(model["licence"]), _state_words(model)]
        if model["starter"]:
            notes.append(tr("starter set"))
        if model["recommended"]:
            notes.append(tr("recommended"))
        if not model["pinned"]:
            notes.append(tr("recorded, not pinned"))
        if not model["usable"]:
            notes.append(tr("not used by this version yet"))
        size = tr("{size_mb} MB", size_mb=_mb(model["bytes"])) if model["bytes"] else "?"
        print_text(f"  {model['name']:<24} {model['kind']:<6} {size:>8}  {' · '.join(notes)}")
    return 0


def _state_words(model: Mapping[str, object]) -> str:
    if model["verified"]:
        return tr("here, checked")
    if model["present"]:
        return tr("here, not checked yet")
    return tr("not here")


def _mb(size: object) -> int:
    return max(1, round(size / 1e6)) if isinstance(size, int) else 0


def _get(options: argparse.Namespace) -> int:
    store = _store()
    names = list(options.names)
    names += [entry.name for entry in store.catalog if options.starter and entry.starter]
    names += [entry.name for entry in store.catalog if options.recommended and entry.recommended]
    if not names:
        raise UsageError("Say which models to get: names of `kazeia models list`, --starter or --recommended.")
    entries = [store.catalog.entry(name) for name in dict.fromkeys(names)]
    results: list[dict[str, object]] = []
    for entry in entries:
        began = time.monotonic()
        bar = ProgressBar(entry.name)
        try:
            folder = store.get(entry.name, bar.show)
        except KeyboardInterrupt:
            bar.close()
            sys.stderr.write(tr("Stopped. The same command goes on where it was.") + "\n")
            return 130
        finally:
            bar.close()
        if entry.kind == "stt" and entry.usable:
            _prepare(entry.name, folder)
        results.append({**_described(store, entry), "seconds": round(time.monotonic() - began, 3)})
        if not options.json:
            print_text(tr("{name}: ready in {path}", name=entry.name, path=str(folder)))
    if options.json:
        print_json({"models_dir": str(store.models_dir), "models": results})
    return 0


def _prepare(name: str, folder: Path) -> None:
    """Write the graphs that recognition runs on, so that the first sentence does not wait for them."""
    try:
        ensure: Callable[..., object] = importlib.import_module("kazeia_desktop.stt.export").ensure_graphs
    except (ImportError, AttributeError):
        return  # a build without recognition

    def begun(part: str) -> None:
        if part == "encoder":  # the first
            sys.stderr.write(tr("{name}: being prepared for this machine (once)…", name=name) + "\n")

    ensure(folder, load_settings()[1].stt.precision, begun)


def _verify(options: argparse.Namespace) -> int:
    store = _store()
    entries = [store.catalog.entry(name) for name in dict.fromkeys(options.names)]
    if not entries:
        entries = [
            entry for entry in store.catalog if any(store.file(entry.name, file.name).exists() for file in entry.files)
        ]
    language, results, all_right = system_language(), [], True
    for entry in entries:
        problems = [problem.told_in(language) for problem in store.verify(entry.name)]
        all_right = all_right and not problems
        results.append({**_described(store, entry), "ok": not problems, "problems": problems})
        if not options.json:
            for line in problems or [tr("{name}: every file is as it should be", name=entry.name)]:
                print_text(line)
    if options.json:
        print_json({"models_dir": str(store.models_dir), "models": results})
    elif not entries:
        print_text(tr("No model is here yet: run `kazeia models get --starter`."))
    return 0 if all_right else 1


def _path(options: argparse.Namespace) -> int:
    store = _store()
    folder = store.path(options.name)
    if options.json:
        print_json(_described(store, store.catalog.entry(options.name)))
    else:
        print_text(str(folder))
    return 0
