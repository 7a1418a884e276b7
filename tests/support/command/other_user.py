"""Running sonde as a user who is nobody, with chosen capabilities, wherever the checkout is.

Below a directory that others cannot enter it is a copy of the package, run by the interpreter that the virtual
environment was made from.
"""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import elftools
import pytest

import sonde
from support.machine import packages
from support.machine.access import missing

NOBODY = 65534

SONDE = str(Path(sys.executable).parent / "sonde")

_MAIN = "import sys; sys.path.insert(0, {!r}); sys.argv[0] = 'sonde'; from sonde.cli.main import main; sys.exit(main())"


def run(*words, capabilities=(), environment=None):
    """Run sonde with these words to its end as nobody, with these capabilities (`bpf`, `perfmon`)."""
    return _as_nobody([*_command(), *words], capabilities, environment)


def _as_nobody(words, capabilities, environment=None):
    packages.require("setpriv")
    if missing("CAP_SETUID"):
        pytest.skip(missing("CAP_SETUID"))
    kept = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    user = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    sets = [f"--inh-caps={kept}", f"--ambient-caps={kept}", f"--bounding-set={kept}"]
    # In a directory that nobody may enter Python says so at each start.
    return subprocess.run(["setpriv", *user, *sets, *words], capture_output=True, text=True, env=environment, cwd="/")


@functools.cache
def _command():
    """The words that run sonde as anybody."""
    if _runs([SONDE]):
        return [SONDE]
    words = [os.path.realpath(sys.executable), "-I", "-c", _MAIN.format(_copy())]
    if not _runs(words):
        pytest.skip("another user cannot run this interpreter")
    return words


def _runs(words):
    return _as_nobody([*words, "-V"], ()).returncode == 0


def _copy():
    directory = tempfile.mkdtemp(prefix="sonde-copy-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.chmod(directory, 0o755)
    for package in (sonde, elftools):
        place = Path(package.__file__).parent
        shutil.copytree(place, Path(directory, place.name))
    return directory
