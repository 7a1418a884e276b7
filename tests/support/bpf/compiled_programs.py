"""The BPF programs that sonde generates: for its examples, and for the D programs in its tests."""

import ast
import re
from typing import NamedTuple

from sonde.model.errors import SourceError
from sonde.model.spec import MapSpec, ProgramSpec
from support.d.d_run import compilation
from support.places import ROOT

_CLAUSE = re.compile(r"(BEGIN|END|ERROR|tick-|profile-|syscall:|proc:|sched:|io:|rawtp:|[a-z]*::).*\{", re.DOTALL)
"""What a text looks like that may be a D program."""


class Compiled(NamedTuple):
    """One program, all maps of its specification by name, and the place its D program comes from."""

    source: str
    program: ProgramSpec
    maps: dict[str, MapSpec]


def of_text(source, text):
    """The programs of a D program; none if it does not compile as it stands."""
    try:
        spec = compilation(text).spec()
    except (SourceError, ValueError):
        return []
    by_name = {one.name: one for one in spec.maps}
    return [Compiled(source, program, by_name) for program in spec.programs]


def examples():
    return [one for path in sorted((ROOT / "examples").glob("*.d")) for one in of_text(path.name, path.read_text())]


def of_tests():
    """From every text in the tests' files that compiles as a D program."""
    found, seen = [], set()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if _CLAUSE.search(node.value) and node.value not in seen:
                seen.add(node.value)
                found += of_text(f"{path.name}:{node.lineno}", node.value)
    return found


def distinct(compiled):
    """Each code once."""
    return list({(one.program.kind, one.program.code): one for one in compiled}.values())
