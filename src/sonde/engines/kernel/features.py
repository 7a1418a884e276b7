"""What this kernel lets this user do, found out by trying it.

A `Feature` is tried only when somebody asks for it: most take some ten microseconds, none needs more than a program or
a map of its own, and none leaves anything behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.bpf.btf_writer import INT_SIGNED, BtfBuilder, pack_func_info
from sonde.bpf.helpers import NUMBERS
from sonde.engines.kernel import btf_ids, commands, perf_events
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.failures import NOT_SUPPORTED
from sonde.engines.kernel.maps import create
from sonde.machine.system import online_cpus
from sonde.model.errors import EngineError
from sonde.model.spec import MapSpec
from sonde.model.units import SECOND
from sonde.typed import NamedTuple
from sonde.untrusted import lines, open_regular, read_kernel

_RETURN_ZERO = [i.mov_imm(i.R0, 0), i.exit_()]

EVENT_SOURCES = "/sys/bus/event_source/devices"
TRACEFS = "/sys/kernel/tracing"
VMLINUX_BTF = "/sys/kernel/btf/vmlinux"


class Feature(NamedTuple):
    """Something a kernel may offer.

    `purpose` is what sonde does with it, `since` the first kernel that has it, `remedy` what would bring it where it is
    missing. `check` raises OSError or EngineError if it is not there or not permitted.
    """

    name: str
    purpose: str
    since: str
    check: Callable[[], None]
    remedy: str = ""


class MissingError(EngineError):
    """The kernel does not have it."""


class HiddenError(MissingError):
    """The kernel does not have it, or not for users without a capability: it says the same of both."""


def _try(kind: int, code: list[i.Instruction], attach_type: int = 0) -> None:
    """Load a program and forget it."""
    os.close(commands.load_program(ProgramCode("feature", kind, attach_type, i.encode(code))))


def _helper(kind: int, name: str) -> Callable[[], None]:
    """A check that programs of that kind may call a helper.

    The call has no arguments and is refused in any case; the log tells whether the helper was the reason.
    """

    def check() -> None:
        log = bytearray(4096)
        code = i.encode([i.call(NUMBERS[name]), *_RETURN_ZERO])
        try:
            os.close(commands.load_program(ProgramCode("feature", kind, 0, code), log))
        except OSError:
            text = log.partition(b"\0")[0]
            if not text:
                raise
            if b"unknown func" in text or b"invalid func" in text or b"cannot use helper" in text:
                raise HiddenError(f"the kernel has no bpf_{name} for programs of this type") from None

    return check


def _bpf() -> None:
    _try(programs.RAW_TRACEPOINT, _RETURN_ZERO)


def _perf_event() -> None:
    os.close(perf_events.open_overflow(perf_events.clock(SECOND), -1, online_cpus()[0]))


def _ring_buffer() -> None:
    create(MapSpec("feature", maps.RINGBUF, 0, 0, 1 << 16), 1).close()


def _task_storage() -> None:
    create(MapSpec("feature", maps.TASK_STORAGE, 4, 8, 0, maps.F_NO_PREALLOC, typed=True), 1).close()


def _sign_extension() -> None:
    _try(programs.RAW_TRACEPOINT, [i.mov_imm(i.R1, -1), i.movsx(i.R0, i.R1, 8), *_RETURN_ZERO])


def _callback() -> None:
    """A program with a callback, which needs BTF for its functions as well as bpf_loop."""
    builder = BtfBuilder()
    number = builder.add_int("int", 4, INT_SIGNED)
    function = builder.add_func("function", builder.add_function_type(number, []))
    code = [
        i.mov_imm(i.R1, 1),
        *i.ld_function(i.R2, 6),
        i.mov_imm(i.R3, 0),
        i.mov_imm(i.R4, 0),
        i.call(NUMBERS["loop"]),
        *_RETURN_ZERO,
        *_RETURN_ZERO,
    ]
    btf = commands.load_btf(builder.build())
    try:
        info = pack_func_info([(0, function), (8, function)])
        os.close(commands.load_program(ProgramCode("feature", programs.RAW_TRACEPOINT, 0, i.encode(code), btf, info)))
    finally:
        os.close(btf)


def _tracing(attach_type: int, function: str) -> None:
    """A program of type TRACING for a function, or, TRACE_RAW_TP, for a tracepoint's typedef."""
    finder = btf_ids.TypeFinder()
    try:
        find = finder.typedef if attach_type == programs.TRACE_RAW_TP else finder.function
        target = find(function)
    finally:
        finder.close()
    code = ProgramCode(
        "feature", programs.TRACING, attach_type, i.encode(_RETURN_ZERO), 0, b"", b"", target.id, target.btf
    )
    try:
        os.close(commands.load_program(code))
    finally:
        if target.btf:
            os.close(target.btf)


