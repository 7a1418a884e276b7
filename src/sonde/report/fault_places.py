"""Where in its source a program failed, for languages whose functions messages name."""

from __future__ import annotations

from sonde.consume.events import Fault, Record
from sonde.model.spec import TracingSpec
from sonde.typed import NamedTuple


class FaultPlace(NamedTuple):
    """A line of a file; `function` is the one that it is in."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


def fault_place(fault: Fault, spec: TracingSpec) -> FaultPlace | None:
    """Where the clause ended; None in languages without functions of their own, or where it is not known."""
    if not spec.functions:
        return None
    for program in spec.programs:
        if fault.pc < 0 or all(each.probe != fault.probe for each in program.probes):
            continue
        places = [place for index, place in program.lines if index <= fault.pc]
        if places:
            return _placed(places[-1], spec)
    return _of_clause(fault.clause, spec)


def refusal_place(record: Record, spec: TracingSpec) -> FaultPlace | None:
    """The function whose record has an action that could not be carried out, at its first line."""
    return _of_clause(record.layout.clause, spec)


def _placed(place: str, spec: TracingSpec) -> FaultPlace | None:
    """A place as programs have it (`ProgramSpec.lines`), with its function: the innermost there."""
    file, _, number = place.rpartition(":")
    line = int(number) if number.isdecimal() and len(number) < 10 else 0
    found = [each for each in spec.functions if each.file == file and each.first <= line <= each.last]
    return FaultPlace(file, line, max(found, key=lambda each: each.first).name) if found else None


def _of_clause(clause: int, spec: TracingSpec) -> FaultPlace | None:
    found = next((each for each in spec.functions if clause in each.clauses), None)
    return None if found is None else FaultPlace(found.file, found.first, found.name)
