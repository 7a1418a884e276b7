"""What a recording of `--record-reads` keeps of a process's memory besides what programs read there: strings behind
arguments, and the top of the stack, from which stacks are completed where a function begins."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sonde.arch import registers
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.fired import MemoryRead
from sonde.model.firing_record import TEXT, TEXT_ARGUMENTS
from sonde.model.probe import Firing, StaticArgument, Syscall, Uprobe
from sonde.model.static_values import address_of, computed, is_in_registers
from sonde.runtime.helpers.user_memory import user_string
from sonde.runtime.kernel_types import layout
from sonde.runtime.machine.memory import MachineMemory

_LOWEST = 1 << 16
"""There is nothing below in usual processes (vm.mmap_min_addr)."""

_WORD = 8
_POINTER = struct.Struct("=Q")
_MM = layout("struct mm_struct")
_MM_POINTER = layout("struct task_struct").offsets["mm"]
_TOP = 256
"""Bytes of a stack."""


def behind_arguments(firing: Firing, task: TracedTask, found: bytearray, user_end: int) -> Iterator[MemoryRead]:
    """Of a thread that stands where the probe fires, with these registers; processes have memory below `user_end`."""
    places: tuple[int, ...] = ()
    if isinstance(firing, Syscall) and not firing.is_return:
        places = registers.CALL_ARGUMENTS
    elif isinstance(firing, Uprobe):
        yield from _top(task, _register(found, registers.STACK_POINTER))
        places = registers.ARGUMENTS if firing.kind == "entry" else ()
    for place in places[:TEXT_ARGUMENTS]:
        yield from _string(task, _register(found, place), user_end)


def command_line(task: TracedTask, memory: MachineMemory) -> Iterator[MemoryRead]:
    """The beginning of the process's arguments, and how many there are."""
    (structure,) = _POINTER.unpack(memory.read(task.address + _MM_POINTER, _WORD))
    start, end, stack = (
        _POINTER.unpack(memory.read(structure + _MM.offsets[name], _WORD))[0]
        for name in ("arg_start", "arg_end", "start_stack")
    )
    for address, size in ((start, min(end - start, TEXT)), (stack, _WORD)):
        if address and size > 0:
            try:
                yield MemoryRead(address, task.read_memory(address, size))
            except OSError:
                continue


def behind_static(
    arguments: Sequence[StaticArgument], task: TracedTask, found: bytearray, user_end: int
) -> Iterator[MemoryRead]:
    """The same of the arguments of a static probe, and those that are in memory."""

    def register(number: int) -> int:
        return _register(found, registers.BY_DWARF_NUMBER[number])

    for each in arguments[:TEXT_ARGUMENTS]:
        place = None if each.value is None else address_of(each.value)
        if place is not None:
            address = computed(place, register)
            try:
                data = task.read_memory(address, each.size)
            except OSError:
                continue
            yield MemoryRead(address, data)
            word = int.from_bytes(data, "little")
        elif each.value is not None and is_in_registers(each.value):
            word = computed(each.value, register)
        else:
            continue
        if each.size == _WORD:
            yield from _string(task, word, user_end)


def _string(task: TracedTask, address: int, user_end: int) -> Iterator[MemoryRead]:
    text = user_string(task, address, TEXT, user_end) if _LOWEST <= address < user_end else None
    if text is not None:
        yield MemoryRead(address, text[0][: text[1] - 1], True)


def _register(found: bytearray, place: int) -> int:
    return int.from_bytes(found[place : place + 8], "little")


def _top(task: TracedTask, address: int) -> Iterator[MemoryRead]:
    for size in (_TOP, 8):
        try:
            yield MemoryRead(address, task.read_memory(address, size))
        except OSError:
            continue
        return
