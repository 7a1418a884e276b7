"""Names of callers: a frame's address is where its call returns to, which may be another function where the call is a
function's last instruction, of one that never returns. So the byte before is looked up, unless the address is where
the code was interrupted."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.python_frames import FRAME, PythonFrame
from sonde.model.stack_remarks import remark_of
from sonde.report.symbolizer import Symbolizer
from sonde.typed import NamedTuple

_INTERRUPTED = ("asm_", "entry_", "error_", "ret_from_")
"""What the kernel's functions are called to which nothing returns: behind them comes what was interrupted, and threads
begin in them."""


class NamedPlace(NamedTuple):
    """The path of an object, the function in it, "" if it has none there, and the offset from the function's start, or
    else the object's. `is_made`: the function has no symbol, and is called by its object and its start in that."""

    path: str
    function: str
    offset: int
    is_made: bool = False

    @property
    def module(self) -> str:
        return self.path.rpartition("/")[2]


def user_place(symbolizer: Symbolizer, process: int, address: int, calls: bool) -> NamedPlace | None:
    """Where an address of a process is; with `calls` one that a call returns to."""
    exact = symbolizer.user(process, address)
    if not calls or (exact is not None and exact[1] is not None and exact[2]):
        # Only at a symbol's first byte is the byte before another symbol's.
        return _place(symbolizer, process, address, exact, 0)
    before = None if interrupts(symbolizer, process, address) else symbolizer.user(process, address - 1)
    return _place(symbolizer, process, address, exact if before is None else before, 0 if before is None else 1)


def _place(
    symbolizer: Symbolizer, process: int, address: int, found: tuple[str, str | None, int] | None, behind: int
) -> NamedPlace | None:
    """Of what is known of so many bytes before an address."""
    if found is None:
        return None
    path, symbol, offset = found
    if symbol is not None:
        return NamedPlace(path, symbol, offset + behind)
    start = symbolizer.start(process, address - behind)
    if start is None:
        return NamedPlace(path, "", offset + behind)
    return NamedPlace(path, f"{path.rpartition('/')[2]}+{start:#x}", offset + behind - start, True)


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
