"""A share of what tools/kills.py and tools/environments.py do, always the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.machine import packages
from support.machine.access import needs

TOOLS = Path(__file__).parent.parent.parent / "tools"


def run(*words):
    done = subprocess.run([sys.executable, *words], cwd=TOOLS.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
@packages.needs("gcc")
def test_sonde_is_ended_at_random_moments():
    runs = os.environ.get("SONDE_KILLS", "3")
    assert f"{runs} runs, 0 with a problem" in run(TOOLS / "kills.py", runs, "7")


@pytest.mark.long
def test_data_is_whole_where_sonde_is_killed():
    assert "5 runs, seed 38: 0 failures" in run(TOOLS / "killed_tables.py", "5", "38")


@pytest.mark.long
def test_a_script_is_lines_of_the_schema_and_tables_of_as_many_records():
    assert "1 scripts: 0 failures" in run(TOOLS / "data_formats.py", "aggregations")


@pytest.mark.long
@pytest.mark.parametrize("some", ["closed", "ulimit -n", pytest.param("no /", marks=needs("CAP_SYS_ADMIN")), "full"])
def test_environments_where_something_is_missing(some):
    assert " environments, 0 runs with a problem" in run(TOOLS / "environments.py", some)
