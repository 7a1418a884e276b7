"""How long programs of other compilers may keep a CPU: the steps of a firing, bounded before anything is loaded."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence

from sonde.bpf import maps as bpf_maps
from sonde.bpf.btf import FUNC, Btf, BtfError
from sonde.bpf.instructions import decode
from sonde.bpf.work.costs import MOST_TAIL_CALLS, Factor
from sonde.bpf.work.estimate import Estimate, estimate
from sonde.bpf.work.steps import WorkMap
from sonde.machine.system import possible_cpus
from sonde.model.known_options import default_number
from sonde.model.spec import MapSpec, ProgramSpec, TracingSpec
from sonde.session.engines import KERNEL
from sonde.session.harm import kernel_function
from sonde.typed import NamedTuple

MOST_STEPS = "maxsteps"
"""The option."""

_FUNCTION = struct.Struct("=II")
"""struct bpf_func_info: where a function begins, and its BTF type."""

_GLOBAL = 1
"""BTF_FUNC_GLOBAL (include/uapi/linux/btf.h)."""

_MOST_CODE = 1_000_000
"""Instructions of a program (BPF_COMPLEXITY_LIMIT_INSNS); no verifier takes a longer one."""


class ProgramWork(NamedTuple):
    """The most `steps` of a firing of a program, those of programs included that it calls by tail call, and in words
    what multiplies them, "" if nothing does."""

    program: str
    steps: int
    cause: str


def works(spec: TracingSpec, engine: str) -> Iterator[ProgramWork]:
    """Of each program, as that engine would run it."""
    made = _maps(spec.maps)
    estimates: dict[str, Estimate] = {}
    functions = {}
    for program in spec.programs:
        functions[program.name] = _functions(program)
        estimates[program.name] = _estimate(program, made, functions[program.name] if engine == KERNEL else {})
    callable_ = {
        each.name: [name for _, name in each.elements or () if name in estimates]
        for each in spec.maps if each.kind == bpf_maps.PROG_ARRAY
    }  # fmt: skip
    for program in spec.programs:
        own = estimates[program.name]
        called = _called(program.name, estimates, callable_)
        cause = _turns(program, own.factors, functions[program.name])
        if called > own.steps:
            cause = f"up to {MOST_TAIL_CALLS} tail calls{f', and {cause}' if cause else ''}"
        yield ProgramWork(program.name, own.steps + called, cause)


def refusal_of_work(spec: TracingSpec, engine: str, most: int) -> tuple[str, str]:
    """Why programs may keep a CPU too long and what would help, ("", "") if they do not; `most` are the steps that a
    firing may take, 0: any number."""
    if not most:
        return "", ""
    found = {each.program: each for each in works(spec, engine)}
    for each in found.values():
        if each.steps > most:
            return _refused(f"program {each.program}", each, most)
    together: dict[object, list[ProgramWork]] = {}
    for program in spec.programs:
        for probe, _ in program.probes:
            together.setdefault(probe.firing, []).append(found[program.name])
    for programs in together.values():
        steps = sum(each.steps for each in programs)
        if steps > most:
            largest = max(programs, key=lambda each: each.steps)
            who = f"the {len(programs)} programs of one event, {largest.program} and others,"
            return _refused(who, largest._replace(steps=steps), most)
    return "", ""


def _refused(who: str, work: ProgramWork, most: int) -> tuple[str, str]:
    cause = f": {work.cause}" if work.cause else ""
    text = f"{who} may take {work.steps:,} steps in one firing, and {most:,} are allowed{cause}"
    return text, f"fewer turns, or -x{MOST_STEPS}={work.steps}; -x{MOST_STEPS}=0 allows any number"


def most_allowed() -> int:
    """Unless somebody sets the option."""
    return default_number(MOST_STEPS)


def _maps(specs: Sequence[MapSpec]) -> dict[str, WorkMap]:
    found: dict[str, WorkMap] = {}
    cpus = possible_cpus()
    for each in specs:
        elements = each.max_entries * (cpus if each.by_cpu else 1)
        if each.kind in _HASHES and each.flags & bpf_maps.F_ZERO_SEED:
            elements *= elements  # whoever knows the order can put what was visited where it is visited again
        found[each.name] = WorkMap(each.key_size + each.value_size, elements, _content(each))
        if each.inner is not None:
            found.update(_maps([each.inner._replace(name=f"{each.name} inner")]))
    return found


_HASHES = frozenset({bpf_maps.HASH, bpf_maps.PERCPU_HASH, bpf_maps.LRU_HASH, bpf_maps.LRU_PERCPU_HASH})


def _content(spec: MapSpec) -> bytes | None:
    if not spec.frozen or not spec.flags & bpf_maps.F_RDONLY_PROG or spec.kind != bpf_maps.ARRAY:
        return None
    return spec.contents[0][1] if spec.max_entries == len(spec.contents) == 1 else None


def _functions(program: ProgramSpec) -> dict[int, tuple[str, bool]]:
    """The functions of the program that its BTF names, by where they begin, and whether they are global."""
    if not program.btf or len(program.func_info) % _FUNCTION.size:
        return {}
    found = {}
    try:
        types = Btf(program.btf)
        for begin, number in _FUNCTION.iter_unpack(program.func_info):
            type_ = types.type(number)
            if type_.kind == FUNC:
                found[begin] = type_.name, type_.linkage == _GLOBAL
    except (BtfError, IndexError):
        return {}
    return found


def _estimate(
    program: ProgramSpec, maps: Mapping[str, WorkMap], functions: Mapping[int, tuple[str, bool]],
    kernel: Callable[[int], str] = kernel_function,
) -> Estimate:  # fmt: skip
    if len(program.code) > 8 * _MOST_CODE:
        return Estimate(0, (), frozenset(), False)
    apart = frozenset(begin for begin, (_, is_global) in functions.items() if is_global)
    stamped = frozenset(stamp.at for stamp in program.stamps)
    return estimate(decode(program.code), maps, dict(program.map_references), kernel, apart, stamped)


def _called(name: str, estimates: Mapping[str, Estimate], arrays: Mapping[str, Sequence[str]]) -> int:
    """The most steps of programs that one calls by tail call, each by the one before."""
    following = {program: _following(own, arrays) for program, own in estimates.items()}
    reached, waiting = {name}, [name]
    while waiting:
        for each in following[waiting.pop()]:
            if each not in reached:
                reached.add(each)
                waiting.append(each)
    if any(estimates[each].calls_within for each in reached):
        callees = {each for program in reached for each in following[program]}
        return MOST_TAIL_CALLS * max((estimates[each].steps for each in callees), default=0)
    most = dict.fromkeys(reached, 0)
    for _ in range(MOST_TAIL_CALLS):
        most = {
            program: max((estimates[each].steps + most[each] for each in following[program]), default=0)
            for program in reached
        }  # fmt: skip
    return most[name]


def _following(own: Estimate, arrays: Mapping[str, Sequence[str]]) -> list[str]:
    named = [arrays.get(array, ()) for array in own.arrays] if "" not in own.arrays else list(arrays.values())
    return sorted({each for programs in named for each in programs})


def _turns(program: ProgramSpec, factors: Sequence[Factor], functions: Mapping[int, tuple[str, bool]]) -> str:
    return " x ".join(f"{each.turns:,} turns {_place(program, each.at, functions)}" for each in factors)


def _place(program: ProgramSpec, at: int, functions: Mapping[int, tuple[str, bool]]) -> str:
    function = max(((begin, name) for begin, (name, _) in functions.items() if begin <= at), default=(0, ""))[1]
    within = f" of {function}()" if function else ""
    line = max(((index, place) for index, place in program.lines if index <= at), default=(0, ""))[1]
    return f"at {line}{within}" if line else f"at instruction {at}{within}"
