"""Variables by name, through the compiler and an engine, and by gdb, at the same points of one program.

A point is an instruction: the first time that a process comes by, what sonde prints must be what gdb prints there.
"""

import json
import subprocess
import sys
from pathlib import Path

from sonde.codegen.partial import is_gone
from sonde.model.errors import SourceError
from sonde.model.probe import Probe, Uprobe
from sonde.providers.user_variables import UserVariables
from sonde.symbols.dwarf.points import Points
from sonde.symbols.dwarf.scopes import nameable
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.indirect import Loaded
from sonde.symbols.functions import CodeObject

HERE = Path(__file__).resolve().parent
ENVIRONMENT = ("PATH=/usr/bin:/bin", "LC_ALL=C")
"""Of both: it is on the stack, and Python adds to it where no locale is set."""
TOGETHER = 20
"""Values in one printf."""
MOST_DEATHS = 12


class Subject:
    """A program, its points, and what sonde says of names there before anything runs."""

    def __init__(self, path):
        self.path = path
        file = ElfFile.open(path)
        self.home = CodeObject("a.out", path, Loaded(file, 0), (file,), path)
        self.variables = UserVariables()
        self.located_points = Points(self.home.information)
        self.points = {}

    def add_functions(self, names, every):
        """One of so many instructions of functions, behind their first."""
        for name in names:
            for function in self.home.find(name):
                self._add(function, list(self.home.instructions(function))[1::every])

    def add_lines(self, name):
        """Where statements of a file begin, but for functions' first instructions: there sonde knows the parameters,
        and gdb looks where they will be."""
        information = self.home.information
        starts = {
            row.address
            for _, table, numbers in information.lines.tables(name)
            for row in table.rows()
            if row.file in numbers and row.is_statement and not row.ends
        }
        for function in self.home.functions:
            own = sorted(each - function.address for each in starts if 0 < each - function.address < function.size)
            if own and not function.is_indirect:
                self._add(function, own)

    def _add(self, function, offsets):
        instructions = self.home.instructions(function)
        for offset in offsets:
            if instructions[offset].is_probeable:
                self.points[function.address + offset] = function.name

    def located(self, address, name):
        """The variable, or why there is none."""
        probe = Probe(1, "pid1", "a.out", self.points[address], "0", Uprobe(1, self.path, 0, "offset"))
        try:
            return self.variables.find(probe, self.home, address, "locals", name)
        except SourceError as error:
            return f"{error.text} {error.hint}"

    def scope(self, address):
        """The function, or inlined copy, that names are of."""
        point = self.located_points.at_address(address)
        return next(each.name for each in reversed(point.scopes) if each.name)


def gdb_values(subject):
    """By address: the function, and (path, bits, value) of what gdb finds there. Where gdb itself dies of a value, the
    other points are asked for by another one."""
    found, points, deaths = {}, list(subject.points), 0
    while points:
        command = ["env", "-i", *ENVIRONMENT, "gdb", "-batch", "-nx", "-ex", "set pagination off"]
        command += ["-ex", f"python points = {points!r}", "-x", str(HERE / "gdb_points.py"), subject.path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        rows = [json.loads(line[1:]) for line in lines if line.startswith("={")]
        found |= {each["address"]: each for each in rows}
        if "=done" in lines:
            break
        deaths += 1
        visited = [int(line[1:]) for line in lines if line.startswith("@")]
        assert visited, done.stderr[-2000:]
        assert deaths <= MOST_DEATHS
        points = [each for each in points if each not in found and each != visited[-1]]
    assert found
    return found


def plain(function):
    """A function's own name, of gdb's."""
    name = function.replace("(anonymous namespace)", "")
    return "operator()" if "operator()" in name else name.partition("(")[0].rpartition("::")[2]


def name_of(path):
    return path.partition(".")[0].partition("[")[0]


def program_text(wanted):
    """A D program that prints each (address, path) when the point is first reached."""
    clauses = []
    for address, paths in wanted.items():
        prints = []
        for start in range(0, len(paths), TOGETHER):
            some = paths[start : start + TOGETHER]
            values = "".join(f", (long)locals->{path}" for path in some)
            prints.append(f'printf("={address} {start} %x{" %x" * len(some)}\\n", uregs[R_SP]{values});')
        clauses.append(f"pid$target:a.out:-:{address:x} /!seen[{address}]++/ {{ {' '.join(prints)} }}")
    return "\n".join(clauses)


def sonde_values(subject, wanted, tmp_path, engine):
    script = tmp_path / "points.d"
    script.write_text("int seen[int];\n" + program_text(wanted))
    # As gdb starts it: the same environment, and nothing at random addresses. Below a path with a blank pip makes the
    # command a script of the shell, which adds to the environment.
    command = ["setarch", "-R", "env", "-i", *ENVIRONMENT, sys.executable, "-m", "sonde", "-q"]
    command += ["--engine", engine, "-s", str(script)]
    done = subprocess.run(
        [*command, "-c", subject.path, "-x", "bufsize=4m"], capture_output=True, text=True, check=False
    )
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("="):
            address, start, stack, *numbers = line[1:].split()
            for path, number in zip(wanted[int(address)][int(start) :], numbers, strict=False):
                found[int(address), path] = int(number, 16), int(stack, 16)
    return found, done.stderr


def relative(number, stack, bits):
    """An address on the stack by its distance from the stack pointer: the stacks are not at the same place. What has
    not been set may be the lower half of one."""
    distance = number - (stack & (1 << bits) - 1)
    return f"stack{distance:+}" if bits >= 32 and abs(distance) < 1 << 20 else number


def compared(subject, tmp_path, engine):
    """Pairs of (what gdb has, what sonde has) by point and path, and the reasons for variables that only gdb has."""
    by_gdb = gdb_values(subject)
    wanted, refused = {}, {}
    for address, found in by_gdb.items():
        if subject.scope(address) != plain(found["function"]):
            continue
        for path, bits, value, start in found["values"]:
            located = subject.located(address, name_of(path))
            if value is None:
                continue
            if not isinstance(located, str) and start is not None and is_gone(located.pieces, start, bits):
                located = "this part is optimised out"
            if isinstance(located, str):
                refused[address, path] = located
            else:
                wanted.setdefault(address, []).append(path)
    by_sonde, errors = sonde_values(subject, wanted, tmp_path, engine)
    pairs = {}
    for address, paths in wanted.items():
        known = {path: (bits, value) for path, bits, value, _ in by_gdb[address]["values"]}
        for path in paths:
            bits, value = known[path]
            number, stack = by_sonde.get((address, path), (None, 0))
            shown = None if number is None else number & (1 << bits) - 1
            if shown not in (None, value):
                value, shown = relative(value, by_gdb[address]["stack"], bits), relative(shown, stack, bits)
            pairs[address, path] = value, shown
    return pairs, refused, errors


def in_lists(subject, pairs):
    """The points and variables of the pairs that are in location lists, or in inlined copies."""
    found = set()
    for address, path in pairs:
        point = subject.located_points.at_address(address)
        variable = next(each for each in nameable(point.scopes) if each.name == name_of(path))
        inner = next(each for each in reversed(point.scopes) if each.name)
        if len(variable.locations) > 1 or any(each.start for each in variable.locations) or inner.is_inlined:
            found.add((address, variable.name))
    return found
