"""The report behind "Copy diagnostics": everything that helps to find a fault, and nothing that anybody said.

Nothing is let through because it looks harmless: texts are shown only where they come from a fixed list (names of the
catalogue, choices of the schema, sentences of the source). What a person wrote, said or named is "…". In English, so
that everybody who is shown it reads the same.
"""

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, get_args, get_origin

from kazeia_desktop import __version__
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.activity.figures import STAGES, VOICE, spread
from kazeia_desktop.gui.activity.log_file import Entry
from kazeia_desktop.gui.activity.process_load import Sample
from kazeia_desktop.gui.activity.record import Fault, TurnFigures
from kazeia_desktop.log import Incident
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cores import read_cores
from kazeia_desktop.settings.schema import SECTION_TITLES, Settings, section_type, shown_of
from kazeia_desktop.translations import is_known

_PACKAGES: Final = (
    "PySide6-Essentials", "numpy", "onnxruntime", "llama-cpp-python", "sounddevice", "tokenizers", "pydantic",
)  # fmt: skip
_WORDS: Final = frozenset(
    {
        "CPU", "cpu", "auto", "stt", "llm", "tts", "text", "playback", "listen", "vad", "audio", "mixed", "int8",
        "float32", "q8_0", "q4_0", "Kokoro", "Qwen3-TTS", "ff_siwis",
    }
)  # fmt: skip
"""Names that Kazeia itself gives to parts, numbers and voices."""
_FAULT_KIND: Final = re.compile(r"[A-Z][A-Za-z]*(Error|Exception|Warning|Interrupt|Exit)\b")
_HIDDEN: Final = "…"
_LAST_ENTRIES: Final = 20


@dataclass(frozen=True, slots=True)
class Session:
    """What the window knows by itself. screen: scale and size; state: of the conversation."""

    state: str
    screen: str
    settings: Settings
    placement: Mapping[str, str]
    turns: Sequence[TurnFigures]
    faults: Sequence[Fault]
    incidents: Sequence[Incident]
    load: Sample | None


@dataclass(frozen=True, slots=True)
class Machine:
    """What was looked up in a job. installed: "name: state"; known: names that are nobody's."""

    devices: Sequence[str]
    installed: Sequence[str]
    known: Collection[str]
    log: Sequence[Entry]


