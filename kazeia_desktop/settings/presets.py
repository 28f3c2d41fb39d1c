"""Named choices of voice and sampler: the built-in ones, and those that the user keeps or shares as a file.

A preset is a small TOML file of its own, in the sections of the settings file. Which file a preset is in says
nothing: its name stands inside.
"""

import contextlib
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tomli_w

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.runtime.small_files import write_atomically
from kazeia_desktop.settings.schema import Settings, section_type
from kazeia_desktop.settings.store import Value, with_value

VERSION: Final = 1
LONGEST_NAME: Final = 60
_LARGEST: Final = 64_000
"""Bytes; a preset takes two thousand."""
_SAMPLER: Final = (
    "temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_penalty", "frequency_penalty", "presence_penalty",
    "penalty_window", "dry_multiplier", "dry_base", "dry_allowed_length",
)  # fmt: skip
_VOICE: Final = (
    "engine", "model", "voice", "speed", "early_comma", "text_mode", "seed", "talker_temperature", "talker_top_k",
    "talker_top_p", "talker_repetition_penalty", "talker_penalty_frames", "code_predictor_temperature",
    "code_predictor_top_k", "code_predictor_top_p", "code_predictor_repetition_penalty",
)  # fmt: skip
KEYS: Final = (*(f"llm.{name}" for name in _SAMPLER), *(f"tts.{name}" for name in _VOICE))
"""What a preset may hold."""
_WHICH_VOICE: Final = ("tts.engine", "tts.model", "tts.voice")


@dataclass(frozen=True, slots=True)
class Preset:
    """Values under a name; what it does not hold it leaves as it is.

    values: "section.field" -> value, keys of KEYS. title: (French, English) of a built-in one, whose `name` never
    changes.
    """

    name: str
    values: Mapping[str, Value]
    title: tuple[str, str] | None = None

    def applied(self, settings: Settings) -> Settings:
        """`settings` with these values."""
        for key, value in self.values.items():
            settings = with_value(settings, key, value)
        return settings

    def fits(self, settings: Settings) -> bool:
        """Whether nothing would change."""
        return all(_value(settings, key) == value for key, value in self.values.items())


def preset_of(name: str, settings: Settings) -> Preset:
    """What `settings` choose, under a name."""
    return Preset(checked_name(name), {key: _value(settings, key) for key in KEYS})


def _value(settings: Settings, key: str) -> Value:
    section, _, field = key.partition(".")
    value: Value = getattr(getattr(settings, section), field)
    return value


_USUAL: Final = {key: _value(Settings(), key) for key in KEYS if key not in _WHICH_VOICE}

BUILT_IN: Final = (
    Preset("usual", _USUAL, ("D'origine", "As delivered")),
    # Slower, each clause thought out before it is begun, few surprises in wording.
    Preset(
        "calm",
        {**_USUAL, "llm.temperature": 0.2, "llm.top_p": 0.85, "tts.speed": 0.9, "tts.early_comma": False,
         "tts.text_mode": "whole", "tts.talker_temperature": 0.8, "tts.talker_top_p": 0.95},
        ("Posée", "Calm"),
    ),
    # Begins as soon as it can, speaks faster and with more melody, varies its wording.
    Preset(
        "lively",
        {**_USUAL, "llm.temperature": 0.9, "llm.top_p": 0.95, "llm.presence_penalty": 0.3, "tts.speed": 1.12,
         "tts.talker_temperature": 1.0, "tts.talker_top_k": 80, "tts.code_predictor_temperature": 1.0},
        ("Vive", "Lively"),
    ),
    # The likeliest words, and the same sentence always said the same way.
    Preset(
        "precise",
        {**_USUAL, "llm.temperature": 0.1, "llm.top_k": 10, "llm.top_p": 0.7, "llm.repeat_penalty": 1.05,
         "tts.seed": 1, "tts.text_mode": "whole", "tts.talker_temperature": 0.8, "tts.talker_top_k": 30},
        ("Précise", "Precise"),
    ),
)  # fmt: skip
"""None of them chooses a voice: what speaks stays."""


def checked_name(name: str) -> str:
    """The name without outer spaces.

    Raises:
        SettingsError: it is empty, too long, has signs that do not print, or is a built-in preset's.
    """
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise SettingsError(
            "The name of a preset has 1 to {most} signs, not {n}: choose another.", most=LONGEST_NAME, n=len(name)
        )
    if any(name.casefold() == title.casefold() for preset in BUILT_IN for title in preset.title or ()):
        raise SettingsError("{name} is a built-in preset: choose another name.", name=name)
    return name


