"""The settings file: TOML, versioned, written atomically, never lost.

A file that cannot be used is set aside beside the place it was found, the defaults are used, and
the reason is kept in `problem` for whoever shows it.
"""

import contextlib
import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.settings import migrations
from kazeia_desktop.settings.schema import SCHEMA_VERSION, Section, Settings, Unfit, section_type

Value = str | int | float | bool


class SettingsStore:
    """Reads and writes one settings file. Not thread-safe: one owner.

    Attributes:
        problem: why the last `load` used defaults, or None.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem: SettingsError | None = None

    @property
    def path(self) -> Path:
        return self._path

    def load(self) -> Settings:
        """The stored settings; the defaults where there is no file or it cannot be used."""
        self.problem = None
        try:
            text = self._path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            return Settings()
        except OSError as error:
            self.problem = SettingsError(
                "The settings file {path} cannot be read ({reason}): the defaults are used. Check its permissions.",
                path=str(self._path),
                reason=error.strerror or str(error),
            )
            return Settings()
        except UnicodeDecodeError:
            return self._set_aside("it is not UTF-8 text")
        if not text.strip():
            return self._set_aside("it is empty")
        try:
            tree = migrations.migrate(tomllib.loads(text))
            return Settings.model_validate(tree)
        except tomllib.TOMLDecodeError as error:
            return self._set_aside(str(error))
        except ValidationError as error:
            return self._set_aside(_first_problem(error))
        except SettingsError as error:
            return self._set_aside(str(error))

    def _set_aside(self, reason: str) -> Settings:
        kept = self._path.with_suffix(".broken.toml")
        number = 1
        while kept.exists():
            number += 1
            kept = self._path.with_suffix(f".broken-{number}.toml")
        try:
            self._path.replace(kept)
        except OSError:
            kept = self._path  # a read-only directory: it stays where it is
        self.problem = SettingsError(
            "The settings file could not be used ({reason}): it is kept as {kept} and the defaults are used.",
            reason=reason,
            kept=str(kept),
        )
        return Settings()

    def save(self, settings: Settings) -> None:
        """Write `settings`; the file that was there stays as `.bak`.

        Raises:
            SettingsError: the directory or file cannot be written.
        """
        content = tomli_w.dumps({"version": SCHEMA_VERSION, **settings.model_dump()})
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".settings-", suffix=".tmp")
            temporary = Path(name)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                with contextlib.suppress(FileNotFoundError):
                    self._path.with_suffix(".bak").write_bytes(self._path.read_bytes())
                temporary.replace(self._path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            raise SettingsError(
                "The settings cannot be saved to {path} ({reason}). Free space or check permissions.",
                path=str(self._path),
                reason=error.strerror or str(error),
            ) from error


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def with_value(settings: Settings, key: str, value: Value) -> Settings:
    """A copy of `settings` in which one setting differs.

    Args:
        key: "section.field", for example "llm.temperature".
        value: the value, or its text as typed on a command line.
    Raises:
        SettingsError: no such setting, or a value that does not fit.
    """
    section_name, _, field_name = key.partition(".")
    if section_name not in Settings.model_fields or field_name not in section_type(section_name).model_fields:
        raise SettingsError("There is no setting {key!r}: `kazeia settings show` lists them.", key=key)
    section: Section = getattr(settings, section_name)
    try:
        changed = type(section).model_validate(
            {**section.model_dump(), field_name: _parsed(section, field_name, value)}
        )
    except ValidationError as error:
        unfit = error.errors()[0].get("ctx", {}).get("error")
        if isinstance(unfit, Unfit):
            raise SettingsError(unfit.template, **unfit.values) from error
        raise _unfit(key, value, error) from error
    return settings.model_copy(update={section_name: changed})


def _unfit(key: str, value: Value, error: ValidationError) -> SettingsError:
    """In the user's language what pydantic says in English."""
    first = error.errors()[0]
    limits = first.get("ctx", {})
    match first["type"]:
        case "less_than_equal":
            return SettingsError(
                "{value!r} does not fit the setting {key}: at most {limit}.", value=value, key=key, limit=limits["le"]
            )
        case "greater_than_equal":
            return SettingsError(
                "{value!r} does not fit the setting {key}: at least {limit}.", value=value, key=key, limit=limits["ge"]
            )
        case "literal_error":
            fitting = str(limits["expected"]).replace(" or ", ", ")
            return SettingsError(
                "{value!r} does not fit the setting {key}: choose {fitting}.", value=value, key=key, fitting=fitting
            )
        case "float_parsing" | "float_type" | "finite_number":
            return SettingsError("{value!r} does not fit the setting {key}: a number is needed.", value=value, key=key)
        case "int_parsing" | "int_type" | "int_from_float":
            return SettingsError(
                "{value!r} does not fit the setting {key}: a whole number is needed.", value=value, key=key
            )
        case "bool_parsing" | "bool_type":
            return SettingsError("{value!r} does not fit the setting {key}: yes or no is needed.", value=value, key=key)
        case _:
            return SettingsError(
                "{value!r} does not fit the setting {key}: {reason}.", value=value, key=key, reason=first["msg"]
            )


def _parsed(section: Section, field_name: str, value: Value) -> Any:  # noqa: ANN401 - pydantic checks it
    """Words that people type for yes and no; everything else is pydantic's to read."""
    if isinstance(value, str) and isinstance(getattr(section, field_name), bool):
        return {"on": True, "oui": True, "off": False, "non": False}.get(value.strip().lower(), value)
    return value
