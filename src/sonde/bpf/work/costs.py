"""What calls of the kernel cost, in steps: a step is what an instruction takes, a quarter of a nanosecond to one."""

from __future__ import annotations

from sonde.bpf.helpers import NAMES
from sonde.bpf.work.numbers import Known
from sonde.typed import NamedTuple

MOST_PLAIN = 1_000_000
"""Instructions that a path of a program can have between two of its iterators' turns: verifiers follow each turn of
other loops, and give up behind so many (BPF_COMPLEXITY_LIMIT_INSNS, include/linux/bpf_verifier.h)."""

MOST_TURNS = 1 << 23
"""Of bpf_loop, of iterators of numbers, and of may_goto (BPF_MAX_LOOPS, include/linux/bpf.h)."""

MOST_TASKS = 1 << 22
"""Elements of iterators over tasks, control groups and the like (PID_MAX_LIMIT, include/linux/threads.h)."""

MOST_BITS = 511 * 64
"""Of an iterator over bits (BITS_ITER_NR_WORDS_MAX, kernel/bpf/helpers.c)."""

MOST_SAMPLES = 128 * 1024
"""That bpf_user_ringbuf_drain takes (BPF_MAX_USER_RINGBUF_SAMPLES, kernel/bpf/ringbuf.c)."""

MOST_COMPARED = 128
"""Elements of a red-black tree that an insertion compares with: twice the bits of their number."""

MOST_TAIL_CALLS = 33
"""Of a firing (MAX_TAIL_CALL_CNT, include/linux/bpf.h)."""

TURN = 16
"""Of a function that a helper calls back, besides what it does."""

METER = 24
"""Of what counts a turn where the program's turns are metered."""

_CALL = 64
_LOOKUP = 64
_TEXT = 1024
_STACK = 1 << 15
_LONG = 65536 // 2

_STEPS = {
    "get_current_comm": 2 * _LOOKUP,
    "map_update_elem": 4 * _LOOKUP, "map_delete_elem": 2 * _LOOKUP, "map_lookup_elem": _LOOKUP,
    "map_push_elem": _LOOKUP, "map_pop_elem": _LOOKUP, "map_peek_elem": _LOOKUP, "task_storage_get": 4 * _LOOKUP,
    "ringbuf_output": 4 * _LOOKUP, "ringbuf_reserve": 2 * _LOOKUP, "perf_event_output": 8 * _LOOKUP,
    "probe_read_user": 2 * _LOOKUP, "probe_read_kernel": _LOOKUP, "probe_read": 2 * _LOOKUP,
    "probe_read_str": 2 * _LOOKUP, "probe_read_user_str": 2 * _LOOKUP, "probe_read_kernel_str": 2 * _LOOKUP,
    "trace_printk": 4 * _TEXT, "trace_vprintk": 4 * _TEXT, "snprintf": _TEXT, "seq_printf": _TEXT,
    "snprintf_btf": 16 * _TEXT, "seq_printf_btf": 16 * _TEXT, "d_path": 16 * _TEXT,
    "get_stack": _STACK, "get_stackid": _STACK, "get_task_stack": _STACK, "find_vma": _TEXT,
    "send_signal": _STACK, "send_signal_thread": _STACK, "btf_find_by_name_kind": 64 * _LONG,
    "kallsyms_lookup_name": 64 * _LONG, "ima_inode_hash": 64 * _LONG, "ima_file_hash": 64 * _LONG,
}  # fmt: skip
"""Of helpers, without the bytes that they copy; `bench/firing_steps.py` measures."""

_BYTES_A_STEP = 8
"""That the slowest of them copies."""


class Factor(NamedTuple):
    """Turns of a loop, and the instruction at which they begin."""

    turns: int
    at: int


class Cost(NamedTuple):
    """Of a path up to some place: `plain` instructions since the path began or an iterator took its last turn, and all
    `other` steps. `largest` are the most steps that one loop among them takes, `factors` its turns, and those of the
    loop in it that takes the most, and so on."""

    plain: int
    other: int
    largest: int = 0
    factors: tuple[Factor, ...] = ()

    @property
    def steps(self) -> int:
        return min(self.plain, MOST_PLAIN) + self.other

    def settled(self) -> Cost:
        """The same where an iterator takes a turn."""
        return self._replace(plain=0, other=self.steps)

    def with_loop(self, steps: int, factors: tuple[Factor, ...]) -> Cost:
        """And such a loop."""
        largest = (steps, factors) if steps > self.largest else (self.largest, self.factors)
        return Cost(self.plain, self.other + steps, *largest)


NONE = Cost(0, 0)


def larger(a: Cost, b: Cost) -> Cost:
    """At least what either is."""
    more = a if a.largest >= b.largest else b
    return Cost(max(a.plain, b.plain), max(a.other, b.other), more.largest, more.factors)


def helper_steps(number: int, sizes: list[Known], map_bytes: int, most: int) -> int:
    """Of a helper's call with these sizes of memory, for a map whose keys and values have so many bytes together;
    `most` is the largest memory that there is."""
    name = NAMES[number] if 0 <= number < len(NAMES) else ""
    copied = map_bytes + sum(min(size.high, most) if size.is_number else most for size in sizes)
    return _STEPS.get(name, _CALL) + copied // _BYTES_A_STEP


def function_steps(name: str) -> int:
    """Of a call of the kernel's function of that name, "" if that is not known; those for strings go through as many
    characters as an extended attribute can have (XATTR_SIZE_MAX)."""
    if name.startswith(("bpf_str", "bpf_copy_from_user", "bpf_probe_read", "bpf_dynptr_copy", "bpf_dynptr_memset")):
        return _LONG
    if name.startswith(("bpf_iter_num_", "bpf_iter_bits_")):
        return _CALL // 4
    return _TEXT if name.startswith(("bpf_path_d_path", "bpf_get_", "bpf_task_from")) else 4 * _LOOKUP
