"""Runs gdb_compare.py inside gdb on a program: what sonde names at its lines, and what gdb prints there."""

import json
import os
import random
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import sonde
from sonde.symbols.dwarf.information import open_information
from support.places import TESTS

HERE = Path(__file__).parent
_ROW = '={"path": '


def compared(path, name):
    """One dictionary for each scalar of each variable at each point, breaking at every line of the source with code.

    `path` is how it is reached from the variable; `gdb` and `sonde` are its value, None where it has none; `list` tells
    that the variable's place changes; `obstacle` what keeps a probe from fetching it; `steps` what a fetch brings.
    """
    information = open_information(path)
    lines = sorted({
        f"{name}:{row.line}"
        for _, table, numbers in information.lines.tables(name)
        for row in table.rows()
        if row.file in numbers and row.is_statement and not row.ends and information.is_code(row.address)
    })  # fmt: skip
    return _compared(lines, [path], 600, False)


def of_program(command, under, places, stops):
    """The same of a program with its arguments, at some of the lines of its files below a directory, also what its
    pointers lead to; it ends when the program does or after so many stops."""
    information = open_information(command[0])
    with information.costs:
        information.costs.allow(600)
        lines = sorted({
            f"{table.files[row.file]}:{row.line}"
            for unit in information.main.units
            if (head := information.main.head(unit)).statements is not None
            for table in (information.lines.table(information.main, head.statements, head.directory),)
            for row in table.rows()
            if row.line and row.is_statement and not row.ends and information.is_code(row.address)
            and table.files[row.file].startswith(under)
        })  # fmt: skip
    return _compared(random.Random(1).sample(lines, min(places, len(lines))), command, stops, True)


def of_kernel(path, files, remote, places, stops):
    """The same of a kernel, at some of the lines of these files, in a machine that waits at an address for gdb: it ends
    after so many stops, and the machine with it."""
    information = open_information(path)
    lines = sorted({
        f"{table.files[row.file]}:{row.line}"
        for file in files
        for _, table, numbers in information.lines.tables(file)
        for row in table.rows()
        if row.file in numbers and row.line and row.is_statement and not row.ends and information.is_code(row.address)
    })  # fmt: skip
    return _compared(random.Random(1).sample(lines, min(places, len(lines))), [path], stops, True, remote)


def _compared(lines, command, stops, follows, remote=""):
    paths = [str(TESTS), str(Path(sonde.__file__).parents[1]), sysconfig.get_paths()["purelib"]]
    setting = f"python lines, paths, most, follows, remote = {lines!r}, {paths!r}, {stops}, {follows}, {remote!r}"
    script = str(HERE / "gdb_compare.py")
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as settings:
        # Many lines are more than one word of a command may have.
        settings.write(f"set debuginfod enabled off\nset breakpoint pending off\n{setting}\n")
        settings.flush()
        words = ["gdb", "-batch", "-nx", "-x", settings.name, "-x", script, "--args", *command]
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace",
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    assert follows or "Error" not in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "=done\n" in done.stdout, done.stdout[-2000:]
    # What a program writes itself may stand before a row.
    return [json.loads(row[row.index(_ROW) + 1 :]) for row in done.stdout.split("\n") if _ROW in row]
