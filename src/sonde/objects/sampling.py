"""What a program's code asks of the perf events whose overflows it handles: whether it may let samples through, and
which of their values it reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.arch import registers
from sonde.bpf import btf, programs
from sonde.bpf import instructions as i
from sonde.bpf.btf import Btf
from sonde.bpf.conduct import conduct
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction
from sonde.model import sample_members
from sonde.model.probe import OVERFLOWS, Firing, Tracepoint
from sonde.model.spec import ProgramSpec
from sonde.objects.btf_ext import CoreRelocation
from sonde.objects.core import OF_FIELD, Kernel
from sonde.objects.core_access import essential, local_field, numbers_of
from sonde.objects.errors import ObjectError
from sonde.objects.linking import LinkedFunctions
from sonde.objects.reading import BpfObject
from sonde.objects.types import stripped

_ADDR = registers.SIZE + 8
"""Offset of `addr` in struct bpf_perf_event_data: behind the registers and sample_period."""


_TAIL_CALL = NUMBERS["tail_call"]


def is_sampled(firing: Firing) -> bool:
    """Whether what fires a program is an event of which samples can be read."""
    return isinstance(firing, OVERFLOWS) or (isinstance(firing, Tracepoint) and firing.period > 0)


def lets_through(code: list[Instruction], kind: int, firings: Sequence[Firing], stamped: Iterable[int] = ()) -> bool:
    """Whether its result is another than 0 on some way: then the event's own handler writes the sample. That of a
    program called by a tail call is not known. `stamped`: as `conduct` has it."""
    if not any(map(is_sampled, firings)):
        return False
    return conduct(code, kind, stamped).results != frozenset((0,)) or _calls_others(code)


def _calls_others(code: Sequence[Instruction]) -> bool:
    """Whether it makes tail calls."""
    return any(each.opcode == i.JMP | i.CALL and each.imm == _TAIL_CALL for each in code)


def with_callees(programs_: Sequence[ProgramSpec]) -> tuple[ProgramSpec, ...]:
    """An event is asked for what its program reads, and for what any that this may call by a tail call reads."""
    handlers = [each for each in programs_ if each.kind == programs.PERF_EVENT]
    every = 0
    for each in handlers:
        every |= each.sample_fields
    return tuple(
        each._replace(sample_fields=every) if each in handlers and _calls_others(i.decode(each.code)) else each
        for each in programs_
    )


def fields_read(code: Sequence[Instruction], kind: int) -> int:
    """The bits of attr.sample_type for what it may read of its context: of the address that its event is about."""
    reads = kind == programs.PERF_EVENT and any(each.opcode & 7 == i.LDX and each.offset == _ADDR for each in code)
    return sample_members.MEMBERS["addr"].asks if reads else 0


def sample_fields(
    name: str, linked: LinkedFunctions, kind: int, firings: Sequence[Firing], object_: BpfObject, kernel: Kernel
) -> int:
    """The bits of attr.sample_type for all that program `name` reads of its event's samples, also of what the kernel
    keeps behind the context, as far as its relocations tell. Raises ObjectError for what cannot be read."""
    asks = fields_read(linked.code, kind)
    if kind != programs.PERF_EVENT or object_.types is None:
        return asks
    relocations = [
        each
        for _, function in linked.functions
        for each in object_.extension.relocations.get(object_.file.sections[function.section].name, ())
        if function.start <= each.offset < function.start + function.size
    ]
    for member in members_read(object_.types, relocations):
        for firing in firings:
            if why := sample_members.object_refusal(member, firing):
                raise ObjectError(f"program {name}: the sample of its event has no {member}: {why}")
        asks |= _asked(name, member, kernel)
    return asks


def members_read(types: Btf, relocations: Iterable[CoreRelocation]) -> list[str]:
    """The members of the kernel's struct perf_sample_data that code with these relocations looks at, each once."""
    found: dict[str, None] = {}
    for each in relocations:
        if each.kind in OF_FIELD and essential(stripped(types, each.type).name) == sample_members.STRUCTURE:
            steps = local_field(types, each.type, numbers_of(each.access)).steps
            found.update((step.name, None) for step in steps[1:2])
    return list(found)


def _asked(name: str, member: str, kernel: Kernel) -> int:
    """What perf is asked for a member. Raises ObjectError where the kernel would have it too late."""
    asks = sample_members.OF_OBJECTS.get(member, 0)
    found = kernel.candidates(sample_members.STRUCTURE, (btf.STRUCT,)) if asks else ()
    if any(_lacks(*each, sample_members.PREPARED) for each in found):
        text = f"program {name} reads {member} of the kernel's struct {sample_members.STRUCTURE}"
        raise ObjectError(f"{text}, which is filled in before programs run since Linux {sample_members.SINCE}")
    return asks


def _lacks(types: Btf, identifier: int, name: str) -> bool:
    return all(each.name != name for each in types.type(identifier).members)
