"""Samples of an event of a perf.data file, whatever it asked for of them (PERF_RECORD_SAMPLE,
include/uapi/linux/perf_event.h)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sonde.formats import perf_events as perf
from sonde.formats.perf_data import Event
from sonde.typed import NamedTuple

_WORD, _HALF = struct.Struct("=Q"), struct.Struct("=I")
_CONTEXT_KERNEL, _CONTEXT_USER = (1 << 64) - 128, (1 << 64) - 512
"""PERF_CONTEXT_*: the words behind one are addresses of the kernel, or of the process."""

_ENABLED, _RUNNING, _OF_ID, _GROUP, _LOST = 1, 2, 4, 8, 16
"""PERF_FORMAT_*."""
_HARDWARE_INDEX = 1 << 17
"""PERF_SAMPLE_BRANCH_HW_INDEX."""
_BRANCH = 24
"""Bytes of struct perf_branch_entry."""


class FiledSample(NamedTuple):
    """A sample: PERF_RECORD_MISC_* of the CPU (`mode`); when, of which thread, where; the addresses of the kernel's
    stack and of the process's, the innermost first; the raw data; the user's registers by the bits of
    attr.sample_regs_user, and whether they are those of a process of 32 bits; the bytes from its stack pointer on, and
    for how many there was room. What the event did not ask for is 0 or empty, `cpu` -1, a stack None."""

    mode: int
    time: int
    pid: int
    tid: int
    cpu: int
    ip: int
    address: int
    period: int
    kernel_stack: Sequence[int] | None
    user_stack: Sequence[int] | None
    raw: memoryview
    registers: tuple[int, ...]
    is_32_bit: bool
    stack: memoryview
    stack_room: int


_MODES = 7
"""PERF_RECORD_MISC_CPUMODE_MASK."""
_ABI_32 = 1
"""PERF_SAMPLE_REGS_ABI_32."""
_ANYBODY = 0
_NO_CPU = -1
_NOTHING = memoryview(b"")


class SampleForm:
    """How samples of an event are read."""

    def __init__(self, event: Event) -> None:
        kind = event.sample_type
        self._kind = kind
        codes, self._places = "=", dict[str, int]()
        for bit, names, code in perf.FIXED_FIELDS:
            if kind & bit:
                self._places |= {name: len(self._places) + n for n, name in enumerate(names.split())}
                codes += code
        self._fixed = struct.Struct(codes)
        before = perf.SAMPLE_IDENTIFIER | perf.SAMPLE_IP | perf.SAMPLE_TID
        self._time_at = 8 * (kind & before).bit_count() if kind & perf.SAMPLE_TIME else -1
        self._read_format = event.read_format
        self._has_index = bool(event.branch_sample_type & _HARDWARE_INDEX)
        self._registers = event.sample_regs_user.bit_count()

    def time(self, body: memoryview) -> int:
        """When it was taken, 0 where that is not told. Raises struct.error."""
        return int(_WORD.unpack_from(body, self._time_at)[0]) if self._time_at >= 0 else 0

    def decode(self, misc: int, body: memoryview) -> FiledSample:
        """The sample behind a record's header, which has these bits. Raises struct.error where it is too short."""
        fixed, places = self._fixed.unpack_from(body), self._places
        at = self._fixed.size
        if self._kind & perf.SAMPLE_READ:
            at = self._behind_counts(body, at)
        kernel: Sequence[int] | None = None
        user: Sequence[int] | None = None
        raw = _NOTHING
        if self._kind & perf.SAMPLE_CALLCHAIN:
            (count,) = _WORD.unpack_from(body, at)
            _require(body, at + 8, 8 * count)
            kernel, user = _stacks(body[at + 8 : at + 8 + 8 * count].cast("Q").tolist())
            at += 8 + 8 * count
        if self._kind & perf.SAMPLE_RAW:
            (size,) = _HALF.unpack_from(body, at)
            _require(body, at + 4, size)
            raw = body[at + 4 : at + 4 + size]
            at += 4 + size
        if self._kind & perf.SAMPLE_BRANCH_STACK:
            at = self._behind_branches(body, at)
        abi, registers, stack, room = 0, (), _NOTHING, 0
        if self._kind & perf.SAMPLE_REGS_USER:
            (abi,) = _WORD.unpack_from(body, at)
            registers = struct.unpack_from(f"={self._registers}Q", body, at + 8) if abi else ()
            at += 8 + 8 * len(registers)
        if self._kind & perf.SAMPLE_STACK_USER:
            stack, room = _stack(body, at)

        def field(name: str, missing: int = _ANYBODY) -> int:
            return int(fixed[places[name]]) if name in places else missing

        return FiledSample(
            misc & _MODES, field("time"), field("pid"), field("tid"), field("cpu", _NO_CPU), field("ip"), field("addr"),
            field("period"), kernel, user, raw, registers, abi == _ABI_32, stack, room,
        )  # fmt: skip

    def _behind_counts(self, body: memoryview, at: int) -> int:
        """Where PERF_SAMPLE_READ ends."""
        form = self._read_format
        each = 8 * (1 + bool(form & _OF_ID) + bool(form & _LOST))
        times = 8 * (bool(form & _ENABLED) + bool(form & _RUNNING))
        if not form & _GROUP:
            return at + each + times
        (count,) = _WORD.unpack_from(body, at)
        _require(body, at + 8 + times, each * count)
        return at + 8 + times + each * int(count)

    def _behind_branches(self, body: memoryview, at: int) -> int:
        """Where PERF_SAMPLE_BRANCH_STACK ends."""
        (count,) = _WORD.unpack_from(body, at)
        _require(body, at + 8, _BRANCH * count)
        return at + 8 + 8 * self._has_index + _BRANCH * int(count)


def _stack(body: memoryview, at: int) -> tuple[memoryview, int]:
    """What PERF_SAMPLE_STACK_USER has: the bytes, and their room, behind which stands how much of it was filled."""
    (room,) = _WORD.unpack_from(body, at)
    if not room:
        return _NOTHING, 0
    _require(body, at + 8, room)
    (copied,) = _WORD.unpack_from(body, at + 8 + int(room))
    return body[at + 8 : at + 8 + min(copied, room)], int(room)


def _require(body: memoryview, at: int, size: int) -> None:
    if size > len(body) - at:
        raise struct.error("a sample that is shorter than its fields")


def _stacks(words: list[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The kernel's and the user's part of a call chain."""
    kernel: list[int] = []
    user: list[int] = []
    taken: list[int] | None = None
    for word in words:
        if word < perf.CONTEXT_MAX:
            if taken is not None:
                taken.append(word)
        else:
            taken = kernel if word == _CONTEXT_KERNEL else user if word == _CONTEXT_USER else None
    return kernel, user
