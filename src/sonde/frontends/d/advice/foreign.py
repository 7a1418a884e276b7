"""Words of bpftrace and other tracers and languages, and what D has for them.

The values are D code, tried in their order. In the code for a function `{0}` is its first argument, `{all}` all of
them; code without a bracket takes the place of the name alone.
"""

from __future__ import annotations

VARIABLES: dict[str, tuple[str, ...]] = {
    # bpftrace
    "comm": ("execname",),
    "nsecs": ("timestamp",),
    "elapsed": ("timestamp",),
    "kstack": ("stack()",),
    "ustack": ("ustack()",),
    "stack": ("stack()",),
    "curtask": ("curthread",),
    "rand": ("rand()",),
    "func": ("probefunc",),
    "probe": ("probename",),
    "retval": ("arg1",),
    "ncpus": ("`nr_cpu_ids",),
    "jiffies": ("`jiffies",),
    "cpid": ("$target",),
    # other tracers, awk, shells, C and Python
    "process": ("execname",),
    "procname": ("execname",),
    "progname": ("execname",),
    "cmd": ("execname",),
    "command": ("execname",),
    "common_pid": ("pid",),
    "common_comm": ("execname",),
    "common_cpu": ("cpu",),
    "cpuid": ("cpu",),
    "cpu_id": ("cpu",),
    "thread": ("tid",),
    "threadid": ("tid",),
    "tgid": ("pid",),
    "euid": ("uid",),
    "time": ("timestamp",),
    "now": ("timestamp",),
    "ns": ("timestamp",),
    "ts": ("timestamp",),
    "clock": ("timestamp",),
    "function": ("probefunc",),
    "syscall": ("probefunc",),
    "ret": ("arg1",),
    "rval": ("arg1",),
    "backtrace": ("stack()",),
    "True": ("1",),
    "False": ("0",),
    "true": ("1",),
    "false": ("0",),
    "None": ("NULL",),
    "nil": ("NULL",),
    "null": ("NULL",),
    "nullptr": ("NULL",),
    "__func__": ("probefunc",),
    "__FUNCTION__": ("probefunc",),
}

FUNCTIONS: dict[str, tuple[str, ...]] = {
    # bpftrace
    "hist": ("quantize({0})",),
    "lhist": ("lquantize({all})",),
    "stats": ("avg({0})",),
    "str": ("copyinstr({all})", "stringof({0})"),
    "kstr": ("stringof({0})",),
    "kstack": ("stack({all})", "stack()"),
    "ksym": ("func({0})",),
    "kaddr": ("(uintptr_t)&`{0:name}",),
    "ntop": ("inet_ntop({all})", "inet_ntop(2, {0})"),
    "buf": ("tracemem({all})", "tracemem(copyin({0}, {1}), {1})"),
    "join": ("stringof(curpsinfo->pr_psargs)",),
    "signal": ("raise({0})",),
    "strcontains": ("(strstr({0}, {1}) != NULL)",),
    "strftime": ('printf("%Y", walltimestamp)', "walltimestamp"),
    "delete": ("{0:variable} = 0",),
    "time": ('printf("%Y", walltimestamp)', "walltimestamp / 1000000000"),
    "zero": ("clear({all})",),
    "reg": ("uregs[{0:register}]",),
    "nsecs": ("timestamp",),
    "macaddr": ("link_ntop(1, {0})",),
    "bswap": ("htonl({0})",),
    # C, BCC and the kernel
    "bpf_trace_printk": ("printf({all})",),
    "bpf_printk": ("printf({all})",),
    "printk": ("printf({all})",),
    "pr_info": ("printf({all})",),
    "fprintf": ("printf({rest})",),
    "bpf_get_current_pid_tgid": ("pid",),
    "bpf_get_current_uid_gid": ("uid",),
    "bpf_get_current_comm": ("execname",),
    "bpf_get_current_task": ("curthread",),
    "bpf_get_smp_processor_id": ("cpu",),
    "bpf_ktime_get_ns": ("timestamp",),
    "bpf_get_stackid": ("stack()",),
    "bpf_probe_read_user_str": ("copyinstr({2})",),
    "bpf_probe_read_str": ("stringof({2})",),
    "dump_stack": ("stack()",),
    "getpid": ("pid",),
    "getppid": ("ppid",),
    "gettid": ("tid",),
    "getuid": ("uid",),
    "getgid": ("gid",),
    "memcpy": ("bcopy({1}, {0}, {2})",),
    "strcat": ("strjoin({all})",),
    "concat": ("strjoin({all})",),
    "strcmp": ("({0} != {1})",),
    "strncmp": ("(substr({0}, 0, {2}) != {1})",),
    "raise_signal": ("raise({0})",),
    "itoa": ("lltostr({0})",),
    # Python, awk, Go
    "len": ("strlen({all})",),
    "length": ("strlen({all})",),
    "println": ("trace({0})",),
    "puts": ("trace({0})",),
    "echo": ("trace({0})",),
    "log": ("trace({0})",),
    "substring": ("substr({all})",),
    "histogram": ("quantize({0})",),
    "average": ("avg({0})",),
    "mean": ("avg({0})",),
    "median": ("quantize({0})",),
    "total": ("sum({0})",),
    "increment": ("count()",),
    "sleep": ("chill({0})",),
    "quit": ("exit({all})", "exit(0)"),
    "abort": ("exit(1)",),
    # SystemTap
    "cpuid": ("cpu",),
    "gettimeofday_ns": ("walltimestamp",),
    "gettimeofday_us": ("walltimestamp / 1000",),
    "gettimeofday_ms": ("walltimestamp / 1000000",),
    "gettimeofday_s": ("walltimestamp / 1000000000",),
    "user_string": ("copyinstr({0})",),
    "kernel_string": ("stringof({0})",),
    "print_backtrace": ("stack()",),
    "print_ubacktrace": ("ustack()",),
    "backtrace": ("stack()",),
    "ubacktrace": ("ustack()",),
    "ppfunc": ("probefunc",),
    "probefunc": ("probefunc",),
}

