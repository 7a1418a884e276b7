"""Programs whose turns are metered: what helpers call back pays for each call, from what a firing has on its CPU.

D's loops share turns and a deadline, which is in their code and cannot be seen from outside. A spec file of somebody
else's making says nothing that can be relied on, so what its programs may take together is metered besides. A function
that cannot pay returns 1 at once, which ends the loop, and so do those around it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction, decode, encode
from sonde.bpf.maps import ARRAY
from sonde.bpf.work.graph import named_functions, second_slots
from sonde.bpf.work.steps import MeteredFunction
from sonde.engines.program_work import FUNCTION, estimate_of, functions_of, work_maps
from sonde.machine.system import possible_cpus
from sonde.model.errors import EngineError
from sonde.model.named_maps import METER
from sonde.model.spec import MapSpec, ProgramSpec, TracingSpec
from sonde.model.units import SECOND

MOST_STEPS = SECOND
"""Of all metered calls of a firing, of a nanosecond each: about the second after which D's own loops end."""

_LINE = struct.Struct("=IIII")
"""struct bpf_line_info, of which the first is an instruction."""

_EACH = 64
"""Bytes of a CPU: a line of its cache."""

_LEFT, _UNPAID = 0, 8
_MOST_PRICE = (1 << 31) - 1


def metered(spec: TracingSpec, kernel_function: Callable[[int], str]) -> TracingSpec:
    """The spec with those of its programs metered that have functions which helpers call back. Raises
    EngineError."""
    maps = work_maps(spec.maps)
    programs = []
    for program in spec.programs:
        if not any(x.opcode == i.LD_IMM64 and x.src == i.PSEUDO_FUNC for x in decode(program.code)):
            programs.append(program)
            continue
        found = estimate_of(program, maps, functions_of(program), kernel_function, is_metered=True).metered
        programs.append(_Metering(program, found).program() if found else program)
    if programs == list(spec.programs):
        return spec
    if any(each.name == METER for each in spec.maps):
        raise EngineError(f"map {METER} is the name of a map of sonde's own")
    size = _EACH * _whole(possible_cpus())
    return spec._replace(programs=tuple(programs), maps=(*spec.maps, MapSpec(METER, ARRAY, 4, size, 1)))


def unpaid(values: Sequence[tuple[bytes, bytes]]) -> int:
    """How many functions could not pay, by the contents of the map."""
    return sum(
        struct.unpack_from("=Q", value, at)[0] for _, value in values for at in range(_UNPAID, len(value), _EACH)
    )


def _whole(cpus: int) -> int:
    """The next power of two."""
    return 1 << (cpus - 1).bit_length()


class _Metering:
    """Puts instructions before functions: those of the program, which begins a firing, and those of `functions`."""

    def __init__(self, program: ProgramSpec, functions: Mapping[int, MeteredFunction]) -> None:
        self._program = program
        code = decode(program.code)
        begins = named_functions(code)
        self._code: list[Instruction] = []
        self._moved: list[int] = []
        self._entries: dict[int, int] = {}
        self._references: list[int] = []
        for begin, end in pairwise([*begins, len(code)]):
            self._entries[begin] = len(self._code)
            if not begin:
                self._put(_first())
            elif begin in functions:
                self._put(_paying(functions[begin]))
            self._moved += range(len(self._code), len(self._code) + end - begin)
            self._code += code[begin:end]
        self._follow(code)

    def _put(self, code: Sequence[Instruction]) -> None:
        self._references += [len(self._code) + at for at, x in enumerate(code) if x.opcode == i.LD_IMM64]
        self._code += code

    def _follow(self, code: Sequence[Instruction]) -> None:
        """Have calls and addresses lead to where functions begin now."""
        seconds = second_slots(code)
        for at, x in enumerate(code):
            is_address = x.opcode == i.LD_IMM64 and x.src == i.PSEUDO_FUNC
            if at in seconds or not (is_address or (x.opcode == i.JMP | i.CALL and x.src == i.CALL_LOCAL)):
                continue
            entry = self._entries.get(at + 1 + x.imm)
            if entry is not None:
                self._code[self._moved[at]] = x._replace(imm=entry - self._moved[at] - 1)

    def program(self) -> ProgramSpec:
        program, moved = self._program, self._moved
        references = [(moved[at], name) for at, name in program.map_references]
        references += [(at, METER) for at in self._references]
        return program._replace(
            code=encode(self._code),
            map_references=tuple(references),
            stamps=tuple(stamp._replace(at=moved[stamp.at]) for stamp in program.stamps),
            lines=tuple((self._place(at), line) for at, line in program.lines),
            func_info=self._places(program.func_info, FUNCTION),
            line_info=self._places(program.line_info, _LINE),
        )

    def _place(self, at: int) -> int:
        """A function has its line and its name from its first instruction on."""
        return self._entries[at] if at in self._entries else self._moved[at]

    def _places(self, records: bytes, layout: struct.Struct) -> bytes:
        return b"".join(
            layout.pack(self._place(at), *others) for at, *others in layout.iter_unpack(records)
        )  # fmt: skip


def _own_meter() -> list[Instruction]:
    """The address of this CPU's part of the map in r3; r0 to r2 and r4, r5 are lost."""
    mask = _whole(possible_cpus()) - 1
    return [
        i.call(NUMBERS["get_smp_processor_id"]),
        i.alu64_imm(i.AND, 0, mask),
        i.alu64_imm(i.MUL, 0, _EACH),
        *i.ld_map_value(3),
        i.alu64_reg(i.ADD, 3, 0),
    ]


def _first() -> list[Instruction]:
    """A firing begins: it has not used anything."""
    return [i.mov_reg(6, 1), *_own_meter(), i.store_imm(8, 3, _LEFT, MOST_STEPS), i.mov_reg(1, 6)]


def _paying(function: MeteredFunction) -> list[Instruction]:
    """A call pays, or is over."""
    price = min(function.steps, _MOST_PRICE)
    kept = range(1, function.arguments + 1)
    refusing = [
        i.load(8, 4, 3, _UNPAID),
        i.alu64_imm(i.ADD, 4, 1),
        i.store_reg(8, 3, _UNPAID, 4),
        i.mov_imm(0, 1),
        i.exit_(),
    ]
    return [
        *(i.mov_reg(5 + register, register) for register in kept),
        *_own_meter(),
        i.load(8, 4, 3, _LEFT),
        i.jump_imm(i.JGE, 4, price, len(refusing)),
        *refusing,
        i.alu64_imm(i.SUB, 4, price),
        i.store_reg(8, 3, _LEFT, 4),
        *(i.mov_reg(register, 5 + register) for register in kept),
    ]
