"""The subprograms that generated code may call, by name."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.ir import Function
from sonde.codegen.routines import buckets, paths, processes, speculations, strings

_FIXED: dict[str, Callable[[], Function]] = {
    "namespace_pid": processes.namespace_pid,
    "quantize_bucket": buckets.quantize_bucket,
    "compare_strings": strings.compare_strings,
    "strlen": strings.strlen,
}


def routine(name: str) -> Function:
    """The function of that name; KeyError if there is none."""
    if name.startswith("llquantize_"):
        factor, low, high, steps = (int(p) for p in name.split("_")[1:])
        return buckets.llquantize_bucket(name, factor, low, high, steps)
    if name.startswith("speculation_"):
        return speculations.speculation(name, int(name.removeprefix("speculation_")))
    if name.startswith("progenyof_"):
        return processes.progenyof(name, [int(p) for p in name.split("_")[1:]])
    if name.startswith("d_path_"):
        return paths.d_path(name, paths.Offsets(*(int(p) for p in name.split("_")[2:])))
    return _FIXED[name]()