class PresetStore:
    """The user's presets in a folder. Not thread-safe; every method reads the folder anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list(self) -> tuple[tuple[Preset, ...], tuple[SettingsError, ...]]:
        """The presets by name, and why a file could not be read."""
        found: dict[str, Preset] = {}
        problems: list[SettingsError] = []
        for file in self._files():
            try:
                preset = read_preset(file)
            except SettingsError as error:
                problems.append(error)
            else:
                found.setdefault(preset.name.casefold(), preset)
        return tuple(found[name] for name in sorted(found)), tuple(problems)

    def save(self, preset: Preset, replace: bool = False) -> None:
        """Keep it.

        Raises:
            SettingsError: the name is taken and `replace` is not set, is not a name, or the file cannot be written.
        """
        name = checked_name(preset.name)
        taken = self._file_of(name)
        if taken is not None and not replace:
            raise SettingsError("There is a preset {name} already: choose another name.", name=name)
        write_preset(taken or self._free_file(name), Preset(name, preset.values))

    def rename(self, old: str, new: str) -> Preset:
        """Returns the preset under its new name.

        Raises:
            SettingsError: as `save`; there is none called `old`.
        """
        file = self._there(old)
        new = checked_name(new)
        if self._file_of(new) not in (None, file):
            raise SettingsError("There is a preset {name} already: choose another name.", name=new)
        preset = Preset(new, read_preset(file).values)
        write_preset(file, preset)
        return preset

    def delete(self, name: str) -> None:
        """For good.

        Raises:
            SettingsError: there is none, or the file cannot be deleted.
        """
        file = self._there(name)
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(file, error) from error

    def take_in(self, file: Path) -> Preset:
        """Keep a preset that was shared as a file; under a numbered name where its own is taken.

        Raises:
            SettingsError: the file is no preset, or it cannot be kept.
        """
        preset = read_preset(file)
        name, number = preset.name, 1
        while self._file_of(name) is not None:
            number += 1
            name = f"{preset.name[: LONGEST_NAME - 5]} {number}"
        kept = Preset(name, preset.values)
        self.save(kept)
        return kept

    def _files(self) -> Iterator[Path]:
        with contextlib.suppress(OSError):
            yield from sorted(self._folder.glob("*.toml"))

    def _file_of(self, name: str) -> Path | None:
        for file in self._files():
            with contextlib.suppress(SettingsError):
                if read_preset(file).name.casefold() == name.casefold():
                    return file
        return None

    def _there(self, name: str) -> Path:
        file = self._file_of(name)
        if file is None:
            raise SettingsError("There is no preset {name}.", name=name)
        return file

    def _free_file(self, name: str) -> Path:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        stem = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-") or "preset"
        # A name of its own also on Windows, where con.toml is a device.
        file, number = self._folder / f"{stem}-1.toml", 1
        while file.exists():
            number += 1
            file = self._folder / f"{stem}-{number}.toml"
        return file


def write_preset(file: Path, preset: Preset) -> None:
    """As a file of its own, to keep or to share; its folder is made.

    Raises:
        SettingsError: it cannot be written; what was there stays.
    """
    tree: dict[str, object] = {"version": VERSION, "name": preset.name}
    for key, value in preset.values.items():
        section, _, field = key.partition(".")
        part = tree.setdefault(section, {})
        if isinstance(part, dict):
            part[field] = value
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, tomli_w.dumps(tree).encode())
    except OSError as error:
        raise _unwritable(file, error) from error


def _unwritable(file: Path, error: OSError) -> SettingsError:
    return SettingsError(
        "The preset cannot be written to {path} ({reason}). Free space or check permissions.",
        path=str(file),
        reason=error.strerror or str(error),
    )


def read_preset(file: Path) -> Preset:
    """A preset as `write_preset` wrote it, or a person.

    Raises:
        SettingsError: it cannot be read, or is none; says what is wrong with it.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise _bad(file, f"more than {_LARGEST // 1000} kB")
        tree = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise _bad(file, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _bad(file, "not UTF-8 text") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _bad(file, str(error)) from error
    version, name = tree.pop("version", None), tree.pop("name", None)
    if version != VERSION:
        raise _bad(file, f"version = {version!r}")
    if not isinstance(name, str):
        raise _bad(file, f"name = {name!r}")
    values = dict(_values(file, tree))
    if not values:
        raise _bad(file, "no setting")
    try:
        return Preset(checked_name(name), values)
    except SettingsError as error:
        raise _bad(file, str(error)) from error


def _values(file: Path, tree: Mapping[str, object]) -> Iterator[tuple[str, Value]]:
    """Each of its settings, as the schema holds it."""
    usual = Settings()
    for section, part in tree.items():
        if not isinstance(part, dict):
            raise _bad(file, f"{section} = {part!r}"[:80])
        for field, value in part.items():
            key = f"{section}.{field}"
            if key not in KEYS:
                raise _bad(file, f"{key}: a preset does not hold it"[:80])
            kind = section_type(section).model_fields[field].annotation
            if isinstance(value, bool) is not (kind is bool) or not isinstance(value, str | int | float | bool):
                raise _bad(file, f"{key} = {value!r}"[:80])
            try:
                yield key, _value(with_value(usual, key, value), key)
            except SettingsError as error:
                raise _bad(file, f"{key} = {value!r}"[:80]) from error


def _bad(file: Path, reason: str) -> SettingsError:
    return SettingsError("{file} is no preset of Kazeia that can be used ({reason}).", file=file.name, reason=reason)
