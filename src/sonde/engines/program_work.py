"""What a program of a spec says of the work of its firings: its maps, functions and names as `bpf.work` takes them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

from sonde.bpf import maps as bpf_maps
from sonde.bpf.btf import FUNC, Btf, BtfError
from sonde.bpf.instructions import decode
from sonde.bpf.work.costs import MOST_PLAIN
from sonde.bpf.work.estimate import Estimate, estimate
from sonde.bpf.work.steps import WorkMap
from sonde.machine.system import possible_cpus
from sonde.model.spec import MapSpec, ProgramSpec

FUNCTION = struct.Struct("=II")
"""struct bpf_func_info: where a function begins, and its BTF type."""

_GLOBAL = 1
"""BTF_FUNC_GLOBAL (include/uapi/linux/btf.h)."""

_HASHES = frozenset({bpf_maps.HASH, bpf_maps.PERCPU_HASH, bpf_maps.LRU_HASH, bpf_maps.LRU_PERCPU_HASH})

ProgramFunctions = Mapping[int, tuple[str, bool]]
"""Names of functions by where they begin, and whether they are global."""


def work_maps(specs: Sequence[MapSpec]) -> dict[str, WorkMap]:
    """By their names."""
    found: dict[str, WorkMap] = {}
    cpus = possible_cpus()
    for each in specs:
        elements = each.max_entries * (cpus if each.by_cpu else 1)
        if each.kind in _HASHES and each.flags & bpf_maps.F_ZERO_SEED:
            elements *= elements  # whoever knows the order can put what was visited where it is visited again
        found[each.name] = WorkMap(each.key_size + each.value_size, elements, _content(each))
        if each.inner is not None:
            found.update(work_maps([each.inner._replace(name=f"{each.name} inner")]))
    return found


def _content(spec: MapSpec) -> bytes | None:
    if not spec.frozen or not spec.flags & bpf_maps.F_RDONLY_PROG or spec.kind != bpf_maps.ARRAY:
        return None
    return spec.contents[0][1] if spec.max_entries == len(spec.contents) == 1 else None


def functions_of(program: ProgramSpec) -> dict[int, tuple[str, bool]]:
    """The functions of the program that its BTF names, by where they begin, and whether they are global."""
    if not program.btf or len(program.func_info) % FUNCTION.size:
        return {}
    found = {}
    try:
        types = Btf(program.btf)
        for begin, number in FUNCTION.iter_unpack(program.func_info):
            type_ = types.type(number)
            if type_.kind == FUNC:
                found[begin] = type_.name, type_.linkage == _GLOBAL
    except (BtfError, IndexError):
        return {}
    return found


def estimate_of(
    program: ProgramSpec, maps: Mapping[str, WorkMap], functions: ProgramFunctions,
    kernel_function: Callable[[int], str], is_metered: bool,
) -> Estimate:  # fmt: skip
    """The work of a firing; of `functions` the global ones count as the kernel's verifier looks at them, by themselves.
    `kernel_function` and `is_metered` are those of `estimate`."""
    if len(program.code) > 8 * MOST_PLAIN:  # no verifier takes so many instructions
        return Estimate(0, (), frozenset(), False)
    apart = frozenset(begin for begin, (_, is_global) in functions.items() if is_global)
    stamped = frozenset(stamp.at for stamp in program.stamps)
    return estimate(
        decode(program.code), maps, dict(program.map_references), kernel_function, apart, stamped, is_metered
    )
