"""How far a download or a conversion is, on stderr."""

import sys
from typing import TYPE_CHECKING

from kazeia_desktop.translations import system_language, translate

if TYPE_CHECKING:
    from kazeia_desktop.models.fetch import Progress


def tr(template: str, **values: object) -> str:
    return translate(template, system_language(), **values)


class ProgressBar:
    """One line on stderr: a bar that is redrawn on a terminal, a line every tenth elsewhere."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tty = sys.stderr.isatty()
        self._width = 0  # of what stands on the line now
        self._tenth = -1
        self._waiting = False

    def show(self, progress: "Progress") -> None:
        """Draw `progress`."""
        if progress.waiting:
            if not self._waiting:
                self._waiting = True
                self.close()
                sys.stderr.write(tr("{name}: another Kazeia is downloading it; waiting…", name=self._name) + "\n")
            return
        if not progress.total_bytes:
            return
        share = min(1.0, progress.done_bytes / progress.total_bytes)
        if self._tty:
            full = int(share * 24)
            text = f"{self._name}  [{'#' * full}{'.' * (24 - full)}] {_figures(progress, share)}"
            sys.stderr.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            if int(share * 10) == self._tenth:
                return
            self._tenth = int(share * 10)
            sys.stderr.write(f"{self._name}  {_figures(progress, share)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the line."""
        if self._width:
            sys.stderr.write("\n")
            self._width = 0


def _figures(progress: "Progress", share: float) -> str:
    total = progress.total_bytes or 0
    text = f"{int(share * 100):3d} %  " + tr(
        "{done_mb} of {total_mb} MB", done_mb=progress.done_bytes // 10**6, total_mb=max(1, round(total / 1e6))
    )
    if progress.bytes_per_s:
        text += "  " + tr("{speed} MB/s", speed=f"{progress.bytes_per_s / 1e6:.1f}")
    if progress.seconds_left is not None and share < 1:
        minutes, seconds = divmod(int(progress.seconds_left), 60)
        text += "  " + tr("{minutes}:{seconds} left", minutes=minutes, seconds=f"{seconds:02d}")
    return text