def takes_function(function: str, is_return: bool) -> bool:
    """Whether the kernel takes fentry programs, or fexit, for a function: it looks at it when they are loaded."""
    try:
        _tracing(programs.TRACE_FEXIT if is_return else programs.TRACE_FENTRY, function)
    except (OSError, EngineError):
        return False
    return True


def _typed_raw_tracepoint() -> None:
    _tracing(programs.TRACE_RAW_TP, "btf_trace_sys_enter")


def _function_entry() -> None:
    _tracing(programs.TRACE_FENTRY, "do_exit")


def _event_source(name: str) -> Callable[[], None]:
    def check() -> None:
        if not os.path.exists(f"{EVENT_SOURCES}/{name}/type"):
            raise MissingError(f"the kernel is built without the event source {name}")

    return check


def _uprobe_multi() -> None:
    """A link to a directory is refused with EBADF by kernels that know such links, with EINVAL by others."""
    program = commands.load_program(
        ProgramCode("feature", programs.KPROBE, programs.TRACE_UPROBE_MULTI, i.encode(_RETURN_ZERO))
    )
    try:
        os.close(commands.link_uprobes(program, "/", (0,)))
    except OSError as error:
        if error.errno in NOT_SUPPORTED:
            raise
    finally:
        os.close(program)


def _sleepable_uprobe() -> None:
    code = ProgramCode("feature", programs.KPROBE, 0, i.encode(_RETURN_ZERO), flags=programs.F_SLEEPABLE)
    os.close(commands.load_program(code))


def _kprobe_multi() -> None:
    """Of a function that there cannot be a kernel with such links says that there is none (ESRCH)."""
    program = commands.load_program(
        ProgramCode("feature", programs.KPROBE, programs.TRACE_KPROBE_MULTI, i.encode(_RETURN_ZERO))
    )
    try:
        os.close(commands.link_kprobes(program, ("no function",), (0,)))
    except OSError as error:
        if error.errno in NOT_SUPPORTED:
            raise
    finally:
        os.close(program)


def _tcx() -> None:
    """A kernel that knows such links says that there is no device of that number (ENODEV)."""
    program = commands.load_program(ProgramCode("feature", programs.SCHED_CLS, 0, i.encode(_RETURN_ZERO)))
    try:
        os.close(commands.link_device(program, 0x7FFFFFFF, programs.TCX_INGRESS))
    except OSError as error:
        if error.errno in NOT_SUPPORTED:
            raise
    finally:
        os.close(program)


def _hardware_counters() -> None:
    try:
        os.close(perf_events.open_cycles(online_cpus()[0]))
    except FileNotFoundError:
        raise MissingError("this machine, or its hypervisor, has none") from None


def _readable(path: str) -> Callable[[], None]:
    def check() -> None:
        os.close(open_regular(path, pseudo=True))

    return check


def _listable(path: str) -> Callable[[], None]:
    def check() -> None:
        if not os.listdir(path):
            raise MissingError("it is not mounted")

    return check


def _kernel_symbols() -> None:
    # Where nothing is hidden the first symbols, offsets in per-CPU memory, may be zero nevertheless.
    first = read_kernel("/proc/kallsyms", 4096)
    if not any(line.partition(b" ")[0].strip(b"0") for line in lines(first)):
        raise PermissionError(1, "addresses are hidden")


_AS_ROOT = "run as root, or with CAP_BPF and CAP_PERFMON"
_NEWER = "a newer kernel"

