"""Damaged objects: no traceback, no hang, no flood of memory. SONDE_EXAMPLES makes it more of them for each program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_objects import compiled, needs_gcc

pytestmark = needs_gcc

COUNT = int(os.environ.get("SONDE_EXAMPLES") or 300)
PROGRAMS = [
    ("c", ("-O2",)), ("c", ("-O0", "-gz=zlib")), ("c", ("-O2", "-gdwarf-3")), ("c++", ("-O2",)),
    ("c", ("-O2", "-gsplit-dwarf")),
]  # fmt: skip


@pytest.mark.parametrize(("language", "flags"), PROGRAMS, ids=str)
def test_damaged_objects_end_in_a_message(tmp_path, language, flags):
    worker = str(Path(__file__).with_name("hostile_objects.py"))
    path = compiled(*flags, language=language)
    command = [sys.executable, worker, path, str(tmp_path), str(PROGRAMS.index((language, flags))), str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"done {COUNT}\n", "")
