"""Runs gdb_compare.py inside gdb on a program: what sonde names at its lines, and what gdb prints there."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import sonde
from sonde.symbols.dwarf.information import open_information

HERE = Path(__file__).parent


def compared(path, name):
    """One dictionary for each scalar of each variable at each point, breaking at every line of the source with code.

    `path` is how it is reached from the variable; `gdb` and `sonde` are its value, None where it has none; `list` tells
    that the variable's place changes; `obstacle` what keeps a probe from fetching it; `steps` what a fetch brings.
    """
    information = open_information(path)
    lines = sorted({
        row.line
        for _, table, numbers in information.lines.tables(name)
        for row in table.rows()
        if row.file in numbers and row.is_statement and not row.ends and information.is_code(row.address)
    })  # fmt: skip
    paths = [str(HERE), str(Path(sonde.__file__).parents[1]), sysconfig.get_paths()["purelib"]]
    setting = f"python lines, paths, name = {lines!r}, {paths!r}, {name!r}"
    script = str(HERE / "gdb_compare.py")
    command = ["gdb", "-batch", "-nx", "-ex", setting, "-x", script, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "LC_ALL": "C"})
    assert "Error" not in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout.endswith("=done\n"), done.stdout[-2000:]
    return [json.loads(row[1:]) for row in done.stdout.splitlines() if row.startswith("={")]
