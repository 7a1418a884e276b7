"""What an event is opened with: the part of struct perf_event_attr that the engine has
(include/uapi/linux/perf_event.h)."""

from __future__ import annotations

import errno

from sonde.arch import perf_registers
from sonde.formats import perf_events as perf
from sonde.typed import NamedTuple


class Attributes(NamedTuple):
    """`sample_type` and `sample_regs_user` are bit masks. A sleeping reader is woken after `wakeup_events` samples, 0
    for none, and after `wakeup_watermark` bytes, 0 for half of the ring. `handler` says that `config1` is the number of
    a program that handles the event's overflows. `inherit`: what a task of the event starts has it, too.
    """

    type: int = perf.TYPE_SOFTWARE
    config: int = perf.SOFTWARE_BPF_OUTPUT
    sample_period: int = 0
    sample_type: int = perf.SAMPLE_RAW
    sample_id_all: bool = False
    sample_regs_user: int = 0
    wakeup_events: int = 0
    wakeup_watermark: int = 0
    inherit: bool = False
    handler: bool = False
    config1: int = 0


def check(attributes: Attributes) -> None:
    """Raises OSError(EINVAL) for what the engine does not have."""
    unknown = attributes.sample_type & ~perf.SUPPORTED
    if unknown:
        raise OSError(errno.EINVAL, f"the embedded engine's samples have no fields for sample_type {unknown:#x}")
    if attributes.config1 and not attributes.handler:
        raise OSError(errno.EINVAL, "config1 is a program only where the attribute `handler` is set")
    if attributes.sample_regs_user & ~perf_registers.REGISTERS:
        raise OSError(errno.EINVAL, "sample_regs_user has registers that this processor has not")
