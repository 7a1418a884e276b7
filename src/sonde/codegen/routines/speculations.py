"""Taking a free speculation."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import Atomic, BpfFunction, Imm, MapDescriptor, Reg, SlotAddress
from sonde.model.named_maps import CLAIMED, CLOSED, FREE, SPECULATING, SPECULATION_COUNTS, SPECULATIONS

BUSY = 0xFFFF
"""Not the number of a speculation."""


def speculation(name: str, count: int) -> BpfFunction:
    """(): the lowest free one of 1 to `count`; if there is none 0, or BUSY if one waits for the consumer."""
    b = Builder(name, 0)
    number, result = b.copy(Imm(1)), b.copy(Imm(0))
    loop, taken, none = b.label(), b.label(), b.label()
    key = b.slot(8)
    b.place(loop)
    b.branch("gt", number, Imm(count), none)
    b.store(key, 0, 8, number)
    state = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(SPECULATIONS), SlotAddress(key))
    b.branch("eq", state, Imm(0), none)
    before = _exchange(b, state, FREE, CLAIMED)
    b.branch("eq", before, Imm(FREE), taken)
    with b.when("ge", before, Imm(CLOSED)):
        b.move(result, Imm(BUSY))
    b.move(number, b.alu("add", number, Imm(1)))
    b.jump(loop)
    b.place(taken)
    counts = b.call(NUMBERS["map_lookup_elem"], MapDescriptor(SPECULATION_COUNTS), SlotAddress(key))
    b.branch("eq", counts, Imm(0), none)
    b.store(counts, 8, 8, Imm(0))
    _exchange(b, state, CLAIMED, SPECULATING)
    b.move(result, number)
    b.place(none)
    # What is read from the middle of a stack slot is unknown to the verifier, which would else follow every number
    # through the rest of the program.
    b.store(key, 0, 8, b.alu("lsh", result, Imm(16)))
    b.ret(b.load(key, 2, 2))
    return b.function


def _exchange(b: Builder, state: Reg, expected: int, wanted: int) -> Reg:
    """What the state was, by a full barrier."""
    before = b.register()
    b.emit(Atomic("cmpxchg", state, 0, 8, b.copy(Imm(wanted)), before, b.copy(Imm(expected))))
    return before
