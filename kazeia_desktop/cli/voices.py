"""`kazeia voices`: which voices there are."""

import argparse
from dataclasses import asdict

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.errors import SettingsError
from kazeia_desktop.paths import Paths
from kazeia_desktop.translations import system_language, translate


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
    from kazeia_desktop.pipeline.builder import voices_dir
    from kazeia_desktop.tts.voices import BUILT_IN, voice_file

    paths, settings = load_settings()
    ready = _ready_engines(paths)
    if not options.json:
        for voice in BUILT_IN:
            told = translate("ready" if voice.engine in ready else "not installed", system_language())
            languages = " ".join(voice.languages)
            print_text(f"{voice.name:12} {voice.engine:8} {languages:6} {told:14} {voice.licence}  ({voice.source})")
        return 0
    shown = []
    for voice in BUILT_IN:
        file = voice_file(voices_dir(), voice)
        more = {
            "file": str(file) if file is not None else None,
            "installed": voice.engine in ready,
            "chosen": voice.name == settings.tts.voice,
        }
        shown.append(asdict(voice) | more)
    print_json({"voices": shown})
    return 0


def _ready_engines(paths: Paths) -> set[str]:
    """Engines that can speak on this machine now."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.pipeline.builder import LIGHT_VOICE_MODEL
    from kazeia_desktop.tts.phonemes import find_espeak
    from kazeia_desktop.tts.system_voice import find_system_voice

    store = ModelStore(paths.models_dir, Catalog.load())
    ready = {
        "kokoro": store.state(LIGHT_VOICE_MODEL).present and find_espeak() is not None,
        "system": find_system_voice() is not None,
    }
    return {engine for engine, there in ready.items() if there}


def _remove(options: argparse.Namespace) -> int:
    from kazeia_desktop.tts.voices import BUILT_IN

    names = ", ".join(voice.name for voice in BUILT_IN)
    if any(voice.name == options.name for voice in BUILT_IN):
        raise SettingsError("The voice {name!r} is built in: it cannot be removed.", name=options.name)
    raise SettingsError("There is no voice {name!r}: choose {there}.", name=options.name, there=names)
