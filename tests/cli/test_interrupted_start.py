"""SIGINT while the command starts: it ends by that signal, without a word (docs/reference.md, exit status)."""

import signal
import subprocess
import sys

import pytest
from support.command.running import environment

CODE = """
import atexit, os, signal, sys
from sonde.cli.start import main
count = 0
def interrupt(event, arguments):
    global count
    count += event == "import"
    if event == "import" and count == {number}:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
sys.argv[1:] = ["-e", "-n", "syscall:::entry {{ @[execname] = count(); }}"]
atexit.register(lambda: print(count))
main()
"""


def start(number):
    # What ignores the signal, as a shell's background does, starts with it ignored.
    reset = "import signal, os, sys; signal.signal(2, signal.SIG_DFL); os.execv(sys.executable, sys.argv[1:])"
    words = [sys.executable, "-c", reset, sys.executable, "-c", CODE.format(number=number)]
    return subprocess.run(words, capture_output=True, text=True, env=environment())


def test_it_imports_more_than_the_numbers_below():
    assert int(start(0).stdout) > 100


@pytest.mark.share(3)
@pytest.mark.parametrize("number", [1, 2, 3, 7, 19, 41, 67, 101])
def test_an_interrupted_import_says_nothing(number):
    done = start(number)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_the_installed_command_begins_there():
    from importlib.metadata import entry_points

    assert {each.value for each in entry_points(group="console_scripts", name="sonde")} == {"sonde.cli.start:main"}