OPERATORS: dict[str, str] = {
    "and": "&&", "or": "||", "not": "!", "is": "==", "eq": "==", "ne": "!=", "xor": "^^", "mod": "%", ":=": "=",
    "then": "", "elif": "else if", "elsif": "else if", "let": "", "var": "", "begin": "{", "end": "}",
}  # fmt: skip
"""Words and signs between operands, or before statements."""

SIGNS: dict[str, str] = {
    "===": "==", "!==": "!=", "<>": "!=", "=>": ">=", "=<": "<=", "=!": "!=", "~=": "!=", "=~": "==", "**": "*",
    "\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2013": "-", "\u2014": "--", "\u00a0": " ",
    "\u2212": "-", "\u200b": "", "\uff08": "(", "\uff09": ")", "\uff1b": ";", "&amp;": "&", "&lt;": "<", "&gt;": ">",
    "&quot;": '"',
}  # fmt: skip
"""Signs that D has none of, as other languages, word processors and web pages write them."""

OF_CALLS = "(?:vfs_|do_sys_|ksys_|__[a-z0-9]+_sys_|sys_|SyS_)"
"""What the functions behind system calls begin with."""

PROBES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # bpftrace, with its short forms; perf-probe
    (r"(?:kprobe|k|p|fentry|kfunc|f)(?::\w+)?:([\w.*?]+)", (r"fbt::\1:entry",)),
    (rf"(?:kprobe|k|p|fentry|kfunc|f)(?::\w+)?:{OF_CALLS}(\w+)", (r"syscall::\1:entry",)),
    (r"(?:kretprobe|kr|r|fexit|kretfunc|fr)(?::\w+)?:([\w.*?]+)", (r"fbt::\1:return",)),
    (rf"(?:kretprobe|kr|r|fexit|kretfunc|fr)(?::\w+)?:{OF_CALLS}(\w+)", (r"syscall::\1:return",)),
    (r"(?:(?:tracepoint|t|tp):)?syscalls:sys_enter_(\w+)", (r"syscall::\1:entry",)),
    (r"(?:(?:tracepoint|t|tp):)?syscalls:sys_exit_(\w+)", (r"syscall::\1:return",)),
    (r"(?:(?:tracepoint|t|tp):)?raw_syscalls:sys_enter", ("syscall:::entry",)),
    (r"(?:(?:tracepoint|t|tp):)?raw_syscalls:sys_exit", ("syscall:::return",)),
    (r"(?:tracepoint|t|tp):(\w+):([\w*?]+)", (r"sdt:\1::\2",)),
    (r"(?:rawtracepoint|rt|raw_tracepoint)(?::\w+)?:([\w*?]+)", (r"rawtp:::\1",)),
    (r"(?:uprobe|u):([^:]+):([^:]+)", (r"uprobe:\1:\2:entry",)),
    (r"(?:uretprobe|ur):([^:]+):([^:]+)", (r"uprobe:\1:\2:return",)),
    (r"(?:usdt|U):([^:]+):([^:]+)", (r"usdt:\1::\2",)),
    (r"(?:interval|i):(s|ms|us|hz):(\d+)", (r"tick-\2\1",)),
    (r"(?:interval|i):(\d+)(s|ms|us)?", (r"tick-\1\2",)),
    (r"(?:profile|p):hz:(\d+)", (r"profile-\1",)),
    (r"(?:profile|p):(s|ms|us):(\d+)", (r"profile-\2\1",)),
    (r"(?:profile|p):(\d+)(hz|s|ms|us)?", (r"profile-\1\2",)),
    (r"(?:software|s):faults:(\d+)", (r"perf:::page-faults-\1",)),
    (r"(?:software|s):cs:(\d+)", (r"perf:::context-switches-\1",)),
    (r"(?:software|s|hardware|h):([\w-]+):(\d+)", (r"perf:::\1-\2", r"cpc:::\1-all-\2")),
    (r"(?:software|s):([\w-]+):?", (r"perf:::\1-1", r"perf:::\1-1000000")),
    (r"(?:hardware|h):([\w-]+):?", (r"perf:::\1-1000000",)),
    (r"(?i:begin|start|init|main)", ("BEGIN",)),
    (r"(?i:end|exit|stop|finish)", ("END",)),
    # BCC's trace and perf trace
    (r"[pt]::(\w+)", (r"fbt::\1:entry", r"sdt:::\1")),
    (r"r::(\w+)", (r"fbt::\1:return",)),
    (r"p:c:(\w+)", (r"pid$target::\1:entry", r"uprobe:libc.so.6:\1:entry")),
    (r"r:c:(\w+)", (r"pid$target::\1:return", r"uprobe:libc.so.6:\1:return")),
    (r"sys_enter_(\w+)|(?:__[a-z0-9]+_)?sys_(\w+)", (r"syscall::\1\2:entry",)),
    (r"sys_exit_(\w+)", (r"syscall::\1:return",)),
    (r"([a-z]\w+):(\w+)", (r"sdt:\1::\2", r"\1::\2:entry", r"\1:::\2", r"fbt:\1:\2:entry")),
    # DTrace on other systems
    (r"vm:::?maj_fault", ("vminfo:::maj_fault",)),
    (r"vm:.*", ("perf:::page-faults-1",)),
    # SystemTap
    (r"syscall\.(\w+)\.return", (r"syscall::\1:return",)),
    (r"syscall\.(\w+)(?:\.entry)?", (r"syscall::\1:entry",)),
    # a word alone
    (r"(\w+)", (r"syscall::\1:entry", r"fbt::\1:entry", r"sdt:::\1")),
)
"""Whole descriptions, as patterns, and D's."""

