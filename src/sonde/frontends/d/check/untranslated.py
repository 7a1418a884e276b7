"""Why members of the D libraries' structures have no translation: what Linux does not have, and what is near."""

from __future__ import annotations

_PER_CPU = "Linux keeps it in counters of each CPU, which have to be added up; /proc/PID/status has it"
_SHARE = "Linux does not keep a thread's share of the processor; pr_time of lwpsinfo_t is how long it has run"

_BRANCHES = "the processor records branches, and D has no place for the array of them"
_REGISTERS = "registers are members themselves, args[0]->ip, and those of the process are uregs[]"

_WHY = {
    "aux_size": "it counts bytes of a trace that the processor writes, which nobody takes",
    "br_stack": _BRANCHES,
    "br_stack_cntr": _BRANCHES,
    "callchain": "the callers are stack() and ustack(); -xcallchain adds them to samples",
    "cs_pid": "Linux's sockets do not know which process has made them; pid is the thread's that runs",
    "cs_zoneid": "Linux has no zones; args[3]->if_ipstack of the ip provider tells network namespaces apart",
    "pr_cpu": _SHARE,
    "pr_flag": "Linux has no flags of a process like these; pr_flag of lwpsinfo_t has PR_STOPPED and PR_IDLE",
    "pr_lgrp": "the kernel tells the node of a CPU, not of a thread: curcpu->cpu_lgrp",
    "pr_oldpri": "Linux has one priority for a thread: pr_pri",
    "pr_pctcpu": _SHARE,
    "pr_pctmem": _PER_CPU,
    "pr_rssize": _PER_CPU,
    "pr_size": "curthread->mm->total_vm is the number of pages",
    "pr_syscall": "probefunc is the call at syscall probes; elsewhere Linux does not tell it apart from the last one",
    "pr_time": "Linux adds up the time of a process's threads when it is asked; pr_lwp.pr_time is that of the thread",
    "raw": "trace events have raw data; their probes are those of sdt, with args->",
    "regs_intr": _REGISTERS,
    "regs_user": _REGISTERS,
    "stable": "Linux's NFS server does not tell it where it writes",
    "stack_user_size": "it counts bytes of a stack that is copied, and nobody copies one: ustack() is there",
    "stream_id": "perf's records of other kinds would end otherwise if samples had it; id is the event's number",
    "tcps_active": "Linux's connections do not know it; the probes connect-established and accept-established do",
    "tcps_sack_fack": "Linux keeps no such number; tcps_sack_snxt is the next one to be sent again",
}
"""By the member's name."""


def reason(member: str) -> str:
    """For a message; "" if there is nothing to say."""
    return _WHY.get(member, "")
