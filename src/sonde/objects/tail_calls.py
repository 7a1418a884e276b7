"""Which programs of an object call which by bpf_tail_call, and whether they may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.bpf import maps
from sonde.bpf.programs import name_of
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.objects.errors import ObjectError
from sonde.objects.sections import Having


def require_callable(made: Sequence[MapSpec], programs: Sequence[ProgramSpec], having: Having) -> None:
    """Raises ObjectError for a program that may not call one that is in its array of programs."""
    for array, caller, called in _calls(made, programs):
        text, help_ = having.lacks_call(caller.kind, called.kind)
        if text:
            raise ObjectError(
                f"program {caller.name} ({name_of(caller.kind)}) calls {called.name} ({name_of(called.kind)}) "
                f"by map {array}: {text}",
                help_,
            )


def _calls(made: Sequence[MapSpec], programs: Sequence[ProgramSpec]) -> Iterator[tuple[str, ProgramSpec, ProgramSpec]]:
    """Arrays, who uses them, and what is in them."""
    by_name = {each.name: each for each in programs}
    for array in made:
        if array.kind != maps.PROG_ARRAY:
            continue
        elements = [by_name[name] for _, name in array.elements or () if name in by_name]
        for caller in programs:
            if any(name == array.name for _, name in caller.map_references):
                yield from ((array.name, caller, called) for called in elements)
