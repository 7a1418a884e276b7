"""What an execution takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from errno import ENOENT

from sonde.typed import Any

TAIL_CALL = 12
"""The helper whose result is None (the program goes on) or a callable that is the rest of the run."""

NO_TAIL_CALL = -ENOENT & 0xFFFF_FFFF_FFFF_FFFF
"""r0 after a tail call that failed."""

MAXIMUM_LOOPS = 8 << 20
"""How often may_goto instructions of one frame go on before they all jump (BPF_MAX_LOOPS, include/linux/bpf.h)."""

Helpers = Mapping[int, Callable[..., Any]]
"""BPF helpers by number. Each takes exactly as many u64 numbers as it declares parameters and returns any int."""

ReadPacket = Callable[[int, int, int], int | None]
"""(context, offset, size) -> the number at that offset of the packet in network byte order; None if it is not there.
LD_ABS and LD_IND call it with r6 as context; None ends the program with result 0."""


def arity(helper: Callable[..., Any]) -> int:
    """How many arguments to call it with: at most five."""
    code = getattr(helper, "__code__", None)
    if code is not None and not code.co_flags & 0x04:  # CO_VARARGS
        is_method = getattr(helper, "__self__", None) is not None
        return int(code.co_argcount) - is_method
    from inspect import Parameter, signature  # an import that most runs do without

    parameters = signature(helper).parameters.values()
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return 5
    return sum(
        parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for parameter in parameters
    )
