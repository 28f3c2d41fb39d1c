"""`kazeia voices`: which voices there are."""

import argparse

from kazeia_desktop.cli.output import Subparsers, print_json, print_text
from kazeia_desktop.errors import SettingsError


def register(commands: Subparsers) -> None:
    """Add `voices list` and `voices remove NAME`."""
    parser = commands.add_parser("voices", help="list voices", description="The voices of Kazeia.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="every voice", description="Every voice, with engine and licence.")
    remove = actions.add_parser("remove", help="remove a voice", description="Remove a voice that you added.")
    remove.add_argument("name", metavar="NAME")
    for action, run in ((listing, _list), (remove, _remove)):
        action.add_argument("--json", action="store_true", help="one JSON object on stdout")
        action.set_defaults(run=run)


def _list(options: argparse.Namespace) -> int:
    from kazeia_desktop.tts.voices import BUILT_IN

    if options.json:
        keys = ("name", "engine", "language", "licence", "source")
        print_json({"voices": [{key: getattr(voice, key) for key in keys} for voice in BUILT_IN]})
        return 0
    for voice in BUILT_IN:
        print_text(f"{voice.name:12} {voice.engine:8} {voice.language}  {voice.licence}  ({voice.source})")
    return 0


def _remove(options: argparse.Namespace) -> int:
    from kazeia_desktop.tts.voices import BUILT_IN

    names = ", ".join(voice.name for voice in BUILT_IN)
    if any(voice.name == options.name for voice in BUILT_IN):
        raise SettingsError("The voice {name!r} is built in: it cannot be removed.", name=options.name)
    raise SettingsError("There is no voice {name!r}: choose {there}.", name=options.name, there=names)
