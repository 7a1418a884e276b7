"""Which BPF programs a session loads, and how large they are, in words: what -v tells."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.bpf.instructions import INSTRUCTION_SIZE
from sonde.bpf.programs import name_of
from sonde.model.spec import ProgramSpec, TracingSpec


def program_sizes(spec: TracingSpec) -> Iterator[str]:
    """A sentence for each program, and their sum."""
    for program in spec.programs:
        yield f"program {program.name}, {name_of(program.kind)}, {_served(program)}: {_instructions(_size(program))}"
    count = len(spec.programs)
    yield f"{count} program{'' if count == 1 else 's'}, {_instructions(sum(map(_size, spec.programs)))}"


def _size(program: ProgramSpec) -> int:
    return len(program.code) // INSTRUCTION_SIZE


def _served(program: ProgramSpec) -> str:
    """The probes it is fired for: each once, in however many places it is attached."""
    probes = {served.probe.id: served.probe for served in program.probes}
    if not probes:
        return "called by others"
    first = next(iter(probes.values()))
    return str(first) if len(probes) == 1 else f"{len(probes)} probes from {first} on"


def _instructions(number: int) -> str:
    return f"{number} instruction{'' if number == 1 else 's'}"
