"""A test that runs the command in this process leaves the signals of those behind it alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"

FIRST = """
import signal
from sonde.cli.main import main

def test_first():
    main(["sonde", "-V"])
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL

def test_second():
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
"""


def test_the_next_test_has_its_own(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_both.py").write_text(FIRST)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(CONFTEST.parent)}
    done = subprocess.run([*words, tmp_path], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert "2 passed" in done.stdout, done.stdout
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
