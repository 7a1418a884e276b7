"""A verified program's instructions, each with what is known before it."""

from __future__ import annotations

from sonde.bpf.disassembler import disassemble
from sonde.bpf.instructions import decode
from sonde.model.spec import ProgramSpec
from sonde.runtime.verifier.merging import Merged


def listing(program: ProgramSpec, merged: Merged) -> str:
    """The program's instructions; above each what is known before it that was not so before the one above. `merged`
    has observed the program being verified."""
    code = decode(program.code)
    lines: list[str] = []
    places, place = dict(program.lines), ""
    known: dict[str, str] = {}
    for index, text in enumerate(disassemble(code, dict(program.map_references))):
        if places.get(index, place) != place:
            place = places[index]
            lines.append(f"; {place}" if place else "; generated")
        if not text:
            continue
        if not merged.visits(index):
            lines.append(f"{index:4}: {text}    (never reached)")
            continue
        state = merged.texts(index)
        lines += [f"        {name} = {value}" for name, value in state.items() if known.get(name) != value]
        gone = [name for name in known if name not in state]
        if gone:
            lines.append(f"        unknown: {' '.join(gone)}")
        known = state
        lines.append(f"{index:4}: {text}")
    return "\n".join(lines) + "\n"
