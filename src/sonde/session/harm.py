"""Whether a compiled program does more to the system than look at it, which takes -w."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from sonde.bpf import btf, maps, observing, programs
from sonde.bpf import instructions as i
from sonde.bpf.conduct import conduct
from sonde.bpf.helpers import is_poison, name_of
from sonde.bpf.instructions import Instruction, decode
from sonde.model.records import CommandAction
from sonde.model.spec import MapSpec, ProgramSpec, TracingSpec
from sonde.typed import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    pass

FunctionName: TypeAlias = Callable[[int], str]
"""What a function of the kernel is called whose BTF type has this number, "" if there is none."""


_SHOWING = frozenset({"cat", "errorf", "join", "returned", "time", "warnf"})
"""Commands whose carrying out is that something is shown."""


def harm(spec: TracingSpec, function_name: FunctionName | None = None) -> str:
    """Why a compiled program needs -w, whoever compiled it, "" if it does not: what is not known only to observe may
    change the system. `function_name` is of the kernel that it is for, by default the one that runs."""
    return next(_reasons(spec, function_name or kernel_function), "")


def _reasons(spec: TracingSpec, function_name: FunctionName) -> Iterator[str]:
    for action in (action for layout in spec.records for action in layout.actions):
        if isinstance(action, CommandAction) and action.name not in _SHOWING:
            yield f"it calls {action.name}()"
    for each in spec.maps:
        yield from _of_map(each)
    for program in spec.programs:
        for reason in _of_program(program, function_name):
            yield f"program {program.name} {reason}"


def _of_map(spec: MapSpec) -> Iterator[str]:
    if spec.kind not in observing.MAPS:
        kind = maps.type_name(spec.kind)
        yield f"map {spec.name} is of type {kind}, which is not one for data alone"
    if spec.inner is not None:
        yield from _of_map(spec.inner)


def _of_program(program: ProgramSpec, function_name: FunctionName) -> Iterator[str]:
    if program.kind not in observing.KINDS:
        yield f"is of type {programs.name_of(program.kind)}, whose programs decide what the system does"
        return
    attach_types = observing.KINDS[program.kind]
    if attach_types is not None and program.attach_type not in attach_types:
        yield f"is of type {programs.name_of(program.kind)}, with attach type {program.attach_type}, which can decide"
        return
    code = decode(program.code)
    yield from _of_calls(code, function_name)
    if program.kind in observing.WRITABLE_CONTEXTS:
        yield from _of_conduct(program, code)


def _of_calls(code: list[Instruction], function_name: FunctionName) -> Iterator[str]:
    for at, x in enumerate(code):
        # The second half of a 64-bit constant has no opcode.
        if x.opcode not in (i.JMP | i.CALL, i.JMP | i.CALL | i.X):
            continue
        if x.src == i.CALL_HELPER and x.imm not in observing.HELPERS and not is_poison(x.imm):
            yield f"calls {name_of(x.imm)} (instruction {at})"
        elif x.src == i.CALL_KFUNC:
            name = "" if x.offset else function_name(x.imm)
            if name not in observing.FUNCTIONS:
                yield f"calls {name or 'a function of the kernel'} (instruction {at})"
        elif x.src > i.CALL_KFUNC:
            yield f"has a call of unknown kind (instruction {at})"


def _of_conduct(program: ProgramSpec, code: list[Instruction]) -> Iterator[str]:
    found = conduct(code, program.kind, [stamp.at for stamp in program.stamps])
    if found.writes:
        what = "registers of what it probes" if program.kind == programs.KPROBE else "packets, or what belongs to them"
        yield f"may change {what} (instruction {found.writes[0]})"
    if program.kind in observing.HARMLESS_RESULTS:
        result, name = observing.HARMLESS_RESULTS[program.kind]
        if found.results is None or not found.results <= {result & 0xFFFFFFFF}:
            yield f"may drop or redirect packets: its result is not always {result} ({name})"


@lru_cache
def kernel_function(number: int) -> str:
    """What the running kernel calls the function of that BTF type, "" if that cannot be found out."""
    try:
        found = _kernel_types().type(number)
    except (OSError, btf.BtfError):
        return ""
    return found.name if found.kind == btf.FUNC else ""


@lru_cache
def _kernel_types() -> btf.Btf:
    return btf.Btf.open("/sys/kernel/btf/vmlinux")