FIELDS: dict[str, tuple[str, ...]] = {
    "enter": ("entry", "start"), "start": ("entry",), "begin": ("entry", "start"), "call": ("entry",),
    "entrance": ("entry",), "in": ("entry",), "exit": ("return", "done"), "ret": ("return",), "returns": ("return",),
    "end": ("return", "done"), "leave": ("return",), "done": ("return",), "out": ("return",),
    "finish": ("return", "done"), "tracepoint": ("sdt",), "kprobe": ("fbt",), "syscalls": ("syscall",),
    "sys": ("syscall",), "kernel": ("fbt",), "cpu": ("sched",), "disk": ("io",), "block": ("io",),
    "timer": ("profile",),
}  # fmt: skip
"""Words in a field of a description."""

TYPES: dict[str, str] = {
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "s8": "int8_t", "s16": "int16_t",
    "s32": "int32_t", "s64": "int64_t", "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t",
    "uint64": "uint64_t", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "str": "string", "String": "string", "bool": "int",
}  # fmt: skip

NOTHING_LIKE_IT: dict[str, str] = {
    "cgroup": "D has no variable for the control group; curthread leads to it",
    "cat": 'D reads no files; with -w, system("cat FILE") runs a program',
    "ctx": "D has arg0 to arg9 and args[] instead of a context",
    "unroll": "loops are written for (this->i = 0; this->i < N; this->i++) { ... }",
    "ntop": "inet_ntoa(POINTER) and inet_ntop(FAMILY, POINTER) take the place of an address, not its value",
    "switch": "write if (...) { ... } else if (...) { ... }",
    "do": "write while (...) { ... }",
    "goto": "D has if, for and while",
    "username": "uid is the number of the user",
    # data of other kernels
    "`freemem": "Linux counts free pages by zone and CPU: /proc/meminfo has the sum",
    "`physmem": "Linux has no variable for it: /proc/meminfo has it",
    "`utsname": "`init_uts_ns.name is Linux's struct new_utsname, as `init_uts_ns.name.nodename",
    "`lbolt": "Linux has `jiffies; timestamp is in nanoseconds",
    "`hz": "Linux has no variable for it: timestamp is in nanoseconds",
    "return": "a clause ends at its brace: put what follows into if (...) { ... } else { ... }",
}
"""What D has no code for, and what to do instead."""

MEMBERS: tuple[tuple[str, str], ...] = (
    (r"curthread->t_procp->p_pid(?:p->pid_id)?\b", "pid"),
    (r"curthread->t_procp->p_ppid\b", "ppid"),
    (r"curthread->t_procp->p_cred->cr_uid\b", "uid"),
    (r"curthread->t_procp->p_user\.u_comm\b", "execname"),
    (r"curthread->t_procp->p_user\.u_psargs\b", "curpsinfo->pr_psargs"),
    (r"curthread->t_procp\b", "curpsinfo"),
    (r"curthread->t_cpu->cpu_id\b", "cpu"),
    (r"curthread->t_cpu\b", "curcpu"),
    (r"curthread->t_pri\b", "curlwpsinfo->pr_pri"),
    (r"curthread->t_tid\b", "tid"),
)
"""Members of threads and processes of Solaris, as patterns, and what D has for them on any kernel."""
