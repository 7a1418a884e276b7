"""Which program type may be called from which by tail call, and how the caller's context is converted.

Every type may be called from itself, as in the kernel, with the context as it is. The type PROBE may be called from all
that can say what happened in terms of registers and arguments: so clauses compiled once run from any kind of probe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sonde.bpf import programs
from sonde.runtime.environment import Environment
from sonde.runtime.programs import conversions
from sonde.runtime.programs.conversions import ProbeValues
from sonde.typed import NamedTuple


class Caller(NamedTuple):
    """A type that may call another one: how its context is converted, and what its program then returns, None for the
    result of the called one. A probe observes, so to a packet it means what lets the packet go on. `on_stack` are
    further arguments, for which the process is asked, of those programs alone that look at them."""

    convert: Callable[[Environment, int], ProbeValues]
    result: int | None = None
    on_stack: Callable[[Environment, int], tuple[int, ...]] | None = None


_XDP_PASS = 2
_TC_ACT_UNSPEC = 0xFFFF_FFFF
_WHOLE_PACKET = 0xFFFF_FFFF
"""A socket filter's result is how many bytes are kept."""

CALLERS: Mapping[int, Mapping[int, Caller]] = {
    programs.PROBE: {
        programs.RAW_TRACEPOINT: Caller(conversions.from_raw_tracepoint),
        programs.TRACING: Caller(conversions.from_raw_tracepoint),
        programs.TRACEPOINT: Caller(conversions.from_trace_event),
        programs.PERF_EVENT: Caller(conversions.from_perf_event),
        programs.KPROBE: Caller(conversions.from_registers, on_stack=conversions.on_stack),
        programs.XDP: Caller(conversions.from_xdp, _XDP_PASS),
        programs.SCHED_CLS: Caller(conversions.from_skb, _TC_ACT_UNSPEC),
        programs.SOCKET_FILTER: Caller(conversions.from_skb, _WHOLE_PACKET),
    },
}
"""By the type that is called, then by the type that calls; types that are not here are called only from themselves."""


def may_call(caller: int, called: int) -> bool:
    """Whether a program of type `caller` can do a tail call to one of type `called`."""
    return caller == called or caller in CALLERS.get(called, {})
