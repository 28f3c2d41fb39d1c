"""`kazeia voices`: which voices there are, and adding one's own."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kazeia_desktop.cli import voice_measure
from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.errors import SettingsError, UsageError
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.translations import system_language, translate

if TYPE_CHECKING:
    from kazeia_desktop.tts.voice_store import AddedVoice

_ENGINE = "qwen3"


def register(commands: Subparsers) -> None:
    """Add `voices list`, `voices add NAME FILE`, `voices remove NAME` and `voices measure`."""
    parser = commands.add_parser("voices", help="list, add and remove voices", description="The voices of Kazeia.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="every voice", description="Every voice, with engine and licence.")
    add = actions.add_parser(
        "add", help="add a voice", description="Make a voice of a recording of 3 to 30 s; the recording is kept."
    )
    add.add_argument("name", metavar="NAME", help="letters, digits, - and _")
    add.add_argument("file", type=Path, metavar="FILE", help="WAV or FLAC, 3 to 30 s of one person's speech")
    add.add_argument(
        "--consent", required=True, metavar="TEXT", help="who agreed to be imitated, when and how; kept with the voice"
    )
    add.add_argument("--replace", action="store_true", help="replace the voice of that name")
    remove = actions.add_parser("remove", help="remove a voice", description="Remove a voice that you added.")
    remove.add_argument("name", metavar="NAME")
    for action, run in ((listing, _list), (add, _add), (remove, _remove)):
        action.add_argument("--json", action="store_true", help="one JSON object on stdout")
        action.set_defaults(run=run)
    voice_measure.register(actions)


def _list(options: argparse.Namespace) -> int:
    from kazeia_desktop.pipeline.builder import voices_dir
    from kazeia_desktop.tts.voice_store import VoiceStore
    from kazeia_desktop.tts.voices import BUILT_IN, DEFAULT_VOICE, voice_file

    paths, settings = load_settings()
    ready, language = _ready_engines(paths, settings), system_language()
    store = VoiceStore.of(paths)
    added, problems = store.list()
    for problem in problems:
        sys.stderr.write(f"kazeia: {problem.told_in(language)}\n")
    code = 1 if problems else 0
    if not options.json:
        for voice in BUILT_IN:
            told = translate("ready" if voice.engine in ready else "not installed", language)
            languages = " ".join(voice.languages)
            print_text(f"{voice.name:12} {voice.engine:8} {languages:6} {told:14} {voice.licence}  ({voice.source})")
        for own in added:
            told = translate("ready" if _ENGINE in ready else "not installed", language)
            models = ", ".join(f"{vector.model} {vector.width}" for vector in own.xvectors)
            print_text(f"{own.name:12} {_ENGINE:8} {'':6} {told:14} {own.consent.text}  ({models})")
        return code
    chosen = settings.tts.voice or ("" if _ENGINE in ready else DEFAULT_VOICE)
    shown = []
    for voice in BUILT_IN:
        file = voice_file(voices_dir(), voice)
        more = {
            "file": str(file) if file is not None else None,
            "installed": voice.engine in ready,
            "chosen": voice.name == chosen,
        }
        shown.append(asdict(voice) | more)
    for own in added:
        more = {"installed": _ENGINE in ready, "chosen": own.name == chosen}
        shown.append(_as_record(own, store.folder_of(own.name)) | more)
    print_json({"voices": shown, "damaged": [problem.told_in(language) for problem in problems]})
    return code


def _as_record(voice: "AddedVoice", folder: Path) -> dict[str, object]:
    """What JSON says of an added voice. language: null, as it speaks all those of the model."""
    return {
        "name": voice.name,
        "engine": _ENGINE,
        "language": None,
        "languages": [],
        "licence": None,
        "source": voice.source,
        "file": str(folder),
        "created": voice.created,
        "consent": voice.consent.model_dump(),
        "clip_seconds": round(voice.clip_seconds, 2),
        "xvectors": [{"model": vector.model, "width": vector.width} for vector in voice.xvectors],
    }


def _ready_engines(paths: Paths, settings: Settings) -> set[str]:
    """Engines that can speak on this machine now."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.pipeline.builder import LIGHT_VOICE_MODEL
    from kazeia_desktop.tts.phonemes import find_espeak
    from kazeia_desktop.tts.system_voice import find_system_voice
    from kazeia_desktop.tts.voice_store import own_voice_dir

    store = ModelStore(paths.models_dir, Catalog.load())
    ready = {
        "kokoro": store.state(LIGHT_VOICE_MODEL).present and find_espeak() is not None,
        "system": find_system_voice() is not None,
        _ENGINE: own_voice_dir(paths, settings) is not None,
    }
    return {engine for engine, there in ready.items() if there}


def _add(options: argparse.Namespace) -> int:
    from kazeia_desktop.audio.voice_clip import read_clip
    from kazeia_desktop.tts.voice_learning import encoder_for
    from kazeia_desktop.tts.voice_store import VoiceStore

    paths, settings = load_settings()
    store = VoiceStore.of(paths)
    if not options.consent.strip():
        raise UsageError("--consent is empty: say who agreed to be imitated, when and how.")
    store.check_free(options.name, options.replace)
    clip = read_clip(options.file)
    encoder, model = encoder_for(paths, settings)
    voice = store.add(
        options.name, clip, options.consent, encoder, model, source=options.file.name, replace=options.replace
    )
    if options.json:
        print_json(_as_record(voice, store.folder_of(voice.name)))
        return 0
    told = translate(
        "The voice {name} is added: {seconds:.1f} s of {source}, for {model}.",
        system_language(),
        name=voice.name,
        seconds=voice.clip_seconds,
        source=voice.source,
        model=model,
    )
    print_text(told)
    return 0


def _remove(options: argparse.Namespace) -> int:
    from kazeia_desktop.tts.voice_store import VoiceStore
    from kazeia_desktop.tts.voices import BUILT_IN

    if any(voice.name == options.name for voice in BUILT_IN):
        raise SettingsError("The voice {name!r} is built in: it cannot be removed.", name=options.name)
    paths, _ = load_settings()
    folder = VoiceStore.of(paths).remove(options.name)
    if options.json:
        print_json({"removed": folder.name, "file": str(folder)})
        return 0
    told = translate("The voice {name} is removed, with its recording.", system_language(), name=folder.name)
    print_text(told)
    return 0
