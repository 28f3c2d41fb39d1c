"""Entry of the console script `kazeia` and of `python -m kazeia_desktop`.

Qt is imported only without a subcommand, so that headless commands start fast and run where
Qt cannot.
"""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, or the window when none is given. Returns the exit code; the window ends the process itself.

    All it had is on the disk by then: taking a process with Qt and the models' libraries apart in order takes up to a
    second more on a busy machine, for nothing.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    background = arguments == ["--background"]
    if arguments and not background:
        from kazeia_desktop.cli import main as run_command

        return run_command(arguments)
    from kazeia_desktop.app import main as open_window
    from kazeia_desktop.runtime.leaving import leave

    leave(open_window(background))


if __name__ == "__main__":
    sys.exit(main())
