"""Names of callers: a frame's address is where its call returns to, which may be another function where the call is a
function's last instruction, of one that never returns. So the byte before is looked up, unless the address is where
the code was interrupted."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.python_frames import FRAME, PythonFrame
from sonde.model.stack_remarks import remark_of
from sonde.report.symbolizer import Symbolizer

_INTERRUPTED = ("asm_", "entry_", "error_", "ret_from_")
"""What the kernel's functions are called to which nothing returns: behind them comes what was interrupted, and threads
begin in them."""


def user_place(symbolizer: Symbolizer, process: int, address: int, calls: bool) -> tuple[str, str | None, int] | None:
    """As Symbolizer.user; with `calls` of an address that a call returns to."""
    exact = symbolizer.user(process, address)
    if not calls or (exact is not None and exact[1] is not None and exact[2]):
        # Only at a symbol's first byte is the byte before another symbol's.
        return exact
    before = None if interrupts(symbolizer, process, address) else symbolizer.user(process, address - 1)
    if before is None:
        return exact
    path, symbol, offset = before
    return path, symbol, offset + 1


def kernel_place(symbolizer: Symbolizer, address: int, calls: bool) -> tuple[str, str, int] | None:
    """As Symbolizer.kernel; with `calls` of an address that a call returns to."""
    exact = symbolizer.kernel(address)
    if not calls or exact is None or exact[2]:
        return exact
    before = symbolizer.kernel(address - 1)
    if before is None or exact[1].startswith(_INTERRUPTED):
        return exact
    module, symbol, offset = before
    return module, symbol, offset + 1


def are_calls(symbolizer: Symbolizer, process: int, frames: Sequence[int]) -> list[bool]:
    """Of each of a stack's frames, the innermost first, whether it is in a call: all but the first and what a signal
    has interrupted."""
    return [number > 0 and not interrupts(symbolizer, process, frames[number - 1]) for number in range(len(frames))]


def interrupts(symbolizer: Symbolizer, process: int, address: int) -> bool:
    """Whether the handler of a signal returns to this address; functions of Python have none."""
    return python_frame(symbolizer, address) is None and symbolizer.interrupts(process, address)


def python_frame(symbolizer: Symbolizer, address: int) -> PythonFrame | None:
    """The function of Python's that stands in a process's stack in the place of an address, or the remark, None if it
    is one."""
    return (remark_of(address) or symbolizer.python(address)) if address >= FRAME else None
