"""Damaged objects: no traceback, no hang, no flood of memory. SONDE_EXAMPLES makes it more of them for each program."""

import os
import shutil
import subprocess
import sys

import pytest
from support.machine import packages
from support.places import SUPPORT, TESTS
from support.suite.example_counts import count_of
from support.symbols.compiled_objects import compiled, needs_gcc

pytestmark = [pytest.mark.examples, needs_gcc]

COUNT = count_of(100)
PROGRAMS = [
    ("c", ("-O2",)), ("c", ("-O0", "-gz=zlib")), ("c", ("-O2", "-gdwarf-3")), ("c++", ("-O2",)),
    ("c++", ("-O2", "-gdwarf-4", "-fdebug-types-section")), ("rust", ()),
    ("c", ("-O2", "-c")), ("c", ("-O0", "-gz=zlib", "-gdwarf-4", "-c")),
]  # fmt: skip


def check(tmp_path, path, seed, *suffix):
    worker = str(SUPPORT / "symbols/hostile_objects.py")
    command = [sys.executable, worker, path, str(tmp_path), str(seed), str(COUNT), *suffix]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(TESTS)})
    assert (done.stdout, done.stderr) == (f"done {COUNT}\n", "")


@pytest.mark.share(1)
@pytest.mark.parametrize(("language", "flags"), PROGRAMS, ids=str)
def test_damaged_objects_end_in_a_message(tmp_path, language, flags):
    if language == "rust":
        packages.require("rustc")
    check(tmp_path, compiled(*flags, language=language), PROGRAMS.index((language, flags)))


@pytest.mark.share(1)
@pytest.mark.parametrize("version", [4, 5])
@packages.needs("llvm-dwp")
def test_damaged_packages_end_in_a_message(tmp_path, version):
    path = compiled("-O2", "-gsplit-dwarf", f"-gdwarf-{version}", "-fdebug-types-section")
    subprocess.run(["llvm-dwp", "-e", path, "-o", f"{path}.dwp"], check=True, capture_output=True)
    check(tmp_path, path, 20 + version, ".dwp")


def test_damaged_separate_files_end_in_a_message(tmp_path):
    path = str(tmp_path / "program")
    shutil.copy(compiled("-O2", "-gz=zlib"), path)
    subprocess.run(["objcopy", "--only-keep-debug", path, f"{path}.debug"], check=True)
    subprocess.run(["strip", path], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={path}.debug", path], check=True)
    (tmp_path / "damaged").mkdir()
    check(tmp_path / "damaged", path, 30, ".debug")
