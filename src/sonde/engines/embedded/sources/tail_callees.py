"""Which programs run where one is fired: itself, and all that it may call by tail calls, from one to the next."""

from __future__ import annotations

from sonde.bpf import maps
from sonde.model.spec import ProgramSpec, TracingSpec


class TailCallees:
    """Of the programs of a spec."""

    def __init__(self, spec: TracingSpec) -> None:
        by_name = {each.name: each for each in spec.programs}
        self._elements = {
            each.name: [by_name[name] for _, name in each.elements or ()]
            for each in spec.maps
            if each.kind == maps.PROG_ARRAY
        }

    def running(self, program: ProgramSpec) -> tuple[ProgramSpec, ...]:
        """What may run where the program is fired, itself first."""
        found, seen = [program], {program.name}
        for each in found:
            for _, name in each.map_references:
                for called in self._elements.get(name, ()):
                    if called.name not in seen:
                        seen.add(called.name)
                        found.append(called)
        return tuple(found)
