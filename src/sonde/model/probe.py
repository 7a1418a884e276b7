"""A probe and what fires it: values that every stage passes on and only the engine that attaches them acts on.

A probe is general: D clauses know its four names and its arguments. The `Firing` says which event of the system makes
it happen; the code generator has one context adapter for each kind of firing, an engine one way to attach each.
"""

from __future__ import annotations

from sonde.model.location import Value
from sonde.typed import NamedTuple, TypeAlias

SIGNALS = ("SIGUSR1",)
"""Signals to the tracer that fire the internal probe of their name."""


class Internal(NamedTuple):
    """BEGIN, END and ERROR, fired by the session itself or by a fault; `name` is that name. One that `is_measured` the
    session has run many times, to see how long that takes."""

    name: str
    is_measured: bool = False


CHANGES_NOTHING = 64
"""In `Syscall.inputs`."""

EXECS = ("execve", "execveat")
"""The system calls that replace the process's memory."""


class Syscall(NamedTuple):
    """Entry to or return from one system call; `compat` for the 32-bit table (int 0x80).

    `inputs` is for entries: bit n is set if what argument n points to is only read by the call, bit 6 if it changes no
    memory of the process that its arguments lead to; 0 where it does not return.
    """

    number: int
    name: str
    is_return: bool
    compat: bool = False
    inputs: int = 0


class Timer(NamedTuple):
    """A cpu-clock event every `period` ns, on every CPU (profile-n) or on one (tick-n)."""

    period: int
    every_cpu: bool


class PerfEvent(NamedTuple):
    """A perf event that has counted to `period`, and again: `source` is `hardware`, `software`, `hw-cache`, or a
    directory of /sys/bus/event_source/devices, and `config` are attr.config, config1 and config2 of struct
    perf_event_attr; of source `breakpoint` what is watched for, the address and the length. `mode` is `user` or
    `kernel` where only that is counted, else `all`.
    """

    source: str
    config: tuple[int, int, int]
    period: int
    mode: str = "all"


BREAKPOINT = "breakpoint"
"""The source of perf events that watch an address."""


class RawTracepoint(NamedTuple):
    """A tracepoint with its raw arguments (`TP_PROTO`); `arguments` is how many it has, -1 if not known. `filtered`: of
    a recording, which has those firings alone that meet the condition of the probe."""

    name: str
    arguments: int = -1
    filtered: bool = False


class Tracepoint(NamedTuple):
    """A trace event through perf, whose context is the record described by its tracefs format file.

    `is_tracepoint`: a raw tracepoint of this name fires at the same time, for who does not look at the record. With a
    `period` it is sampled: each `period`-th that the program lets through makes a sample; 0 where it is not.
    """

    group: str
    name: str
    is_tracepoint: bool = False
    period: int = 0


ANY_FILE = 0, 0
"""Instead of the device and the inode number of a file: whatever is at its path."""


class Uprobe(NamedTuple):
    """An instruction of the file `path`, by its offset in the file, executed by process `pid` or, if that is 0, by any.

    `kind` is `entry` where that is a function's first, `return` for the return from the function that begins there,
    `static` for a site of a static probe, `offset` for any other. `semaphore` is the offset in the file of the u16 that
    counts who listens, 0 if there is none. `is_32_bit` tells that the file is of a 32-bit program. `file` is the file
    that the place was read from.
    """

    pid: int
    path: str
    offset: int
    kind: str
    semaphore: int = 0
    is_32_bit: bool = False
    file: tuple[int, int] = ANY_FILE


class StaticArgument(NamedTuple):
    """An argument at a site of a static probe: the lowest `size` bytes of `value`, an integer or, `is_float`, the bits
    of a floating point number. None is one that cannot be had, and `reason` says why."""

    size: int
    is_signed: bool
    value: Value | None
    is_float: bool = False
    reason: str = ""


