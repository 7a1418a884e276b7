"""Every reader is given sparse, truncated, growing, looping, mutated and swapped files: no traceback, no hang, no flood
of memory, and nobody else's names are lost. SONDE_EXAMPLES draws more of them; tools/hostile.py runs them all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import hostile_readers
import hostile_samples
import pytest
from compiled_objects import needs_gcc

import sonde

pytestmark = needs_gcc

COUNT = int(os.environ.get("SONDE_EXAMPLES") or 200)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("hostile")
    hostile_samples.make(made)
    return made


def run(directory, *words):
    worker = str(Path(__file__).with_name("hostile_run.py"))
    paths = os.pathsep.join(str(each) for each in (Path(__file__).parents[1], Path(__file__).parent))
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, worker, str(directory), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    *faults, last = done.stdout.strip().split("\n")
    assert not faults, "\n".join(faults)
    return json.loads(last)


def test_a_part_of_the_table_ends_well(directory):
    """Each reader with each kind of file that is none, and every 67th of all other cases."""
    found = run(directory, 0, 0, "--every", 67)
    assert found["cases"] > 100


def test_files_drawn_by_chance_end_well(directory):
    found = run(directory, 3, COUNT)
    assert found["cases"] == COUNT
    assert found["largest"][0] < 512


def test_every_module_that_opens_files_has_a_reader_here():
    """What opens files of others is read by a reader of the table, but for what only the kernel or sonde writes."""
    reading = {"open_regular", "open_file", "open_named", "open_named_file", "read_regular", "read_named", "read_start"}
    modules = {name.removeprefix("sonde.") for name in sys.modules if name.startswith("sonde.")}
    root = Path(sonde.__file__).parent
    opening = {
        ".".join(path.relative_to(root).with_suffix("").parts)
        for path in root.rglob("*.py")
        if any(f"{each}(" in path.read_text() for each in reading)
    }
    assert hostile_readers.NAMES
    commands = {name for name in opening if name.startswith(("cli.", "session."))}
    """tests/cli/test_named_files.py has these."""
    others = {"untrusted", "report.pcap", "engines.kernel.features", "arch.x86_64.address_space"}
    assert opening - modules - commands - others == set()
