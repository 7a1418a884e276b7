"""Which registers hold addresses in the stack.

An address to which a number is added stays one in the frame of its function. A number to which an address is added
is taken by the verifier for one in the outermost function's frame (adjust_ptr_min_max_vals() of kernel/bpf/verifier.c
leaves `frameno` as the number had it, which is 0), so in routines and loops' bodies addresses have to come first.
"""

from __future__ import annotations

from collections.abc import Set

from sonde.codegen.intermediate import ir
from sonde.typed import TypeGuard


def stack_addresses(function: ir.BpfFunction) -> set[ir.Reg]:
    """The registers that are given such addresses, and those some way from them."""
    found: set[ir.Reg] = set()
    code = [each for block in function.blocks for each, _ in block.code if type(each) in _GIVING]
    before = -1
    while len(found) != before:
        before = len(found)
        found.update(instruction.dst for instruction in code if _gives_one(instruction, found))
    return found


_GIVING = frozenset((ir.Address, ir.Move, ir.Alu))


def operands(instruction: ir.Alu, addresses: Set[ir.Reg]) -> tuple[ir.Reg, ir.Operand]:
    """What is computed with, in the order in which it has to be."""
    if instruction.op == "add" and isinstance(instruction.right, ir.Reg) and instruction.right in addresses:
        return instruction.right, instruction.left
    return instruction.left, instruction.right


def _gives_one(instruction: ir.Instruction, known: Set[ir.Reg]) -> TypeGuard[ir.Address | ir.Move | ir.Alu]:
    if isinstance(instruction, ir.Move):
        return instruction.src in known
    if isinstance(instruction, ir.Alu):
        return instruction.op in ("add", "sub") and (instruction.left in known or instruction.right in known)
    return isinstance(instruction, ir.Address)
