"""`kazeia doctor`: looks at everything a conversation needs, and says what to do where something is missing."""

import argparse
import importlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from kazeia_desktop.cli.output import Subparsers, print_json, print_text
from kazeia_desktop.errors import KazeiaError, SettingsError
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import SettingsStore
from kazeia_desktop.translations import system_language, translate

LOW_DISK_BYTES: Final = 1_000_000_000
PACKAGES: Final = ("onnxruntime", "onnx", "tokenizers", "jinja2", "num2words", "huggingface_hub")
"""Of pyproject.toml's dependencies, those that no other check meets."""
LIMITING: Final = ("jeepney",) if sys.platform == "linux" else ()
"""As PACKAGES; there is a conversation without them."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        essential: without it there is no conversation; the others only limit it.
        advice: what to do; empty when all is well.
    """

    name: str
    ok: bool
    detail: str
    advice: str = ""
    essential: bool = True


def register(commands: Subparsers) -> None:
    """Add `doctor`."""
    parser = commands.add_parser(
        "doctor",
        help="check audio, models, libraries and disk",
        description="Check what a conversation needs, and say what to do. Exits 1 when something essential is missing.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run every check; 0 when all essential ones are well."""
    checks: list[Check] = []
    for check in examine(Paths.from_environment()):
        checks.append(check)
        if not options.json:
            mark = tr("ok") if check.ok else tr("MISSING") if check.essential else tr("note")
            print_text(f"{mark:<8} {check.name:<16} {check.detail}")
            if check.advice and check.advice not in check.detail:
                print_text(f"{'':<25} -> {check.advice}")
    well = all(check.ok for check in checks if check.essential)
    if options.json:
        print_json({"ok": well, "checks": [asdict(check) for check in checks]})
    elif well:
        print_text(tr("All that is essential is there."))
    return 0 if well else 1


def tr(template: str, **values: object) -> str:
    return translate(template, system_language(), **values)


def examine(paths: Paths) -> Iterator[Check]:
    """Every check, in the order of a turn."""
    store = SettingsStore(paths.settings_file)
    settings = store.load()
    yield _settings(store)
    yield _devices("audio input", "list_inputs", tr("no microphone"))
    yield _devices("audio output", "list_outputs", tr("no loudspeaker"))
    yield from _models(paths, settings)
    yield _own_voice(paths, settings)
    yield from _voice_speed(paths, settings)
    yield _packages()
    yield _espeak()
    yield _native()
    yield _compute(paths, settings)
    yield _cpu()
    yield _disk(paths.data_dir)
    yield _display()


def _settings(store: SettingsStore) -> Check:
    if store.problem is not None:
        return Check(
            "settings",
            False,
            store.problem.told_in(system_language()),
            tr("Set what you need again with `kazeia settings set`, or repair the file."),
        )
    if not store.path.exists():
        return Check("settings", True, tr("{path} (not there yet: defaults)", path=str(store.path)))
    return Check("settings", True, str(store.path))


def _devices(name: str, function: str, none: str) -> Check:
    advice = tr("Plug one in or start the system's sound server; `kazeia devices` lists what is there.")
    try:
        listing: Callable[[], Any] = getattr(importlib.import_module("kazeia_desktop.audio.devices"), function)
        found = [str(device.name) for device in listing()]
    except KazeiaError as error:
        return Check(name, False, error.told_in(system_language()), advice, essential=False)
    except (ImportError, OSError) as error:  # PortAudio itself is missing: sounddevice raises OSError
        return Check(
            name, False, str(error), tr("Install PortAudio: `sudo apt-get install libportaudio2`."), essential=False
        )
    if not found:
        return Check(name, False, none, advice, essential=False)
    return Check(name, True, _some(found), essential=False)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else tr("{names} and {n_more} more", names=shown, n_more=len(names) - 3)


def _models(paths: Paths, settings: Settings) -> Iterator[Check]:
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore

    store = ModelStore(paths.models_dir, Catalog.load())
    wanted = [("model stt", settings.stt.model, True), ("model vad", "silero-vad", True)]
    wanted.append(("model llm", settings.llm.model, True))
    if settings.tts.engine != "system":
        # Without it the system's voice speaks, unless the user insisted.
        wanted.append(("model voice", "kokoro-82m", settings.tts.engine == "kokoro"))
    for name, model, essential in wanted:
        try:
            path = store.require(model)
        except KazeiaError as error:
            advice = tr("Run `kazeia models get {name}`.", name=model) if model in store.catalog else ""
            if not advice:
                advice = tr("Choose a model of `kazeia models list` with `kazeia settings set`.")
            yield Check(name, False, error.told_in(system_language()), advice, essential)
        else:
            yield Check(name, True, tr("{model}: {path}", model=model, path=str(path)), essential=essential)


def _own_voice(paths: Paths, settings: Settings) -> Check:
    """Kazeia's own voice: optional, unless the settings insist on it."""
    from kazeia_desktop.formats.voice_manifest import load_manifest
    from kazeia_desktop.tts.voice_store import own_voice_dir

    essential = settings.tts.engine == "qwen3"
    advice = tr("Convert a Qwen3-TTS model: `kazeia models convert --help`.")
    try:
        folder = own_voice_dir(paths, settings)
        if folder is None:
            return Check("own voice", not essential, tr("not installed"), advice if essential else "", essential)
        manifest = load_manifest(folder)
    except KazeiaError as error:
        return Check("own voice", False, error.told_in(system_language()), advice, essential)
    told = f"{manifest.description.name}, {manifest.dtype}"
    return Check("own voice", True, tr("{model}: {path}", model=told, path=str(folder)), essential=essential)


def _voice_speed(paths: Paths, settings: Settings) -> Iterator[Check]:
    """How fast Kazeia's own voice is here, where it speaks."""
    from kazeia_desktop.tts.qwen3_advice import slowness, told
    from kazeia_desktop.tts.qwen3_tuning_store import measured_voice

    try:
        found = measured_voice(paths, settings)
    except KazeiaError:  # told as the voice's own trouble
        return
    if found is None:
        return
    manifest, tuning = found
    slow = None if tuning is None else slowness(tuning.rtf, tuning.generator_share, manifest.dtype)
    advice = "" if slow is None else tr(slow.template, **slow.values)
    notice = told(tuning)
    yield Check("voice speed", slow is None, tr(notice.template, **notice.values), advice, essential=False)


def _packages() -> Check:
    """The Python libraries that no other check meets, the essential ones first."""
    names = PACKAGES + LIMITING
    for name in names:
        try:
            importlib.import_module(name)
        except (ImportError, OSError) as error:
            advice = tr("Delete the folder .venv and run `make build`.")
            return Check("packages", False, f"{name}: {error}", advice, essential=name in PACKAGES)
    return Check("packages", True, tr("{names} and {n_more} more", names=names[0], n_more=len(names) - 1))


def _espeak() -> Check:
    """Kokoro's phonemes and the last-resort voice are espeak-ng's; Windows has voices of its own."""
    found = shutil.which("espeak-ng")
    if found:
        return Check("espeak-ng", True, found)
    return Check(
        "espeak-ng",
        False,
        tr("not found: the voice cannot pronounce"),
        tr("Install it: `sudo apt-get install espeak-ng`.")
        if sys.platform.startswith("linux")
        else tr("Install espeak-ng and put it on the PATH."),
        essential=sys.platform != "win32",
    )


def _native() -> Check:
    try:
        build = importlib.import_module("kazeia_desktop._native").llama_build()
    except SettingsError as error:  # KAZEIA_CPU_ISA: the line says what to do
        return Check("native library", False, error.told_in(system_language()))
    except KazeiaError as error:
        return Check("native library", False, error.told_in(system_language()), _rebuild())
    except (ImportError, OSError, AttributeError) as error:
        return Check("native library", False, str(error), _rebuild())
    devices = ", ".join(f"{device['name']} ({device['description']})" for device in build["devices"])
    return Check("native library", True, f"llama.cpp {build['version']}: {devices}")


def _compute(paths: Paths, settings: Settings) -> Check:
    """Where the language model is computed, and whether that device was found to compute it rightly."""
    wanted = settings.backends.llm_device.strip().lower() or "cpu"
    try:
        compute = importlib.import_module("kazeia_desktop.cli.compute").Compute(paths, settings)
    except (KazeiaError, ImportError, OSError, AttributeError):  # told as the native library's trouble
        return Check("compute", True, "-", essential=False)
    advice = tr("Correct the settings of the section backends with `kazeia settings set`.")
    troubles: list[str] = compute.warnings()
    chosen = [device for device in compute.devices if wanted in (device.name.lower(), "auto") and not device.is_cpu]
    if wanted not in ("cpu", "auto"):
        if not chosen:
            troubles.append(
                tr("There is no computing device {device}: `kazeia devices` lists what is there.", device=wanted)
            )
        troubles += [f"{one.name}: {compute.told(one)}" for one in chosen if not compute.is_usable(one)]
    if troubles:
        return Check("compute", False, " ".join(troubles), advice, essential=False)
    told = [f"{one.name}: {compute.told(one)}" for one in chosen] or [one.name for one in compute.devices]
    return Check("compute", True, ", ".join(told), essential=False)


def _rebuild() -> str:
    return tr("Build it again: `make build` in the project's folder.")


def _cpu() -> Check:
    detail = tr("{machine}, {n_cores} cores", machine=platform.machine(), n_cores=os.cpu_count() or 1)
    try:
        isa = importlib.import_module("kazeia_desktop._native").cpu_isa()
    except (KazeiaError, ImportError, OSError, AttributeError):  # told as the native library's trouble
        return Check("cpu", True, detail, essential=False)
    if isa == "scalar" and not os.environ.get("KAZEIA_CPU_ISA"):
        slow = tr("This processor has no vector instructions that Kazeia knows: expect slow answers.")
        return Check("cpu", False, f"{detail}, {isa}", slow, essential=False)
    return Check("cpu", True, f"{detail}, {isa}", essential=False)


def _disk(data_dir: Path) -> Check:
    folder = data_dir
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        return Check(
            "disk", False, tr("{path} cannot be written", path=str(folder)), tr("Check the folder's permissions.")
        )
    free = shutil.disk_usage(folder).free
    detail = tr("{free_gb} GB free in {path}", free_gb=f"{free / 1e9:.1f}", path=str(folder))
    if free < LOW_DISK_BYTES:
        return Check("disk", False, detail, tr("Free some space before getting more models."), essential=False)
    return Check("disk", True, detail)


def _display() -> Check:
    if not sys.platform.startswith("linux"):
        return Check("display", True, sys.platform, essential=False)
    shown = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    if shown:
        return Check("display", True, shown, essential=False)
    return Check(
        "display",
        False,
        tr("none: the window cannot open"),
        tr("Use `kazeia talk`, `kazeia ask` or `kazeia chat` here."),
        essential=False,
    )
