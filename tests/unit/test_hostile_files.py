"""Every reader is given sparse, truncated, growing, looping, mutated and swapped files: no traceback, no hang, no flood
of memory, and nobody else's names are lost. SONDE_EXAMPLES draws more of them; tools/hostile.py runs them all."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.files import hostile_readers, hostile_samples
from support.places import SUPPORT, TESTS
from support.source.parsed import nodes
from support.suite.example_counts import count_of
from support.symbols.compiled_objects import needs_gcc

import sonde

pytestmark = [pytest.mark.examples, needs_gcc]

COUNT = count_of(200)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("hostile")
    hostile_samples.make(made)
    return made


def run(directory, *words):
    worker = str(SUPPORT / "files/hostile_run.py")
    paths = f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, worker, str(directory), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    *faults, last = done.stdout.strip().split("\n")
    assert not faults, "\n".join(faults)
    return json.loads(last)


@pytest.mark.long
def test_a_part_of_the_table_ends_well(directory):
    """Each reader with each kind of file that is none, and every 139th of all other cases."""
    found = run(directory, 0, 0, "--every", 139)
    assert found["cases"] > 60


def test_files_drawn_by_chance_end_well(directory):
    found = run(directory, 3, COUNT)
    assert found["cases"] == COUNT
    assert found["largest"][0] < 512


READING = {
    "open_regular", "open_file", "open_named", "open_named_file", "read_regular", "read_named", "read_start",
    "kernel_start",
}  # fmt: skip

NAMED, RECORDED = "cli/test_named_files.py", "unit/test_hostile_recordings.py"

ELSEWHERE = {
    "frontends.bpftrace.programs.front_end": NAMED,
    "frontends.bpftrace.programs.headers": "unit/test_c_definitions.py",
    "frontends.bpftrace.programs.imports": NAMED,
    "frontends.bpftrace.report.outside": "unit/test_bpftrace_outside.py",
    "frontends.d.programs.compiling": NAMED,
    "frontends.d.programs.libraries": NAMED,
    "library.bpf_object": NAMED,
    "library.loading": NAMED,
    "library.pictures": NAMED,
    "library.spec_file": NAMED,
    "library.verdicts": NAMED,
    "library.recordings": RECORDED,
    "library.piped": "unit/test_hostile_perf_data.py",
    "library.replays": "unit/test_hostile_perf_data.py",
    "library.showing": RECORDED,
    "session.replay_inputs": "unit/test_hostile_perf_data.py",
    "library.testing.running": "cli/test_script_tests.py",
    "library.bpftrace.programs": "kernel/test_bt_command.py",
}
"""Where the files are tried that somebody names to a command or to the library."""

OF_THE_KERNEL = {
    "arch.x86_64.address_space", "engines.kernel.features", "frontends.bpftrace.report.control_groups",
    "machine.mounts", "machine.program_files", "recording.kernel_place", "report.pcap",
}  # fmt: skip
"""What reads /proc and /sys, or no more than the first bytes of a file."""

BY_COMMANDS = {"providers.installed_files", "providers.static_files"}
"""What the commands of the table import when they run."""


def test_every_module_that_opens_files_has_a_reader():
    """What opens files of others is read by a reader of the table, or is tried elsewhere."""
    code = """import sys
from support.files import hostile_readers
from sonde import lazy
print(*[name for name, module in sys.modules.items() if lazy.is_executed(module)])"""
    paths = f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    read_here = {name.removeprefix("sonde.") for name in done.stdout.split() if name.startswith("sonde.")}
    assert hostile_readers.NAMES
    assert opening() - read_here - OF_THE_KERNEL - BY_COMMANDS == set(ELSEWHERE)
    assert all((Path(__file__).parents[1] / each).exists() for each in ELSEWHERE.values())


def opening():
    """The modules that name a function which opens files of others."""
    root = Path(sonde.__file__).parent
    return {
        ".".join(path.relative_to(root).with_suffix("").parts)
        for path in root.rglob("*.py")
        for node in nodes(path)
        if names_reading(node)
    }


def names_reading(node):
    if isinstance(node, ast.ImportFrom):
        return node.module == "sonde.untrusted" and READING & {alias.name for alias in node.names}
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "untrusted" and node.attr in READING
