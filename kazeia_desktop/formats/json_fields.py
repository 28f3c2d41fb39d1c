"""Reading a JSON file that may hold anything: each value is checked, and a wrong one is named by its key."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.formats.problems import header_problem, key_problem, missing_key, unreadable

_LARGEST: Final = 64_000_000
"""Bytes of a JSON file; vocabularies have 3 MB."""
_ABSENT: Final = object()


class _Twice(ValueError):
    pass


def parse(path: Path, text: bytes) -> dict[str, object]:
    """The JSON object in `text`.

    Raises:
        ModelCorruptError: not a JSON object, or one with a key twice.
    """
    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=_once)
    except _Twice as error:
        raise key_problem(path, str(error), "count", 2, 1) from None
    except (ValueError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise header_problem(path, "JSON", f"({type(error).__name__})", "{...}") from None
    if not isinstance(value, dict):
        raise header_problem(path, "JSON", type(value).__name__, "{...}")
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        seen: set[str] = set()
        raise _Twice(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return table


class Fields:
    """One object of a JSON file. Iterating gives its keys."""

    def __init__(
        self, path: Path, values: Mapping[str, object], prefix: str = "", names: Mapping[str, str] | None = None
    ) -> None:
        self.path, self._values, self._prefix, self._names = path, values, prefix, names or {}

    def renamed(self, names: Mapping[str, str], defaults: Mapping[str, object] | None = None) -> "Fields":
        """The same object, asked in other words: `names` has ours -> the file's. Errors have the file's.

        Args:
            defaults: values of the file's keys that may be absent or null.
        """
        given = {key: value for key, value in self._values.items() if value is not None}
        return Fields(self.path, {**(defaults or {}), **given}, self._prefix, names)

    def _name(self, key: str) -> str:
        return self._names.get(key, key)

    @classmethod
    def read(cls, path: Path) -> "Fields":
        """Raises:
        ModelMissingError, ModelCorruptError: there is no such file, or it is no JSON object.
        """
        try:
            if (size := path.stat().st_size) > _LARGEST:
                raise header_problem(path, "size", size, f"<= {_LARGEST}")
            text = path.read_bytes()
        except OSError as error:
            raise unreadable(path, error) from error
        return cls(path, parse(path, text))

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, key: object) -> bool:
        return self._name(str(key)) in self._values

    def problem(self, key: str, found: object, expected: object) -> ModelCorruptError:
        """The error for a value of `key`."""
        return key_problem(self.path, self._prefix + self._name(key), "value", found, expected)

    def value(self, key: str, default: object = _ABSENT) -> object:
        """Whatever `key` has.

        Raises:
            ModelCorruptError: missing, without `default`.
        """
        name = self._name(key)
        if name in self._values:
            return self._values[name]
        if default is _ABSENT:
            raise missing_key(self.path, self._prefix + name)
        return default

    def integer(self, key: str, low: int, high: int, default: object = _ABSENT) -> int:
        """An integer from `low` to `high`."""
        value = self.value(key, default)
        if type(value) is not int or not low <= value <= high:
            raise self.problem(key, value, f"{low}..{high}" if low < high else low)
        return value

    def number(self, key: str, low: float, high: float, default: object = _ABSENT) -> float:
        """A number from `low` to `high`."""
        value = self.value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.problem(key, value, f"{low:g}..{high:g}")
        return float(value)

    def boolean(self, key: str, default: object = _ABSENT) -> bool:
        """true or false."""
        value = self.value(key, default)
        if not isinstance(value, bool):
            raise self.problem(key, value, "true, false")
        return value

    def text(self, key: str, default: object = _ABSENT, longest: int = 1000) -> str:
        """A string that can be written again (no lone surrogate)."""
        value = self.value(key, default)
        if not isinstance(value, str) or len(value) > longest:
            raise self.problem(key, value, "str")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise self.problem(key, repr(value), "UTF-8") from None
        return value

    def choice(self, key: str, choices: Sequence[str], default: object = _ABSENT) -> str:
        """One of `choices`."""
        value = self.value(key, default)
        if value not in choices:
            raise self.problem(key, value, ", ".join(choices))
        return str(value)

    def integers(
        self, key: str, low: int, high: int, count: int | None = None, default: object = _ABSENT
    ) -> tuple[int, ...]:
        """A list of integers from `low` to `high`, of `count` or of 1 to 64."""
        value = self.value(key, default)
        if (
            not isinstance(value, list | tuple)
            or not (len(value) == count if count is not None else 1 <= len(value) <= 64)
            or not all(type(item) is int and low <= item <= high for item in value)
        ):
            raise self.problem(key, value, f"[{low}..{high}" + (f"] * {count}" if count is not None else ", ...]"))
        return tuple(value)

    def table(self, key: str, default: object = _ABSENT) -> "Fields":
        """The object under `key`."""
        value = self.value(key, default)
        if not isinstance(value, dict):
            raise self.problem(key, value, "{...}")
        return Fields(self.path, value, f"{self._prefix}{self._name(key)}.")
