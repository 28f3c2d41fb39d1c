"""`kazeia voices measure`: how fast Kazeia's own voice is here, measured anew, and what is chosen by it."""

import argparse
import time
from dataclasses import asdict
from pathlib import Path

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.errors import ModelMissingError
from kazeia_desktop.events import Notice
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.translations import system_language, translate


def register(actions: Subparsers) -> None:
    """Add `voices measure`."""
    measure = actions.add_parser(
        "measure",
        help="measure how fast Kazeia's own voice is",
        description="Measure Kazeia's own voice for about three seconds, silently, and keep the best threads and "
        "pieces for this machine. The window does it by itself at the first quiet moment.",
    )
    measure.add_argument("--model", metavar="DIR", help="a directory of `kazeia models convert`; default: the setting")
    measure.add_argument("--json", action="store_true", help="one JSON object on stdout")
    measure.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Forget what was measured, measure, keep and tell."""
    from kazeia_desktop.formats.voice_manifest import load_manifest
    from kazeia_desktop.runtime.cancel import CancelToken
    from kazeia_desktop.runtime.cores import read_cores
    from kazeia_desktop.settings.store import with_value
    from kazeia_desktop.tts.qwen3_advice import told
    from kazeia_desktop.tts.qwen3_tuning_store import TuningStore
    from kazeia_desktop.tts.qwen3_voice import Qwen3Voice
    from kazeia_desktop.tts.voice_store import VoiceStore, own_voice_dir

    paths, settings = load_settings()
    if options.model is not None:
        settings = with_value(settings, "tts.model", options.model)
    folder = own_voice_dir(paths, settings)
    if folder is None:
        raise ModelMissingError(
            "Kazeia's own voice is not installed: convert a Qwen3-TTS model with `kazeia models convert`."
        )
    manifest, store = load_manifest(Path(folder)), TuningStore.of(paths, read_cores())
    store.forget(manifest, settings.tts.talker)
    # Of the settings only what does not stand in the way: all threads and pieces are to be tried.
    tts = TtsSettings(voice=settings.tts.voice, talker=settings.tts.talker, language=settings.tts.language)
    voice = Qwen3Voice(folder, VoiceStore.of(paths), tts, None, store)
    try:
        began = time.perf_counter()
        voice.measure(CancelToken(), always_keep=True)
        seconds = time.perf_counter() - began
        slow = voice.slowness()
    finally:
        voice.close()
    tuning = store.get(manifest, settings.tts.talker)
    if options.json:
        record = {"model": manifest.description.name, "dtype": manifest.dtype, "seconds": round(seconds, 2)}
        print_json(record | {"cores": asdict(store.cores), "measured": asdict(tuning) if tuning is not None else None})
        return 0
    for notice in (told(tuning), slow):
        if notice is not None:
            print_text(_line(notice))
    return 0


def _line(notice: Notice) -> str:
    return translate(notice.template, system_language(), **notice.values)
