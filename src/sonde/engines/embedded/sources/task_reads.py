"""Which programs look at the thread that fires them: its name, its identity, its structures.

What /proc tells of a thread changes when it executes another program, so for these it is read there, while the thread
is held. A program that passes the current task on, as the key of its thread-local variables, does not look at it.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction, decode
from sonde.bpf.programs import TRACING
from sonde.engines.embedded.sources.registers import FRAME, State, after, following
from sonde.model.spec import ProgramSpec

_CURRENT = NUMBERS["get_current_task_btf"]

_UNCONCERNED = frozenset(
    NUMBERS[name]
    for name in (
        "map_lookup_elem", "map_update_elem", "map_delete_elem", "map_push_elem", "map_pop_elem", "map_peek_elem",
        "for_each_map_elem", "task_storage_get", "task_storage_delete", "task_pt_regs", "ktime_get_ns",
        "ktime_get_boot_ns", "ktime_get_tai_ns", "get_smp_processor_id", "get_prandom_u32", "get_current_pid_tgid",
        "get_current_task_btf", "get_attach_cookie", "ringbuf_output", "ringbuf_reserve", "ringbuf_submit",
        "ringbuf_discard", "ringbuf_query", "perf_event_output", "perf_event_reserve", "perf_event_commit",
        "probe_read_user", "probe_read_user_str",
        "copy_from_user", "loop", "spin_lock", "spin_unlock", "strncmp", "strtol", "strtoul", "open_file", "path_text",
        "cpu_time", "tail_call", "probe_name",
    )
)  # fmt: skip
"""Helpers that say nothing of the thread but its number, and read at most its own memory."""


def looks_at_task(program: ProgramSpec) -> bool:
    """An answer on the safe side."""
    if program.kind == TRACING:
        # Its arguments are structures of the kernel.
        return True
    code = decode(program.code)
    if any(x.opcode == i.JMP | i.CALL and x.src == i.CALL_HELPER and x.imm not in _UNCONCERNED for x in code):
        return True
    if any(x.opcode == i.JMP | i.CALL and x.src == i.CALL_KFUNC for x in code):
        return True
    return any(_is_read(code, slot) for slot, x in enumerate(code) if _gives(x))


def _gives(x: Instruction) -> bool:
    return x.opcode == i.JMP | i.CALL and x.src == i.CALL_HELPER and x.imm == _CURRENT


def _is_read(code: list[Instruction], slot: int) -> bool:
    """Whether the pointer that the call at the slot returns may be read from, or be where it is not followed to."""
    pending: list[tuple[int, State]] = [(slot + 1, frozenset((i.R0,)))]
    seen: dict[int, State] = {}
    while pending:
        slot, state = pending.pop()
        state |= seen.get(slot, frozenset())
        if slot >= len(code) or state == seen.get(slot):
            continue
        seen[slot] = state
        x = code[slot]
        if _reads(x, state):
            return True
        behind = after(x, state, _gives)
        if behind:
            pending += [(place, behind) for place in following(x, slot)]
    return False


def _reads(x: Instruction, state: State) -> bool:
    kind = x.opcode & 7
    if kind == i.LDX:
        return x.src in state and x.src != FRAME
    if kind == i.STX:
        return x.src in state and x.dst != FRAME
    if kind in (i.ALU, i.ALU64):
        is_move = x.opcode == i.ALU64 | i.MOV | i.X
        return not is_move and (x.dst in state or bool(x.opcode & i.X and x.src in state))
    return x.opcode == i.JMP | i.CALL and x.src == i.CALL_LOCAL and bool(state & frozenset(range(1, 6)))
