"""The verifier, told what this engine has: maps, helpers, its tracepoints' arguments and its structures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sonde.model.errors import EngineError
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.runtime.helpers.table import SUPPORTED
from sonde.runtime.kernel_types import TRACEPOINTS, pointed_to, size_of
from sonde.runtime.maps.creation import check_kind
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.verify import Verified, verify


def verify_here(
    program: ProgramSpec, maps: Mapping[str, MapSpec], observe: Callable[[int, State], None] | None = None
) -> Verified:
    """Prove that the program may run in this engine; `maps` and `observe` are those of `verify`. Raises Refusal, or
    EngineError if it is for a tracepoint, or takes a map, that the engine has not."""
    for _, name in program.map_references:
        check_kind(maps[name])
    arguments = None
    if program.attach_to is not None:
        tracepoint = program.attach_to.removeprefix("btf_trace_")
        if tracepoint not in TRACEPOINTS:
            raise EngineError(f"program {program.name} is for the tracepoint {tracepoint}, which only a kernel has")
        arguments = pointed_to(tracepoint)
    return verify(program, maps, arguments, observe, size_of=size_of, helpers=SUPPORTED)
