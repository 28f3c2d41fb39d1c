"""`kazeia conversations`: what was kept of conversations, on this machine only."""

import argparse
import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kazeia_desktop.cli.output import Subparsers, check_place, print_json, print_text
from kazeia_desktop.errors import StorageError, UsageError
from kazeia_desktop.paths import Paths
from kazeia_desktop.translations import system_language, translate

if TYPE_CHECKING:
    from kazeia_desktop.memory.conversations import ConversationStore, Summary
    from kazeia_desktop.memory.states import StateFiles


def register(commands: Subparsers) -> None:
    """Add `conversations list | search | show | rename | delete | export`."""
    parser = commands.add_parser(
        "conversations",
        help="list, search, export and delete what was kept",
        description="Kept conversations. Kazeia keeps them when the setting privacy.keep_conversations is on.",
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, about: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = actions.add_parser(name, help=about, description=f"{about.capitalize()}.")
        made.add_argument("--json", action="store_true", help="one JSON object on stdout")
        made.set_defaults(run=run)
        return made

    action("list", "every conversation, the latest first", _list)
    search = action("search", "conversations in which all these words were said; accents do not matter", _search)
    search.add_argument("words", metavar="WORD", nargs="+")
    action("show", "what was said in a conversation", _show).add_argument("id", metavar="ID", type=int)
    rename = action("rename", "give a conversation another title", _rename)
    rename.add_argument("id", metavar="ID", type=int)
    rename.add_argument("title", metavar="TITLE")
    delete = action("delete", "remove conversations for good", _delete)
    delete.add_argument("id", metavar="ID", type=int, nargs="*")
    delete.add_argument("--all", action="store_true", help="every conversation")
    export = action("export", "a conversation as Markdown or JSON", _export)
    export.add_argument("id", metavar="ID", type=int)
    export.add_argument("-o", "--output", metavar="FILE", type=Path, help="a .md or .json file; without it: stdout")
    export.add_argument("--format", choices=("md", "json"), help="default: by the file's name, else md")


@contextmanager
def _store() -> "Iterator[tuple[ConversationStore, StateFiles]]":
    """The kept conversations and their states; a damaged file is told as the error that it is."""
    from kazeia_desktop.memory.conversations import ConversationStore
    from kazeia_desktop.memory.states import StateFiles

    paths = Paths.from_environment()
    damage: list[StorageError] = []
    store = ConversationStore(paths.conversations_file, damage.append)
    try:
        yield store, StateFiles(paths.states_dir, 0)
    finally:
        store.close()
    if damage:
        raise damage[0]


def _line(summary: "Summary") -> str:
    when = datetime.datetime.fromtimestamp(summary.changed_s).strftime("%Y-%m-%d %H:%M")
    return f"{summary.id:5}  {when}  {summary.n_messages:4}  {summary.title}"


def _list(options: argparse.Namespace) -> int:
    from kazeia_desktop.memory.export import record

    with _store() as (store, _):
        summaries = store.summaries()
    if options.json:
        print_json({"conversations": [record(summary) for summary in summaries]})
        return 0
    for summary in summaries:
        print_text(_line(summary))
    if not summaries:
        print_text(translate("No conversation is kept.", system_language()))
    return 0


def _search(options: argparse.Namespace) -> int:
    from kazeia_desktop.memory.export import record

    with _store() as (store, _):
        found = store.search(" ".join(options.words))
    if options.json:
        hits = [record(hit.conversation) | {"role": hit.role, "excerpt": hit.excerpt} for hit in found]
        print_json({"conversations": hits})
        return 0
    for hit in found:
        print_text(_line(hit.conversation))
        print_text(f"       {hit.excerpt}")
    if not found:
        print_text(translate("Nothing was found.", system_language()))
    return 0


def _show(options: argparse.Namespace) -> int:
    from kazeia_desktop.memory.export import as_markdown, record

    with _store() as (store, _):
        summary, said = store.get(options.id), store.messages(options.id)
    if options.json:
        print_json(record(summary, said))
    else:
        print_text(as_markdown(summary, said, system_language()).rstrip())
    return 0


def _rename(options: argparse.Namespace) -> int:
    with _store() as (store, _):
        store.rename(options.id, options.title)
        summary = store.get(options.id)
    if options.json:
        print_json({"id": summary.id, "title": summary.title})
    else:
        print_text(_line(summary))
    return 0


def _delete(options: argparse.Namespace) -> int:
    if bool(options.id) == options.all:
        raise UsageError("Say which conversations are to be deleted: their numbers, or --all.")
    with _store() as (store, states):
        if options.all:
            n = store.delete_all()
            states.remove_all()
        else:
            n = 0
            for one in options.id:
                store.delete(one)
                states.remove(one)
                n += 1
    if options.json:
        print_json({"deleted": n})
    else:
        print_text(translate("Deleted: {n}.", system_language(), n=n))
    return 0


def _export(options: argparse.Namespace) -> int:
    from kazeia_desktop.memory.export import as_json, as_markdown

    form = options.format or ("json" if options.output and options.output.suffix.lower() == ".json" else "md")
    if options.output is not None:
        check_place(options.output)
    with _store() as (store, _):
        summary, said = store.get(options.id), store.messages(options.id)
    text = as_json(summary, said) if form == "json" else as_markdown(summary, said, system_language())
    if options.output is not None:
        options.output.write_text(text, "utf-8")
    if options.json:
        print_json({"id": summary.id, "format": form, "file": str(options.output) if options.output else None})
    elif options.output is None:
        print_text(text.rstrip())
    return 0
