"""The command's first module: SIGINT ends the process without a word from here on, until there is a trace to finish.

Python would raise KeyboardInterrupt in the middle of an import, and print where that was.
"""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Run the command line; returns the exit status."""
    # Whatever takes longer than the lines above comes after them.
    from sonde.cli.main import main as command

    return command()
