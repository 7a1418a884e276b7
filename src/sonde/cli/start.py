"""The command's first module: SIGINT ends the process without a word from here on, until there is a trace to finish.

Python would raise KeyboardInterrupt in the middle of an import, and print where that was.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys

from sonde import lazy
from sonde.cli import main as command_line
from sonde.cli import module_bundle
from sonde.library import NoReturn

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

_SELDOM = (200_000, 20, 20)
"""Objects made between collections of garbage. The start of a command makes a hundred thousand, few of them garbage."""

_NO_MEMORY = b"sonde: there is not enough memory\n  a limit may be too low: `ulimit -v`, or memory.max of a container\n"


def main() -> NoReturn:
    """Run the command line, and end with its exit status."""
    gc.set_threshold(*_SELDOM)
    # Whatever takes longer than the lines above comes after them.
    try:
        status = command_line.main()
    except MemoryError:
        # Already for the modules there is not enough.
        os.write(2, _NO_MEMORY)
        _end(1)
    found = lazy.installed()
    if found is not None and found.missed and not sys.dont_write_bytecode:
        _bundle_modules()
    _end(status)


def _bundle_modules() -> None:
    """For the next start."""
    try:
        module_bundle.write_bundle(lazy.package_folder())
    except OSError:
        return  # as Python where it cannot write what it has compiled


def _end(status: int) -> NoReturn:
    """End the process as Python would, but for taking apart all that there is, which takes as long as a tenth of a
    short trace."""
    atexit._run_exitfuncs()
    # One that was closed at the start is None.
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    os._exit(status)
