"""Attaching to functions of the kernel: by fentry and fexit, all in one multi-kprobe link, or by a kprobe each."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence

from sonde.bpf import programs
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import call, decode
from sonde.engines.kernel import commands, features, perf_events
from sonde.engines.kernel.failures import NOT_SUPPORTED, explain
from sonde.engines.kernel.programs import LoadedProgram
from sonde.model.errors import EngineError
from sonde.model.probe import KernelFunction, Probe
from sonde.model.spec import ProbeSpec
from sonde.symbols.kallsyms import Kallsyms

Hold = Callable[[LoadedProgram, int, int], int]
"""Attaches a program to a perf event and enables it, with a cookie; takes the event over."""

MOST_KPROBES = 4096
"""So many are attached one by one: each takes the kernel about a millisecond, and as long again to be detached."""

_NOT_THERE = frozenset((errno.EINVAL, errno.ENOENT, errno.ESRCH, errno.EILSEQ, errno.EADDRNOTAVAIL, errno.EOPNOTSUPP))
"""What the kernel says of a function that there is not, or that cannot be probed."""


def attach(
    program: LoadedProgram, own: Callable[[int], None], hold: Hold, kallsyms: Kallsyms,
    leave_out: Callable[[Probe], None],
) -> None:  # fmt: skip
    """Attach to all the program's functions; `own` takes over what is attached.

    Functions of a glob that the kernel refuses are passed over: `leave_out` is told of each. Raises EngineError, with
    what is attached until then left to its owner.
    """
    probes = [probe for probe in program.probes if isinstance(probe.probe.firing, KernelFunction)]
    if program.spec.kind == programs.TRACING:
        own(_link_tracing(program, probes[0], kallsyms))
    elif program.spec.attach_type == programs.TRACE_KPROBE_MULTI:
        _link_many(program, probes, own, kallsyms, leave_out)
    else:
        _attach_kprobes(program, probes, own, hold, kallsyms, leave_out)


def _link_tracing(program: LoadedProgram, probe: ProbeSpec, kallsyms: Kallsyms) -> int:
    try:
        return commands.open_raw_tracepoint(program.descriptor, None)
    except OSError as error:
        raise _failure(probe, error, kallsyms) from None


def _link_many(
    program: LoadedProgram, probes: Sequence[ProbeSpec], own: Callable[[int], None], kallsyms: Kallsyms,
    leave_out: Callable[[Probe], None],
) -> None:  # fmt: skip
    """By name, which the kernel looks up quickest; by address those of whose name there are several."""
    named = [probe for probe in probes if _firing(probe).is_unique]
    others = [probe for probe in probes if not _firing(probe).is_unique]
    if named:
        try:
            symbols = [_firing(probe).name for probe in named]
            own(
                commands.link_kprobes(
                    program.descriptor, symbols, [probe.cookie for probe in named], _is_return(probes)
                )
            )
        except OSError as error:
            if error.errno not in _NOT_THERE:
                raise _failure(named[0], error, kallsyms) from None
            _require_links(named, error)
            others = list(probes)
    if not others:
        return
    places = [(address, probe) for probe in others for address in _addresses(kallsyms, probe)]
    attached = {each.probe for each in _link_addresses(program, places, own, kallsyms)}
    if not attached:
        raise EngineError(f"cannot attach {others[0].probe}: {_NOT_PROBED}")
    for each in others:
        if each.probe not in attached:
            leave_out(each.probe)


def _require_links(probes: Sequence[ProbeSpec], error: OSError) -> None:
    """Who compiles D has asked before; objects of other compilers have made up their minds when they were compiled."""
    # Of a kernel that takes the link nothing is asked.

    if error.errno in NOT_SUPPORTED and not features.detect(("kprobe_multi",)):
        what = f"cannot attach {len(probes)} functions of the kernel in one link: this kernel ({os.uname().release})"
        raise EngineError(f"{what} has no kprobe_multi (Linux 5.18, CONFIG_FPROBE)")


def _link_addresses(
    program: LoadedProgram, places: Sequence[tuple[int, ProbeSpec]], own: Callable[[int], None], kallsyms: Kallsyms
) -> list[ProbeSpec]:
    """What could be attached to: halves tell which cannot."""
    if not places:
        return []
    addresses = [address for address, _ in places]
    try:
        cookies = [probe.cookie for _, probe in places]
        own(commands.link_kprobe_addresses(program.descriptor, addresses, cookies, _is_return([places[0][1]])))
        return [probe for _, probe in places]
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise _failure(places[0][1], error, kallsyms) from None
    if len(places) == 1:
        return []
    half = len(places) // 2
    return [probe for each in (places[:half], places[half:]) for probe in _link_addresses(program, each, own, kallsyms)]


def _attach_kprobes(
    program: LoadedProgram, probes: Sequence[ProbeSpec], own: Callable[[int], None], hold: Hold, kallsyms: Kallsyms,
    leave_out: Callable[[Probe], None],
) -> None:  # fmt: skip
    if len(probes) > MOST_KPROBES:
        text = f"{len(probes)} kernel functions need a kprobe each, and {MOST_KPROBES} are the most: describe fewer"
        raise EngineError(f"cannot attach {probes[0].probe}: {text}; a kernel with CONFIG_FPROBE takes all in one link")
    attached, refused = 0, OSError(errno.ENOENT, "")
    without: list[Probe] = []
    for probe in probes:
        try:
            for event in _open(kallsyms, probe):
                own(hold(program, event, probe.cookie))
                attached += 1
        except OSError as error:
            if error.errno not in _NOT_THERE:
                raise _failure(probe, error, kallsyms) from None
            if error.errno == errno.EINVAL and _overrides(program):
                raise EngineError(f"cannot attach {probe.probe}: {_NOT_OVERRIDDEN}") from None
            refused = error
            without.append(probe.probe)
    if not attached:
        raise _failure(probes[0], refused, kallsyms)
    for each in without:
        leave_out(each)


def _overrides(program: LoadedProgram) -> bool:
    """Whether it may return in the place of the function (perf_event_attach_bpf_prog, kernel/trace/bpf_trace.c, refuses
    it then where that is not permitted)."""
    return call(NUMBERS["override_return"]) in decode(program.spec.code)


def _open(kallsyms: Kallsyms, probe: ProbeSpec) -> Iterator[int]:
    """An event for each function of the name, by the name itself where addresses are hidden."""
    firing = _firing(probe)
    addresses = _addresses(kallsyms, probe)
    if not addresses and firing.which is None:
        symbol = firing.name if firing.module == "vmlinux" else f"{firing.module}:{firing.name}"
        yield perf_events.open_kprobe_at(symbol, firing.is_return, firing.offset)
    for address in addresses:
        yield perf_events.open_kprobe(address + firing.offset, firing.is_return)


def _addresses(kallsyms: Kallsyms, probe: ProbeSpec) -> list[int]:
    """Where the functions of that name in the module begin, of which it may be one that is meant."""
    firing = _firing(probe)
    named = kallsyms.all(firing.name, firing.module)
    found = sorted({symbol.address for symbol in named if symbol.kind in "tTwW"})
    return found if firing.which is None else found[firing.which : firing.which + 1]


def _firing(probe: ProbeSpec) -> KernelFunction:
    assert isinstance(probe.probe.firing, KernelFunction)
    return probe.probe.firing


def _is_return(probes: Sequence[ProbeSpec]) -> bool:
    return _firing(probes[0]).is_return


_NOT_OVERRIDDEN = (
    "the kernel lets no program return in its place, or not there in it: /sys/kernel/debug/error_injection/list"
)
_NOT_PROBED = "the kernel lets no such function be probed"
_NOT_PROBED_THERE = "the kernel lets no probe be at this place of the function"


def _failure(probe: ProbeSpec, error: OSError, kallsyms: Kallsyms) -> EngineError:
    what = f"cannot attach {probe.probe}"
    if error.errno not in _NOT_THERE:
        return explain(error, what)
    # Of a kernel that has the function nothing is asked.

    firing = _firing(probe)
    if firing.is_raw and not features.detect(("kprobe",)):
        return EngineError(f"{what}: this kernel ({os.uname().release}) has no kprobes (CONFIG_KPROBES)")
    if not kallsyms.all(firing.name):
        return EngineError(f"{what}: this kernel has no function {firing.name}")
    if error.errno == errno.EILSEQ:
        return EngineError(f"{what}: no instruction of {firing.name} begins at offset {firing.offset:#x}")
    return EngineError(f"{what}: {_NOT_PROBED_THERE if firing.offset else _NOT_PROBED}")
