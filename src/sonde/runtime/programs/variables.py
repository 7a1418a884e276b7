"""Fetching variables at a probe's place: small programs of steps as data (spec.Fetch), made ready when the probe is
attached and run only when the program asks."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence

from sonde.arch import address_space, pages, registers
from sonde.model.errors import EngineError
from sonde.model.spec import Fetch, FetchStep
from sonde.runtime.environment import Task

_MASK = (1 << 64) - 1
_PAGE = pages.PAGE
_LARGEST = 1 << 16
"""More bytes than any program has memory for."""


class ProbeVariables:
    """The variables of one probe; `size` is how many bytes of buffer they need. Raises EngineError for what is none."""

    def __init__(self, fetches: Sequence[Fetch], addresses: address_space.AddressSpace | None = None) -> None:
        self._user_end = (addresses or address_space.own_address_space()).user_end
        self._fetches = tuple(sorted(fetches))
        self.size = _checked_size(self._fetches)

    def fetch(self, task: Task, registers: Callable[[], memoryview], buffer: memoryview) -> int:
        """Fill the whole buffer: 0, or -errno of the first variable that could not be fetched, which is zeros."""
        buffer[:] = bytes(len(buffer))
        result = 0
        saved = registers() if any(_needs_registers(each) for each in self._fetches) else None
        for each in self._fetches:
            try:
                data = _fetched(each, task, saved, self._user_end)
            except OSError as error:
                result = result or -(error.errno or errno.EFAULT)
            else:
                buffer[each.offset : each.offset + len(data)] = data
        return result


def _needs_registers(fetch: Fetch) -> bool:
    return any(step.operation == "register" for step in fetch.steps)


def _fetched(fetch: Fetch, task: Task, registers: memoryview | None, end: int) -> bytes:
    """At most as many bytes as the variable has; processes have memory below `end`. Raises OSError."""
    number = 0
    for step in fetch.steps:
        match step.operation:
            case "register":
                assert registers is not None
                number = int.from_bytes(registers[step.operand : step.operand + 8], "little")
            case "constant":
                number = step.operand & _MASK
            case "offset":
                number = number + step.operand & _MASK
            case "dereference":
                number = int.from_bytes(_read(task, number, step.operand, end), "little")
            case "shift":
                number >>= step.operand
            case "extend":
                sign = 1 << 8 * step.operand - 1
                number = ((number & 2 * sign - 1 ^ sign) - sign) & _MASK
    if fetch.kind == "memory":
        return _read(task, number, fetch.size, end)
    if fetch.kind == "string":
        return _string(task, number, fetch.size, end)
    return number.to_bytes(8, "little")[: fetch.size]


def _read(task: Task, address: int, size: int, end: int) -> bytes:
    if address + size > end:
        raise OSError(errno.EFAULT, "not an address of a process")
    return task.read_memory(address, size)


def _string(task: Task, address: int, size: int, user_end: int) -> bytes:
    """Characters up to a NUL, which is not among them, at most `size` - 1."""
    text = b""
    # Within a page all can be read, or nothing.
    while len(text) < size:
        at = address + len(text)
        more = _read(task, at, min(size - len(text), _PAGE - at % _PAGE), user_end)
        end = more.find(0)
        if end >= 0:
            return text + more[:end]
        text += more
    return text[:-1]


_OPERANDS: dict[str, Callable[[int], bool]] = {
    "register": lambda operand: 0 <= operand <= registers.SIZE - 8 and operand % 8 == 0,
    "constant": lambda operand: 0 <= operand <= _MASK,
    "offset": lambda operand: -(1 << 63) <= operand < 1 << 63,
    "dereference": lambda operand: operand in (1, 2, 4, 8),
    "shift": lambda operand: operand in range(8, 64, 8),
    "extend": lambda operand: operand in (1, 2, 4),
}
"""Which operands each operation may have."""

_SIZES: dict[str, Callable[[int], bool]] = {
    "value": lambda size: size in (1, 2, 4, 8),
    "memory": lambda size: 0 < size <= _LARGEST,
    "string": lambda size: 0 < size <= _LARGEST,
}


def _checked_size(fetches: Sequence[Fetch]) -> int:
    """The end of the last one. `fetches` are in the order of their places."""
    end = 0
    for each in fetches:
        if each.kind not in _SIZES or not _SIZES[each.kind](each.size):
            raise EngineError(f"a variable cannot be a {each.kind} of {each.size} bytes")
        if not end <= each.offset <= _LARGEST:
            raise EngineError(f"a variable cannot be at {each.offset} of the buffer: another one is there")
        for step in each.steps:
            _check_step(step)
        end = each.offset + each.size
    return end


def _check_step(step: FetchStep) -> None:
    if step.operation not in _OPERANDS or not _OPERANDS[step.operation](step.operand):
        raise EngineError(f"a variable cannot be fetched by {step.operation} {step.operand}")
