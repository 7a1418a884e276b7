"""Functions that look at their own return address, by their code: the kernel puts another in its place to learn of a
return. `__builtin_return_address(0)` is such a look, with which a function learns who has called it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping

from sonde.arch import stack_operands
from sonde.symbols.dwarf.entry_rows import EntryRows


def looks_at_own(
    code: bytes,
    address: int,
    rows: EntryRows,
    lengths: Callable[[], Mapping[int, int]],
) -> bool:
    """True if an instruction of the function has the word with the return address, according to the unwinding table, as
    its operand. `address` is the link-time address of the function, `lengths` gives the lengths of its instructions by
    offset. Raises CostError."""
    found = [each for each in stack_operands.operands(code) if _is_return_address(each, address, rows)]
    if not found:
        return False
    known = lengths()
    starts = sorted(known)
    return any(_is_operand(each, code, starts, known) for each in found)


def _is_return_address(operand: stack_operands.StackOperand, address: int, rows: EntryRows) -> bool:
    return rows.has_return_address(address + operand.at, operand.register, operand.distance)


def _is_operand(
    operand: stack_operands.StackOperand,
    code: bytes,
    starts: list[int],
    lengths: Mapping[int, int],
) -> bool:
    number = bisect_right(starts, operand.at) - 1
    if number < 0:
        return False
    start = starts[number]
    return stack_operands.is_operand(code[start : start + lengths[start]], operand.at - start)
