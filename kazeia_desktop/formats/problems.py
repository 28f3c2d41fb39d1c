"""How a malformed file is told: which file, which part of it, what was found and what was expected."""

from pathlib import Path

from kazeia_desktop.errors import ModelCorruptError, ModelMissingError


def header_problem(file: Path | str, field: str, found: object, expected: object) -> ModelCorruptError:
    """The file as a whole is wrong; `field` is the technical name of what was looked at."""
    return ModelCorruptError(
        "The model file {file} is damaged: {field} is {found}, expected {expected}.",
        file=str(file), field=one_line(field), found=one_line(found), expected=one_line(expected),
    )  # fmt: skip


def key_problem(file: Path | str, key: str, field: str, found: object, expected: object) -> ModelCorruptError:
    """One key of the file's metadata, or of a JSON file, is wrong."""
    return ModelCorruptError(
        "The model file {file} is damaged: key {key}: {field} is {found}, expected {expected}.",
        file=str(file), key=one_line(key), field=one_line(field), found=one_line(found), expected=one_line(expected),
    )  # fmt: skip


def tensor_problem(file: Path | str, tensor: str, field: str, found: object, expected: object) -> ModelCorruptError:
    """One tensor is wrong."""
    return ModelCorruptError(
        "The model file {file} is damaged: tensor {tensor}: {field} is {found}, expected {expected}.",
        file=str(file), tensor=one_line(tensor), field=one_line(field), found=one_line(found),
        expected=one_line(expected),
    )  # fmt: skip


def missing_tensor(file: Path | str, tensor: str, expected: object = None) -> ModelCorruptError:
    """A tensor that must be there is not; `expected` is its shape, where known."""
    if expected is None:
        return ModelCorruptError(
            "The model file {file} lacks the tensor {tensor}.", file=str(file), tensor=one_line(tensor)
        )
    return ModelCorruptError(
        "The model file {file} lacks the tensor {tensor} (expected {expected}).",
        file=str(file), tensor=one_line(tensor), expected=one_line(expected),
    )  # fmt: skip


def missing_key(file: Path | str, key: str) -> ModelCorruptError:
    """A key that must be there is not."""
    return ModelCorruptError("The model file {file} lacks the key {key}.", file=str(file), key=one_line(key))


def unreadable(file: Path | str, error: OSError) -> ModelMissingError:
    """The system does not give the file."""
    if isinstance(error, FileNotFoundError):
        return ModelMissingError("There is no model file {file}.", file=str(file))
    return ModelMissingError(
        "The model file {file} cannot be read ({reason}).", file=str(file), reason=error.strerror or str(error)
    )


def one_line(value: object) -> str:
    """`value` on one line of bounded length: it may come from a hostile file."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:200])
    return text if len(text) <= 80 else text[:77] + "..."
