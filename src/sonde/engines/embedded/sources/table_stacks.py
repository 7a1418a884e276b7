"""The stack of the thread whose registers are in the buffer, by unwinding tables: what recordings keep of it, since a
replay has neither the tables of programs nor the memory that a walk by frame pointers did not look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.arch import pages, registers
from sonde.engines.embedded.sources.images import ImageEvents, Walk
from sonde.engines.embedded.sources.task import TracedTask
from sonde.symbols.objects import Objects
from sonde.symbols.unwinding.code_rules import CodeRules
from sonde.symbols.unwinding.stack_walk import CodeRule, walk

_WORD = 8


def table_walker(
    taken: bytearray, read: Callable[[int, int, int], bytes], images: ImageEvents,
    task: Callable[[int], TracedTask | None],
) -> Walk:  # fmt: skip
    """A function (thread, depth) -> addresses, and a remark where a walk ends early. `read` (thread, address, size)
    raises OSError; `taken` are the registers."""
    rules = CodeRules(Objects())

    def walked(tid: int, depth: int) -> Sequence[int]:
        found = task(tid)
        if found is None:
            return ()
        process, known = found.process, _Words(tid, read)

        def code(address: int) -> CodeRule:
            images.require(process, (address,))
            return rules.at(process.pid, images.mapping(process.pid, address), address)

        return walk(bytes(taken[: registers.SIZE]), known.word, code)[:depth]

    return walked


class _Words:
    """Memory of a process, a page at a time where all of it can be read."""

    def __init__(self, tid: int, read: Callable[[int, int, int], bytes]) -> None:
        self._tid, self._read = tid, read
        self._pages: dict[int, bytes] = {}

    def word(self, address: int) -> int | None:
        at = address % pages.PAGE
        page = self._page(address - at)
        try:
            whole = at + _WORD <= len(page)
            data = page[at : at + _WORD] if whole else self._read(self._tid, address, _WORD)
        except (OSError, OverflowError):
            return None
        return int.from_bytes(data, "little")

    def _page(self, start: int) -> bytes:
        """b"" where a part of it cannot be read, as below the stack pointer of a sample."""
        found = self._pages.get(start)
        if found is None:
            try:
                found = self._read(self._tid, start, pages.PAGE)
            except (OSError, OverflowError):
                found = b""
            self._pages[start] = found
        return found
