"""`kazeia settings`: the same schema as the panel, on the command line."""

import argparse
from dataclasses import asdict
from pathlib import Path

from kazeia_desktop.cli.output import Subparsers, print_json, print_text
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import SECTION_TITLES, Settings, section_type, shown_of
from kazeia_desktop.settings.store import SettingsStore, with_value
from kazeia_desktop.translations import LANGUAGES, system_language, translate


def register(commands: Subparsers) -> None:
    """Add `settings show`, `settings set KEY VALUE` and `settings reset [KEY]`."""
    parser = commands.add_parser("settings", help="show or change settings", description="Show or change settings.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser("show", help="every setting with its value", description="Show every setting.")
    change = actions.add_parser("set", help="change one setting", description="Change one setting.")
    change.add_argument("key", metavar="KEY", help="for example llm.temperature")
    change.add_argument("value", metavar="VALUE")
    reset = actions.add_parser("reset", help="back to the defaults", description="Back to the defaults.")
    reset.add_argument("key", metavar="KEY", nargs="?", help="one setting; without it, all")
    for action, run in ((show, _show), (change, _set), (reset, _reset)):
        action.add_argument("--json", action="store_true", help="one JSON object on stdout")
        action.set_defaults(run=run)


def _store() -> SettingsStore:
    return SettingsStore(Paths.from_environment().settings_file)


def _load(store: SettingsStore) -> Settings:
    settings = store.load()
    if store.problem is not None:
        raise store.problem
    return settings


def _report(settings: Settings, path: Path, as_json: bool) -> int:
    if as_json:
        print_json({"path": str(path), "settings": settings.model_dump(), "voice_measured": _measured_json(settings)})
        return 0
    language = LANGUAGES.index(system_language())
    print_text(str(path))
    for name, title in SECTION_TITLES.items():
        print_text(f"\n{title[language]}")
        if name == "tts" and (line := _measured(settings)):
            print_text(f"  # {line}")
        section = getattr(settings, name)
        for field_name, field in section_type(name).model_fields.items():
            shown = shown_of(field)
            value = getattr(section, field_name)
            unit = f" {shown.unit}" if shown.unit else ""
            written = str(value).lower() if isinstance(value, bool) else value if value != "" else '""'
            print_text(f"  {name}.{field_name} = {written}{unit}   # {shown.title[language]}")
    return 0


def _measured(settings: Settings) -> str:
    """What was measured of Kazeia's own voice, in one line; "" where it does not speak."""
    from kazeia_desktop.tts.qwen3_advice import told
    from kazeia_desktop.tts.qwen3_tuning_store import measured_voice

    try:
        found = measured_voice(Paths.from_environment(), settings)
    except KazeiaError as error:
        return error.told_in(system_language())
    if found is None:
        return ""
    notice = told(found[1])
    return translate(notice.template, system_language(), **notice.values)


def _measured_json(settings: Settings) -> dict[str, object] | None:
    from kazeia_desktop.tts.qwen3_tuning_store import measured_voice

    try:
        found = measured_voice(Paths.from_environment(), settings)
    except KazeiaError:
        return None
    return None if found is None or found[1] is None else asdict(found[1])


def _show(options: argparse.Namespace) -> int:
    store = _store()
    return _report(_load(store), store.path, options.json)


def _set(options: argparse.Namespace) -> int:
    store = _store()
    settings = with_value(_load(store), options.key, options.value)
    store.save(settings)
    return _report_one(settings, options.key, store.path, options.json)


def _report_one(settings: Settings, key: str, path: Path, as_json: bool) -> int:
    section_name, field_name = key.split(".")
    value = getattr(getattr(settings, section_name), field_name)
    if as_json:
        print_json({"path": str(path), "key": key, "value": value})
    else:
        print_text(f"{key} = {value}")
    return 0


def _reset(options: argparse.Namespace) -> int:
    store = _store()
    settings = Settings()
    if options.key:
        section_name, _, field_name = options.key.partition(".")
        default = getattr(getattr(settings, section_name, None), field_name, "")
        settings = with_value(_load(store), options.key, default)
    store.save(settings)
    if options.key:
        return _report_one(settings, options.key, store.path, options.json)
    return _report(settings, store.path, options.json)
