"""How long programs of other compilers may keep a CPU: the steps of a firing, bounded before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sonde.bpf import maps as bpf_maps
from sonde.bpf.work.costs import MOST_TAIL_CALLS, Factor
from sonde.bpf.work.estimate import Estimate
from sonde.engines.program_work import ProgramFunctions, estimate_of, functions_of, work_maps
from sonde.model.spec import ProgramSpec, TracingSpec
from sonde.session.engines import KERNEL
from sonde.session.harm import kernel_function
from sonde.typed import NamedTuple

MOST_STEPS = "maxsteps"
"""The option."""


class ProgramWork(NamedTuple):
    """The most `steps` of a firing of a program, those of programs included that it calls by tail call, and in words
    what multiplies them, "" if nothing does."""

    program: str
    steps: int
    cause: str


def works(spec: TracingSpec, engine: str, is_metered: bool = False) -> Iterator[ProgramWork]:
    """Of each program, as that engine would run it; `is_metered`: without turns of loops by helpers."""
    made = work_maps(spec.maps)
    estimates: dict[str, Estimate] = {}
    functions: dict[str, ProgramFunctions] = {}
    for program in spec.programs:
        named = functions[program.name] = functions_of(program)
        apart = named if engine == KERNEL else {}
        estimates[program.name] = estimate_of(program, made, apart, kernel_function, is_metered)
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


def refusal_of_work(spec: TracingSpec, engine: str, most: int, is_metered: bool = False) -> tuple[str, str]:
    """Why programs may keep a CPU too long and what would help, ("", "") if they do not; `most` are the steps that a
    firing may take, 0: any number; `is_metered` as for `works`."""
    if not most:
        return "", ""
    found = {each.program: each for each in works(spec, engine, is_metered)}
    for each in found.values():
        if each.steps > most:
            return refused(f"program {each.program}", each, most)
    together: dict[object, list[ProgramWork]] = {}
    for program in spec.programs:
        for probe, _ in program.probes:
            together.setdefault(probe.firing, []).append(found[program.name])
    for programs in together.values():
        steps = sum(each.steps for each in programs)
        if steps > most:
            largest = max(programs, key=lambda each: each.steps)
            who = f"the {len(programs)} programs of one event, {largest.program} and others,"
            return refused(who, largest._replace(steps=steps), most)
    return "", ""


def refused(who: str, work: ProgramWork, most: int) -> tuple[str, str]:
    """What is wrong where a firing may take more steps than `most`, and what helps."""
    cause = f": {work.cause}" if work.cause else ""
    text = f"{who} may take {work.steps:,} steps in one firing, and {most:,} are allowed{cause}"
    return text, f"fewer turns, or -x{MOST_STEPS}={work.steps}; -x{MOST_STEPS}=0 allows any number"


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


def _turns(program: ProgramSpec, factors: Sequence[Factor], functions: ProgramFunctions) -> str:
    return " x ".join(f"{each.turns:,} turns {_place(program, each.at, functions)}" for each in factors)


def _place(program: ProgramSpec, at: int, functions: ProgramFunctions) -> str:
    function = max(((begin, name) for begin, (name, _) in functions.items() if begin <= at), default=(0, ""))[1]
    within = f" of {function}()" if function else ""
    line = max(((index, place) for index, place in program.lines if index <= at), default=(0, ""))[1]
    return f"at {line}{within}" if line else f"at instruction {at}{within}"
