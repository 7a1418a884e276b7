"""What the embedded engine finds on this machine, for `sonde doctor`."""

from __future__ import annotations

import os
import signal
import time

from sonde import children
from sonde.engines.embedded.sources import inherited_events, task_events
from sonde.engines.embedded.tracer import ptrace
from sonde.engines.embedded.tracer.memory import ProcessMemory
from sonde.formats.perf_events import SOFTWARE_CPU_CLOCK
from sonde.machine import system
from sonde.model.capability import Capability
from sonde.model.units import MILLISECOND
from sonde.untrusted import kernel_text

_ACTIONS = "/proc/sys/kernel/seccomp/actions_avail"
_YAMA = {
    0: "any process of one's own, by -p and -c",
    1: "one's own children, by -c",
    2: "with CAP_SYS_PTRACE only",
    3: "nobody",
}


def survey() -> list[Capability]:
    """Whether programs can run without the kernel's help, and what they can trace."""
    trace, memory = _try()
    return [trace, memory, _seccomp(), _samples(), _yama()]


def _try() -> tuple[Capability, Capability]:
    """Trace a child for a moment, and read its memory."""
    purpose = "system calls and processes of -c and -p, without root"
    pid = os.fork()
    if pid == 0:
        time.sleep(10)
        os._exit(0)
    try:
        try:
            ptrace.call(ptrace.SEIZE, pid)
        except OSError as error:
            remedy = "see ptrace_scope; in a container add CAP_SYS_PTRACE"
            return Capability("embedded", "refused", purpose, f"ptrace: {error.strerror}", remedy), _no_memory()
        row = Capability("embedded", "yes", f"the embedded engine: {purpose}")
        try:
            ProcessMemory().read(pid, id(survey), 8)
        except OSError as error:
            return row, Capability("process_vm_readv", "refused", "copyin() and ustack()", str(error.strerror))
        return row, Capability("process_vm_readv", "yes", "copyin() and ustack() of the embedded engine")
    finally:
        os.kill(pid, signal.SIGKILL)
        children.wait_for(pid)


def _no_memory() -> Capability:
    return Capability("process_vm_readv", "no", "copyin() and ustack()", "nothing can be traced")


def _seccomp() -> Capability:
    try:
        has_trace = "trace" in kernel_text(_ACTIONS).split()
    except OSError:
        has_trace = False
    purpose = "a command of -c stops at probed system calls only"
    if has_trace:
        return Capability("seccomp", "yes", purpose)
    return Capability("seccomp", "no", purpose, "the kernel has no filters", "-xseccomp=no: slower, but works")


def _samples() -> Capability:
    purpose = "profile-n that stops no thread, faults and the like, and sched:::on-cpu, of the embedded engine"
    wanted = task_events.WantedEvent(SOFTWARE_CPU_CLOCK, MILLISECOND, True, False)
    try:
        events = task_events.TaskEvents(task_events.WantedEvents((wanted,), True, True), [os.getpid()])
    except OSError as error:
        return Capability("samples", "refused", purpose, error.strerror or "", inherited_events.why_not(error))
    events.close()
    where = "" if events.sees_kernel else ", outside of the kernel: kernel.perf_event_paranoid is above 1"
    return Capability("samples", "yes", purpose + where)


def _yama() -> Capability:
    scope = system.setting("kernel/yama/ptrace_scope")
    if scope is None:
        return Capability("ptrace_scope", "yes", "no Yama: processes of one's own can be traced, by -p and -c")
    able = "sys_ptrace" in system.capabilities()
    state = "yes" if scope == 0 or (able and scope < 3) else "refused"
    setting = f"kernel.yama.ptrace_scope = {scope}: {_YAMA.get(scope, '')}"
    if state == "yes":
        return Capability("ptrace_scope", state, f"who may be traced: {setting}")
    return Capability("ptrace_scope", state, "who may be traced", setting, "0, for -p of one's own processes")