def look_up(paths: Paths, log: Sequence[Entry]) -> Machine:
    """What is on this machine; asks disk and sound system, so it runs in a job."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.tts.voice_store import own_voice_dirs

    catalog = Catalog.load()
    store = ModelStore(paths.models_dir, catalog)
    installed = []
    for model in catalog:
        state = store.state(model.name)
        if state.present:
            installed.append(f"{model.name}: {'verified' if state.verified else 'not verified'}")
    own = sum(1 for _ in own_voice_dirs(paths))
    installed.append(f"models of the own voice: {own}")
    return Machine(_devices(), installed, {model.name for model in catalog}, log)


def _devices() -> list[str]:
    from kazeia_desktop.audio.devices import list_inputs, list_outputs

    told = []
    kinds: tuple[tuple[str, Callable[[], Iterable[object]]], ...] = (
        ("microphones", list_inputs),
        ("loudspeakers", list_outputs),
    )
    for kind, listed in kinds:
        try:
            names = ", ".join(str(getattr(device, "name", "")) for device in listed())
        except KazeiaError as error:
            names = f"not known ({type(error).__name__})"
        told.append(f"{kind}: {names or 'none'}")
    return told


def report(session: Session, machine: Machine) -> str:
    """The whole text."""
    known = _WORDS | set(machine.known)
    load = session.load
    parts: list[tuple[str, Iterable[str]]] = [
        ("versions", _versions()),
        ("system", (*_system(), f"screen: {session.screen}")),
        ("devices", machine.devices),
        ("models", machine.installed),
        ("running", (
            f"state: {session.state}",
            *(f"{part}: {_pieces(where, known)}" for part, where in session.placement.items()),
            *(() if load is None or load.memory_bytes is None else (f"memory: {load.memory_bytes / 1e6:.0f} MB",)),
        )),
        ("settings that differ from the defaults", _changed(session.settings, known)),
        ("figures: p50, p95, turns", _figures(session.turns)),
        ("errors that were shown", (_fault(fault, known) for fault in session.faults)),
        ("warnings of this run", (_incident(incident) for incident in session.incidents)),
        ("last warnings in the log file", _heads(machine.log)),
    ]  # fmt: skip
    lines = [f"Kazeia diagnostics, {_utc(datetime.now(UTC).timestamp())}", "Nothing that was said or written is in it."]
    for title, told in parts:
        lines += ["", f"[{title}]", *(list(told) or ["none"])]
    return "\n".join(lines) + "\n"


def _versions() -> Iterable[str]:
    yield f"kazeia {__version__}"
    yield f"python {platform.python_version()} ({sys.implementation.name})"
    for package in _PACKAGES:
        try:
            yield f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"{package}: not installed"


def _system() -> Iterable[str]:
    cores = read_cores()
    yield f"platform: {platform.platform()}, {platform.machine()}"
    yield f"processor: {cores.name}, {cores.n} logical, {cores.n_physical} physical, {cores.n_fast} fast"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield f"memory: {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.1f} GB"
    desktop = os.environ.get("XDG_SESSION_TYPE", "")
    yield f"session: {desktop if desktop in ('x11', 'wayland', 'tty') else 'unknown'}"


def _changed(settings: Settings, known: Collection[str]) -> Iterable[str]:
    for section in SECTION_TITLES:
        kind = section_type(section)
        for name, field in kind.model_fields.items():
            value = getattr(getattr(settings, section), name)
            if value == field.get_default(call_default_factory=True):
                continue
            chosen = shown_of(field).choices_from
            yield f"{section}.{name} = {_setting(value, field.annotation, chosen, known)}"


def _setting(value: object, annotation: object, chosen: str, known: Collection[str]) -> str:
    literal = get_origin(annotation) is Literal and value in get_args(annotation)
    if isinstance(value, bool | int | float) or literal or value in known:
        return str(value)
    if chosen in ("inputs", "outputs"):
        return "(another device than the system's)"
    return f"({len(value)} characters)" if isinstance(value, str) else _HIDDEN


def _figures(turns: Sequence[TurnFigures]) -> Iterable[str]:
    for name in (*STAGES, *VOICE):
        found = spread(turns, name)
        if found is not None:
            digits = 1 if name.endswith("_ms") else 3
            yield f"{name}: {found.p50:.{digits}f}, {found.p95:.{digits}f}, {found.n}"
    for outcome in sorted({turn.reason for turn in turns}):
        yield f"{outcome}: {sum(turn.reason == outcome for turn in turns)} turns"


def _fault(fault: Fault, known: Collection[str]) -> str:
    values = {name: _value(value, known) for name, value in fault.told.values.items()}
    if not is_known(fault.told.template):
        return f"{_utc(fault.at_s)} {_HIDDEN}"
    try:
        told = fault.told.template.format(**values)
    except (KeyError, ValueError, IndexError):  # a field that formats numbers, or wants what is not there
        told = fault.told.template
    return f"{_utc(fault.at_s)} {told}"


def _value(value: object, known: Collection[str]) -> object:
    if isinstance(value, int | float) or (isinstance(value, str) and value in known):
        return value
    kind = _FAULT_KIND.match(str(value))
    return f"{kind[0]} {_HIDDEN}" if kind else _HIDDEN


def _pieces(text: str, known: Collection[str]) -> str:
    """What a comma separates, each where it is known."""
    return ", ".join(piece if piece in known else _HIDDEN for piece in text.split(", ")) if text else "none"


def _incident(incident: Incident) -> str:
    parts = (_utc(incident.at_s), incident.level, incident.logger, incident.told, incident.fault)
    return " ".join(part for part in parts if part)


def _heads(log: Sequence[Entry]) -> Iterable[str]:
    """Of a file that may hold everything, only when, how grave and where."""
    return [entry.head for entry in log if entry.level >= 30][-_LAST_ENTRIES:]


def _utc(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds")
