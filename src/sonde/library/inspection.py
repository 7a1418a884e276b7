"""Looking into a script: its eBPF, and what the verifier says of it."""

from __future__ import annotations

from sonde.bpf.disassembler import listing
from sonde.bpf.instructions import decode
from sonde.model.spec import ProgramSpec, TracingSpec


def disassembly(spec: TracingSpec, text: str) -> str:
    """Every program's eBPF, each piece below the line of source it came from."""
    lines = text.split("\n")
    return "\n".join(_program(each, lines) for each in spec.programs)


def _program(program: ProgramSpec, lines: list[str]) -> str:
    code = decode(program.code)
    places: dict[int, str] = {}
    for index, place in program.lines:
        number = int(place.rpartition(":")[2] or 0)
        source = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        places[index] = f"{place}: {source}" if source else place
    head = f"program {program.name} ({len(code)} instructions)\n"
    return head + listing(code, dict(program.map_references), places)