FEATURES = (
    Feature("bpf", "loading programs at all", "4.17", _bpf, _AS_ROOT),
    Feature("perf_event", "profile-n and tick-n", "4.9", _perf_event, _AS_ROOT),
    Feature("ringbuf", "records in order, written in place", "5.8", _ring_buffer,
            "none needed: records go through perf rings, one for each CPU, as with -xoutput=perf"),
    Feature("raw_tp_cookie", "one program for many raw tracepoints", "6.10",
            _helper(programs.RAW_TRACEPOINT, "get_attach_cookie"), "none needed: one program each is loaded"),
    Feature("perf_cookie", "one program for many timers and trace events", "5.15",
            _helper(programs.PERF_EVENT, "get_attach_cookie"), "none needed: one program each is loaded"),
    Feature("tp_btf", "tracepoints with typed arguments", "5.5", _typed_raw_tracepoint,
            "a kernel with CONFIG_DEBUG_INFO_BTF"),
    Feature("task_storage", "fast thread-local variables", "5.11", _task_storage, _NEWER),
    Feature("bpf_loop", "loops, and most subroutines for strings, paths, numbers and addresses", "5.17", _callback,
            _NEWER),
    Feature("bpf_strncmp", "fast string comparison", "5.17", _helper(programs.RAW_TRACEPOINT, "strncmp"), _NEWER),
    Feature("get_ns_current_pid_tgid", "pid and tid as a container sees them", "5.7",
            _helper(programs.RAW_TRACEPOINT, "get_ns_current_pid_tgid"), _NEWER),
    Feature("probe_write_user", "copyout() and copyoutstr()", "4.8",
            _helper(programs.RAW_TRACEPOINT, "probe_write_user"), "a kernel that is not locked down and permits it"),
    Feature("ringbuf_dynptr", "records of variable size", "5.19",
            _helper(programs.RAW_TRACEPOINT, "ringbuf_reserve_dynptr"), _NEWER),
    Feature("sign_extension", "shorter code for signed values", "6.6", _sign_extension, _NEWER),
    Feature("kprobe", "rawfbt probes, and fbt probes as a last resort", "4.17",
            _event_source("kprobe"), "a kernel with CONFIG_KPROBES"),
    Feature("fentry", "fbt probes of a few functions, at little cost", "5.5", _function_entry,
            "a kernel with BTF and CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS that permits it"),
    Feature("kprobe_multi", "fbt probes of many functions, in one link", "5.18", _kprobe_multi,
            "a kernel with CONFIG_FPROBE"),
    Feature("kprobe_cookie", "one program for many fbt probes", "5.15",
            _helper(programs.KPROBE, "get_attach_cookie"), "none needed: one program each is loaded"),
    Feature("functions", "names of the kernel's functions for fbt", "2.6.29",
            _readable(f"{TRACEFS}/available_filter_functions"), "a kernel with CONFIG_DYNAMIC_FTRACE that permits it"),
    Feature("uprobe", "pid and USDT probes", "4.1", _event_source("uprobe"), "a kernel with CONFIG_UPROBE_EVENTS"),
    Feature("uprobe_multi", "many pid probes at once", "6.6", _uprobe_multi, _NEWER),
    Feature("uprobe_cookie", "one program for many pid probes", "5.15",
            _helper(programs.KPROBE, "get_attach_cookie"), "none needed: one program each is loaded"),
    Feature("uprobe_sleep", "memory that is not resident, in pid and USDT probes", "6.0", _sleepable_uprobe, _NEWER),
    Feature("tcx", "packet probes that other programs cannot displace", "6.6", _tcx,
            "none needed: sockets with a filter see the packets"),
    Feature("cycles", "events of the processor, for cpc and perf probes", "2.6.31", _hardware_counters,
            "a machine, or hypervisor, with hardware counters"),
    Feature("btf_vmlinux", "types of the kernel", "5.4", _readable(VMLINUX_BTF), "a kernel with CONFIG_DEBUG_INFO_BTF"),
    Feature("tracefs", "sdt probes and their arguments", "4.1", _listable(f"{TRACEFS}/events"),
            f"as root: mount -t tracefs none {TRACEFS}"),
    Feature("kallsyms", "names of kernel addresses", "2.6", _kernel_symbols, "as root: sysctl kernel.kptr_restrict=1"),
)  # fmt: skip

FOR_PROGRAMS = ("raw_tp_cookie", "perf_cookie")
"""Those on which the code that is generated depends: tried at each start, so no others."""

FOR_RECORDS = ("ringbuf",)
"""Likewise, where the kernel's release alone would say that it is not there."""

FOR_UPROBES = ("uprobe_multi", "uprobe_cookie", "uprobe_sleep")
"""Likewise, where a program has pid probes."""


FOR_FUNCTIONS = ("fentry", "kprobe_multi", "kprobe_cookie")
"""Likewise, where a program has fbt probes."""


FOR_PACKETS = ("tcx",)
"""Likewise, where a program has packet probes."""


def detect(names: Iterable[str] = FOR_PROGRAMS) -> frozenset[str]:
    """The names among `names` of the features that are there."""
    wanted = frozenset(names)
    unknown = wanted - {feature.name for feature in FEATURES}
    if unknown:
        raise ValueError(f"no such features: {', '.join(sorted(unknown))}")
    return frozenset(feature.name for feature in FEATURES if feature.name in wanted and is_available(feature))


def is_available(feature: Feature) -> bool:
    try:
        feature.check()
    except (OSError, EngineError):
        return False
    return True
