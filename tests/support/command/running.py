"""Running the installed command."""

import os
import subprocess
import sys
from pathlib import Path

SONDE = str(Path(sys.executable).parent / "sonde")


def environment(**changes):
    """This process's environment without what changes the command's behaviour, and with `changes`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DTRACE_", "_DTRACE"))}
    return {**kept, **changes}


def run(*words, program=SONDE, stdin=None, **changes):
    """Run the command to its end; gives the finished process with its output as text."""
    return subprocess.run(
        [program, *words],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment(**changes),
        input=stdin,
    )


def start(*words, program=SONDE, stdin=None, **changes):
    """Start the command with its outputs in pipes, `stdin` as Popen takes it."""
    return subprocess.Popen(
        [program, *words],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**changes),
    )
