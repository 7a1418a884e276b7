"""Running the installed command as a user without privileges would, whoever runs the tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SONDE = str(Path(sys.executable).parent / "sonde")


def without_privileges():
    """The words before a command that take root's capabilities away: what is left owns its files and processes."""
    if os.getuid():
        return []
    setpriv = shutil.which("setpriv")
    assert setpriv, "tests that run as root need setpriv of util-linux to give their privileges up"
    return [setpriv, "--bounding-set=-all", "--inh-caps=-all"]


def sonde(*words, status=0):
    """Run the command to its end; gives the finished process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DTRACE_", "_DTRACE"))}
    done = subprocess.run(
        [*without_privileges(), SONDE, *words],
        capture_output=True,
        text=True,
        errors="replace",
        env=kept,
    )
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done
