"""`kazeia toggle | show | quit`: talk to the app that runs. Without a window of its own, so that it is quick."""

import argparse
from collections.abc import Mapping
from typing import Final

from kazeia_desktop.cli.output import Subparsers, print_json, print_text
from kazeia_desktop.errors import StorageError
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.single_instance import Place, ask, wait_for_end
from kazeia_desktop.translations import system_language, translate

_END_S: Final = 8.0
_ABOUT: Final[Mapping[str, str]] = {
    "toggle": "microphone of the running app on or off; without a microphone: show or hide its window",
    "show": "show the running app's window",
    "quit": "end the running app",
}


def register(commands: Subparsers) -> None:
    """Add `toggle`, `show` and `quit`."""
    for name, about in _ABOUT.items():
        parser = commands.add_parser(name, help=about, description=f"{about.capitalize()}.")
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
        parser.set_defaults(run=_run, request=name)


def _run(options: argparse.Namespace) -> int:
    place = Place.of(Paths.from_environment())
    answer = dict(ask(place, options.request))
    if options.request == "quit" and not wait_for_end(place, _END_S):
        raise StorageError("Kazeia was asked to end but still runs after {seconds} s.", seconds=round(_END_S))
    if options.json:
        print_json(answer)
    else:
        print_text(_words(options.request, str(answer.get("state", ""))))
    return 0


def _words(request: str, state: str) -> str:
    """What the app has done, in one plain line."""
    language = system_language()
    if request == "show":
        return translate("Kazeia's window is shown.", language)
    match state:
        case "muted":
            return translate("The microphone is off.", language)
        case "listening":
            return translate("The microphone is on.", language)
        case "closed":
            return translate("Kazeia has ended.", language)
        case _:
            return translate("Kazeia: {state}", language, state=state)
