"""The stacks of an object's stack maps, with names.

A stack map says of no stack whose it is. The keys or values of other maps do that have a member for the number of a
stack, called like one (`user_stack_id`), next to one for a process (`tgid`, `pid`, or both in `pid_tgid`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sonde.model.records import TypeSpec
from sonde.report.stack import Addresses
from sonde.typed import NamedTuple

_PROCESSES = ("tgid", "pid_tgid", "tgid_pid", "pid")
"""The best first."""
_BOTH = 8
"""Bytes of a process and a thread in one number, the process in the higher half."""
_KERNEL = 1 << 63
_DEEPEST = 4


class _Number(NamedTuple):
    """A member that is a number, by its offset in bytes."""

    name: str
    offset: int
    size: int


class Stacks:
    """Learns whose stacks are, and shows them; those of nobody known are taken for `process`'s."""

    def __init__(self, types: Sequence[TypeSpec], addresses: Addresses, process: int) -> None:
        self._types = types
        self._addresses = addresses
        self._process = process
        self._processes: dict[int, dict[int, None]] = {}
        self._layouts: dict[int, tuple[_Number | None, list[_Number]]] = {}

    def learn(self, kind: int | None, data: bytes) -> None:
        """What a key or value of that type tells."""
        if kind is None or self._types[kind].kind != "struct":
            return
        if kind not in self._layouts:
            self._layouts[kind] = _layout(list(self._numbers(kind, 0, 0)))
        process, stacks = self._layouts[kind]
        if process is None:
            return
        pid = _value(data, process) >> (32 if process.size == _BOTH else 0)
        for each in stacks:
            self._processes.setdefault(_value(data, each), {})[pid] = None

    def text(self, identifier: int, stack: bytes) -> bytes:
        """The stack's processes, if it is of any, and a line for each frame."""
        frames = [each for (each,) in struct.iter_unpack("=Q", stack[: len(stack) & ~7])]
        while frames and not frames[-1]:
            frames.pop()
        pids = [each for each in self._processes.get(identifier, {}) if each] or [self._process] * (self._process > 0)
        owner = b""
        if pids and any(each < _KERNEL for each in frames):
            more = b" and %d more" % (len(pids) - 1) if len(pids) > 1 else b""
            owner = b" process %d%b" % (pids[0], more)
        return owner + b"".join(b"\n    " + self._frame(pids, each) for each in frames) + b"\n"

    def _frame(self, pids: Sequence[int], address: int) -> bytes:
        if address >= _KERNEL:
            return self._addresses.kernel(address)
        return self._addresses.user((pids[0], address)) if pids else b"0x%x" % address

    def _numbers(self, kind: int, offset: int, depth: int) -> Iterator[_Number]:
        for each in self._types[kind].members if depth < _DEEPEST else ():
            at, spec = offset + each.offset // 8, self._types[each.type]
            if spec.kind == "struct":
                yield from self._numbers(each.type, at, depth + 1)
            elif spec.kind == "integer" and not each.bits:
                yield _Number(each.name, at, spec.size)


def _layout(numbers: Sequence[_Number]) -> tuple[_Number | None, list[_Number]]:
    """Which of the numbers is the process's, and which are those of stacks."""
    by_name = {each.name: each for each in reversed(numbers)}
    process = next((by_name[each] for each in _PROCESSES if each in by_name), None)
    return process, [each for each in numbers if "stack" in each.name and each.size in (4, 8)]


def _value(data: bytes, number: _Number) -> int:
    return int.from_bytes(data[number.offset : number.offset + number.size], "little")