class StaticSite(NamedTuple):
    """An instruction at which a static probe fires, and where its arguments are there; offsets are in the file."""

    offset: int
    semaphore: int
    arguments: tuple[StaticArgument, ...]


class StaticProbe(NamedTuple):
    """All sites of a static probe (USDT) in the file `path`, executed by process `pid` or, if that is 0, by any. `file`
    is the file that they were read from."""

    pid: int
    path: str
    sites: tuple[StaticSite, ...]
    file: tuple[int, int] = ANY_FILE


class StaticPattern(NamedTuple):
    """All sites of static probes (USDT) that a description matches, in process `pid` or, if that is 0, in any: of files
    that are mapped when tracing begins, and of those that are mapped later. A field may be a glob, "" is anything;
    `provider` is without the process's number, and matches for all processes or for none."""

    provider: str
    module: str
    function: str
    name: str
    pid: int = 0


class KernelFunction(NamedTuple):
    """Entry to the kernel's functions of that name in `module` (`vmlinux`: the kernel's own), or return from them.

    `is_unique`: there is one such function in the kernel and its modules together, so that the kernel finds it by name.
    `is_raw`: by a kprobe at the symbol, whatever else the kernel has; only then `offset` may be that of another
    instruction than the first. `which` is the place among the module's functions of that name, by address, of the only
    one that is meant; None if all are.
    """

    module: str
    name: str
    is_return: bool
    is_unique: bool = True
    is_raw: bool = False
    offset: int = 0
    which: int | None = None


class KernelIterator(NamedTuple):
    """Each object of a kind that the kernel goes over by itself, `task` for all threads: once, when tracing has begun,
    or, with a `pin`, whenever the file of that path is read, from /sys/fs/bpf if it is a relative one."""

    name: str
    pin: str = ""


OVERFLOWS = (Timer, PerfEvent)
"""Firings that are a perf event's overflow: the program is its handler, and there is a sample."""

TCX, XDP_NATIVE, XDP_GENERIC, SOCKET = "tcx", "xdp-native", "xdp-generic", "socket"
"""Where programs meet packets: tcx, XDP in the device's driver or behind it, or in a packet socket as its filter."""

XDP = "xdp"
"""XDP in the driver, if it can, else behind it."""


ETHERNET, RAW_IP = "ethernet", "ip"
"""What a packet of a device begins with."""

COOKED, COOKED_2, LOOPBACK = "sll", "sll2", "null"
"""What those in files may begin with, too: all devices of Linux together, in two versions, and loopback of BSD."""

_LINKS = {0: LOOPBACK, 1: ETHERNET, 108: LOOPBACK, 113: COOKED, 276: COOKED_2} | dict.fromkeys(
    (12, 101, 228, 229), RAW_IP
)


def link_of(link_type: int) -> str:
    """ETHERNET, RAW_IP, one of files or, "", something else, by the number (https://www.tcpdump.org/linktypes.html).
    Files have numbers of their own for IP of one version, and an old one for both."""
    return _LINKS.get(link_type, "")


class Packet(NamedTuple):
    """A packet that a network device receives or, `is_egress`, is given to send. `link` is what `link_of` gives
    for what it begins with, and `link_type` its number (https://www.tcpdump.org/linktypes.html), -1 if it is that of
    this machine's device. `hook` is chosen by the compiler, by what there is; until then it is ""."""

    device: str
    is_egress: bool
    link: str
    hook: str = ""
    link_type: int = -1


Firing: TypeAlias = (
    Internal
    | Syscall
    | Timer
    | PerfEvent
    | RawTracepoint
    | Tracepoint
    | Uprobe
    | StaticProbe
    | StaticPattern
    | KernelFunction
    | KernelIterator
    | Packet
)


class Probe(NamedTuple):
    """One probe: `provider:module:function:name`, its identifier in this session and what fires it."""

    id: int
    provider: str
    module: str
    function: str
    name: str
    firing: Firing

    def __str__(self) -> str:
        return f"{self.provider}:{self.module}:{self.function}:{self.name}"
