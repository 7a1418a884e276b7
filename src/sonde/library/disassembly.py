"""What the compiler made, to be read: the intermediate form (-S) and eBPF beside the D it came from (--disasm)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.bpf.disassembler import disassemble, listing
from sonde.bpf.instructions import decode
from sonde.bpf.programs import name_of
from sonde.codegen.compiler import Compilation
from sonde.codegen.intermediate.ir import show
from sonde.model.spec import ProgramSpec, TracingSpec
from sonde.visible import single_line

_PROBES_SHOWN = 4

Lines = Mapping[str | None, Sequence[str]]


def intermediate(compilation: Compilation) -> str:
    """Every program's intermediate form."""
    return "".join(f"{show(function)}\n\n" for function in compilation.functions())


def machine_code(spec: TracingSpec, lines: Lines) -> str:
    """Every program's eBPF, each piece below the line of D it came from."""
    return "\n".join(_program(program, lines) for program in spec.programs)


def _program(program: ProgramSpec, lines: Lines) -> str:
    code = decode(program.code)
    kind = name_of(program.kind)
    probes = [single_line(str(each.probe)) for each in program.probes]
    shown = ", ".join(probes[:_PROBES_SHOWN])
    if len(probes) > _PROBES_SHOWN:
        shown += f" and {len(probes) - _PROBES_SHOWN} more"
    head = (
        f"program {single_line(program.name)} (type {kind}, {len(code)} instructions) for {shown or 'others to call'}\n"
    )
    return head + listing(code, _map_names(program), _places(program, lines))


def bare_code(spec: TracingSpec) -> str:
    """Every program's eBPF in the form of dtrace's own listing, for -xverbose."""
    return "\n".join(_bare_program(program) for program in spec.programs)


def _bare_program(program: ProgramSpec) -> str:
    title = single_line(program.name)
    if program.probes:
        probe = program.probes[0].probe
        title = f":::{probe.name}" if probe.provider == "dtrace" else single_line(str(probe))
    code = decode(program.code)
    rows = [f"Disassembly of clause {title}", "INS  OFF  : OPCODE"]
    for index, (each, text) in enumerate(zip(code, disassemble(code, _map_names(program)), strict=True)):
        fields = f"{each.opcode:02x} {each.dst:x} {each.src:x} {each.offset & 0xFFFF:04x} {each.imm & 0xFFFFFFFF:08x}"
        rows.append(f"{index:04} {8 * index:05}: {fields}    {text}".rstrip())
    return "\n".join(rows) + "\n"


def _map_names(program: ProgramSpec) -> dict[int, str]:
    """The names of maps, of which an object may have any, by the instructions that refer to them."""
    return {index: single_line(name) for index, name in program.map_references}


def _places(program: ProgramSpec, lines: Lines) -> dict[int, str]:
    """What stands above which instruction: a line of D where another one begins."""
    places: dict[int, str] = {}
    before = ""
    for index, place in sorted(program.lines):
        if place != before:
            places[index] = single_line(f"{place}: {_text(place, lines)}".removeprefix(": "))
        before = place
    return places


def _text(place: str, lines: Lines) -> str:
    if not place:
        return "generated"
    file, _, number = place.rpartition(":")
    known = lines.get(file) or lines.get(None) or ()
    return known[int(number) - 1].strip() if 0 < int(number) <= len(known) else ""
