"""Sizes, speeds and errors as the page of models tells them."""

import os
from pathlib import Path

from kazeia_desktop.errors import DownloadError, KazeiaError, ModelCorruptError, ModelMissingError
from kazeia_desktop.gui.words import Words
from kazeia_desktop.models.fetch import Progress


def size(count: int, words: Words) -> str:
    """Bytes as MB or GB."""
    if count >= 10**9:
        return words.tr("{size} GB", size=words.locale.toString(count / 1e9, "f", 1))
    return words.tr("{size} MB", size=max(1, round(count / 1e6)) if count else 0)


def folder(path: Path) -> str:
    """A path that may be broken into lines."""
    return str(path).replace(os.sep, f"{os.sep}\u200b")


def title(name: str, words: Words) -> str:
    """A model's title; what it says in words, in the language of the window."""
    for part, told in (
        (", multilingual", words.tr(", multilingual")), ("(English, very small)", words.tr("(English, very small)")),
    ):  # fmt: skip
        name = name.replace(part, told)
    return name


def duration(seconds: float, words: Words) -> str:
    """Seconds, minutes or hours, roughly."""
    if seconds < 90:
        return words.tr("{n} s", n=max(1, round(seconds)))
    if seconds < 90 * 60:
        return words.tr("{n} min", n=round(seconds / 60))
    return words.tr("{n} h", n=words.locale.toString(seconds / 3600, "f", 1))


def progress(news: Progress | None, words: Words, paused: bool = False) -> str:
    """How far and, unless it is paused, how fast and how long still."""
    tr = words.tr
    if news is None:
        return "" if paused else tr("Starting…")
    if news.waiting:
        return tr("Another Kazeia is fetching this model…")
    parts = [size(news.done_bytes, words)]
    if news.total_bytes:
        parts = [tr("{done} of {total}", done=parts[0], total=size(news.total_bytes, words))]
    if paused:
        return parts[0]
    if news.bytes_per_s:
        parts.append(tr("{size} a second", size=size(round(news.bytes_per_s), words)))
    if news.seconds_left is not None and news.seconds_left > 0:
        parts.append(tr("{time} left", time=duration(news.seconds_left, words)))
    return " · ".join(parts)


def share(news: Progress | None) -> float:
    """0 to 1; 0 while it is not known."""
    if news is None or not news.total_bytes:
        return 0.0
    return min(1.0, news.done_bytes / news.total_bytes)


def error(problem: KazeiaError, words: Words) -> str:
    """One plain line; where the message names a command for the terminal, what the page's buttons do instead."""
    tr, values = words.tr, problem.values
    told = problem.told_in(words.language)
    if "kazeia models" not in problem.template:
        return told
    name = values.get("name", "")
    if isinstance(problem, DownloadError):
        if "needed_mb" in values:
            return tr(
                "Not enough disk space: {needed_mb} MB needed, {free_mb} MB free. Free some and try again.",
                needed_mb=values["needed_mb"], free_mb=values["free_mb"],
            )  # fmt: skip
        if "found" in values:
            return tr("{file} came with wrong bytes and was not kept. Try again.", file=values["file"])
        if "disk is full" in problem.template:
            return tr("The disk is full. Free some space and try again: it goes on where it stopped.")
        if "cannot be reached" in problem.template:
            return tr("The source of {name} cannot be reached. Connect to the network and try again.", name=name)
        return tr("The source did not give {name} ({reason}). Try again later.", name=name,
                  reason=values.get("reason", "?"))  # fmt: skip
    if isinstance(problem, ModelCorruptError) and "file" in values:
        return tr("{file} is damaged. Get the model again.", file=values["file"])
    if isinstance(problem, ModelMissingError) and "file" in values:
        return tr("{file} is missing. Get the model again.", file=values["file"])
    return told
