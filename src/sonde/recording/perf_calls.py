"""Samples of system calls' trace events as firings of `syscall:::` probes: registers made of what the record has."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.arch import call_registers, registers
from sonde.arch.call_numbers import declared
from sonde.formats.perf_filed_samples import FiledSample
from sonde.formats.perf_tracing_data import DescribedEvent
from sonde.model.probe import Probe, Syscall
from sonde.recording.perf_fields import fields_of
from sonde.typed import NamedTuple

ONE, ALL = "syscalls", "raw_syscalls"
_MODULE, _ENTRY, _RETURN = "vmlinux", "entry", "return"

_NUMBERS = ("__syscall_nr", "nr", "id")
_ARGUMENTS = 6
_WORD = 8


class CallEvent(NamedTuple):
    """A trace event of system calls: of calls' returns or their entries; of the call `name`, or, "", of all. In the
    record stand the call's number, at an offset and of a size, and words: the result or the arguments."""

    is_return: bool
    name: str
    number_at: int
    number_size: int
    words: tuple[int, ...]

    @property
    def tracepoint(self) -> str:
        return "sys_exit" if self.is_return else "sys_enter"

    def number(self, sample: FiledSample) -> int:
        """Of the call."""
        at = self.number_at
        return int.from_bytes(sample.raw[at : at + self.number_size], "little")

    def last(self, sample: FiledSample) -> int:
        """What the tracepoint has besides registers: the number, or the result."""
        if not self.is_return:
            return self.number(sample)
        at = self.words[0]
        return int.from_bytes(sample.raw[at : at + _WORD], "little")

    def registers(self, sample: FiledSample) -> bytes:
        """The struct pt_regs of the thread, as far as the sample tells: the number, the arguments or the result, and
        where the process is if its stack was kept."""
        values = [int.from_bytes(sample.raw[at : at + _WORD], "little") for at in self.words]
        found = bytearray(registers.SIZE)
        counter = sample.user_stack[0] if sample.user_stack else 0
        if self.is_return:
            call_registers.leaving(found)(counter, 0, self.number(sample), values[0])
        else:
            a, b, c, d, e, f = [*values, *[0] * _ARGUMENTS][:_ARGUMENTS]
            call_registers.entering(found)(counter, 0, self.number(sample), a, b, c, d, e, f)
        return bytes(found)

    def probes(self) -> Iterator[tuple[int, Probe]]:
        """Those that its samples are firings of, each with the number of its call."""
        for name, call in declared().items():
            if self.name in ("", name):
                side = _RETURN if self.is_return else _ENTRY
                firing = Syscall(call.number, name, self.is_return)
                yield call.number, Probe(0, "syscall", _MODULE, name, side, firing)


def call_event(described: DescribedEvent) -> CallEvent | None:
    """How an event is read that is one of system calls, None for another."""
    side, _, name = described.name.removeprefix("sys_").partition("_")
    if described.group not in (ONE, ALL) or side not in ("enter", "exit") or bool(name) != (described.group == ONE):
        return None
    fields = fields_of(described.format)
    place = next((place for place, field in enumerate(fields) if field.name in _NUMBERS), None)
    if place is None or fields[place].size not in (4, 8):
        return None
    number = fields[place]
    most = 1 if side == "exit" else _ARGUMENTS
    words = [
        field.offset + n
        for field in fields[place + 1 :]
        if not field.size % _WORD
        for n in range(0, min(field.size, _WORD * _ARGUMENTS), _WORD)
    ]
    if side == "exit" and not words:
        return None
    return CallEvent(side == "exit", name, number.offset, number.size, tuple(words[:most]))
