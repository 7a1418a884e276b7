"""The fast execution: each function of a program becomes a Python function, compiled once."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from sonde.bpf import instructions as i
from sonde.runtime.machine import arithmetic, structure
from sonde.runtime.machine.execution import Helpers, ReadPacket, arity
from sonde.runtime.machine.faults import MAXIMUM_FRAMES, BudgetError, CallError, DepthError
from sonde.runtime.machine.frames import ZEROS, StackFrames
from sonde.runtime.machine.linking import Functions, LinkedProgram, immediate
from sonde.runtime.machine.memory import OFFSET_BITS, MachineMemory
from sonde.runtime.machine.translation.function import TranslatedFunction
from sonde.runtime.machine.translation.refused import Refusals
from sonde.runtime.machine.translation.runs import copier, filler
from sonde.runtime.machine.translation.unit import ByMap, Unit
from sonde.typed import Any

_NO_MAPS: ByMap = {}

_REFUSED = (KeyError, IndexError, struct.error, TypeError)
"""What Python raises for an access outside of memory: no such region, beyond a buffer's end, read-only."""


class Translation:
    """A translated program. `run` is its Python function, `source` the text of all of them."""

    def __init__(self, source: str, run: Callable[..., int], frames: StackFrames, names: dict[str, Any]) -> None:
        self.source = source
        self.run = run
        self.forget = names.clear
        """When it runs no more: its functions and what they name refer to each other."""
        self._frames = frames

    def close(self) -> None:
        """Give the frames back."""
        self._frames.close()


def translate(
    linked: LinkedProgram, memory: MachineMemory, helpers: Helpers, functions: Functions,
    read_packet: ReadPacket | None = None, budget: int | None = None, by_map: ByMap = _NO_MAPS,
) -> Translation:  # fmt: skip
    """An execution of `linked` that does the same as `Interpreter`, with results and arguments that are u64.

    `budget` bounds how often loops go round and functions begin in one run, so that any program ends. `by_map` is what
    to call instead of a helper where the map is known.
    """
    frames = StackFrames(memory)
    names = _names(memory, helpers, functions, frames, read_packet)
    regions = {immediate(linked.code, slot) >> OFFSET_BITS for slot in linked.values}
    unit = Unit(linked.code, helpers, by_map, {number: memory.regions[number] for number in regions}, names)
    source = _source(linked, unit, budget is not None)
    names["fault"] = Refusals(source, memory, unit.fixed).fault
    exec(compile(source, "<bpf>", "exec"), names)
    for handle, slot in linked.functions:
        functions[handle] = names[f"f{slot}"]
    run = names["f0"]
    return Translation(source, run if budget is None else _budgeted(run, names["fuel"], budget), frames, names)


def _names(
    memory: MachineMemory, helpers: Helpers, functions: Functions, frames: StackFrames, read_packet: ReadPacket | None
) -> dict[str, Any]:
    def call_number(number: int, *arguments: int) -> int:
        function = helpers.get(number) or functions.get(number)
        if function is None:
            raise CallError(number)
        return int(function(*arguments[: arity(function)])) & arithmetic.MASKS[64]

    def no_packet(_context: int, _offset: int, _size: int) -> int | None:
        raise CallError(i.LD | i.ABS)

    return {
        "regions": memory.regions, "free": frames.free, "make_frame": frames.make, "zeros": ZEROS, "fuel": [0],
        "Refused": _REFUSED, "BudgetError": BudgetError, "DepthError": DepthError, "CallError": CallError,
        "fill": filler(memory), "copy": copier(memory),
        "calculate": arithmetic.calculate, "swap": arithmetic.swap, "call_number": call_number,
        "read_packet": read_packet or no_packet,
    }  # fmt: skip


def _source(linked: LinkedProgram, unit: Unit, is_budgeted: bool) -> str:
    begins = structure.function_begins(linked.code, [slot for _, slot in linked.functions])
    ends = dict(zip(begins, [*begins[1:], len(linked.code)], strict=True))
    calls = {begin: _called(unit, begin, ends[begin]) for begin in begins}
    order, unit.counts_depth = _callees_first(begins, calls)
    made = []
    for begin in order:
        function = TranslatedFunction(unit, begin, ends[begin])
        if not unit.counts_depth:
            unit.parameters[begin] = function.parameters
        made.append(function)
    return "\n\n".join([function.source(is_budgeted) for function in made]) + "\n"


def _called(unit: Unit, begin: int, end: int) -> set[int]:
    """The functions that a function calls."""
    seconds = structure.second_slots(unit.code)
    return {
        slot + 1 + x.imm for slot, x in enumerate(unit.code[begin:end], begin)
        if slot not in seconds and x.opcode == i.JMP | i.CALL and x.src == i.CALL_LOCAL
    }  # fmt: skip


def _callees_first(begins: list[int], calls: Mapping[int, set[int]]) -> tuple[list[int], bool]:
    """The functions, each behind those it calls, and whether calls can nest deeper than there are frames."""
    heights: dict[int, int] = {}
    waiting = list(begins)
    while waiting:
        ready = [begin for begin in waiting if calls[begin] <= heights.keys()]
        if not ready:
            return begins, True
        for begin in ready:
            heights[begin] = 1 + max((heights[called] for called in calls[begin]), default=0)
        waiting = [begin for begin in waiting if begin not in heights]
    return list(heights), max(heights.values()) > MAXIMUM_FRAMES


def _budgeted(run: Callable[..., int], fuel: list[int], budget: int) -> Callable[..., int]:
    """`run` with a budget that serves the run and all that helpers call back while it runs."""
    is_running = False

    def bounded(*arguments: int) -> int:
        nonlocal is_running
        if is_running:
            return run(*arguments)
        is_running, fuel[0] = True, budget
        try:
            return run(*arguments)
        finally:
            is_running = False

    return bounded
