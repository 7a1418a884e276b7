"""Stacks of the current task (kernel/bpf/stackmap.c). There is no kernel whose stack could be seen: it is empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from errno import EFAULT, EINVAL, EOPNOTSUPP
from struct import pack

from sonde.runtime.environment import Environment
from sonde.runtime.maps.stack_trace import FAST_COMPARE, REUSE, StackTraceMap

_SKIP = 0xFF
_USER = 1 << 8
_SIZE = 0xFFFF_FFFF

_DEEPEST = 127
"""The default of sysctl kernel.perf_event_max_stack."""


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    maps, memory = environment.table.maps, environment.memory

    def frames(depth: int, flags: int) -> Sequence[int] | None:
        """At most `depth` addresses behind those to be skipped; None where there are fewer than those."""
        skip = flags & _SKIP
        deepest = min(depth + skip, _DEEPEST)
        stack = environment.task.user_stack(deepest)[:deepest] if flags & _USER else ()
        return stack[skip:] if len(stack) >= skip else None

    def put_walked(destination: int, size: int, flags: int) -> int:
        # Build ids would be flag 1 << 11.
        result, stack = -EINVAL, None
        if not flags & ~(_SKIP | _USER) and not size % 8:
            stack = frames(size // 8, flags)
            result = -EFAULT if stack is None else 8 * len(stack)
        data = b"" if stack is None else pack(f"={len(stack)}Q", *stack)
        memory.write(destination, data.ljust(size, b"\0"))
        return result

    recorded = environment.recorded

    def put_recorded(destination: int, size: int, flags: int) -> int:
        assert recorded is not None
        stack = recorded.stack(bool(flags & _USER))
        if stack is not None and recorded.has_raw_stacks:
            stack = stack[flags & _SKIP :]
        data = b"" if stack is None else pack(f"={len(stack)}Q", *stack)[:size]
        memory.write(destination, data.ljust(size, b"\0"))
        return -EFAULT if stack is None else len(data)

    put = put_walked if recorded is None else put_recorded

    def get_stack(context: int, destination: int, size: int, flags: int) -> int:
        return put(destination, size & _SIZE, flags)

    def get_task_stack(task: int, destination: int, size: int, flags: int) -> int:
        size &= _SIZE
        if task != environment.task.address and flags & _USER:
            memory.write(destination, bytes(size))
            return -EOPNOTSUPP
        return put(destination, size, flags)

    def get_stackid(context: int, handle: int, flags: int) -> int:
        if flags & ~(_SKIP | _USER | FAST_COMPARE | REUSE):
            return -EINVAL
        found = maps[handle]
        assert isinstance(found, StackTraceMap)
        stack = frames(found.spec.value_size // 8, flags)
        return found.add(stack, flags) if stack else -EFAULT

    return {"get_stack": get_stack, "get_stackid": get_stackid, "get_task_stack": get_task_stack}
