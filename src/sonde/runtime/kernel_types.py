"""The embedded engine described as a kernel: the BTF that programs for it are compiled with.

Its structures have the names that Linux gives them and the few members that can be known from outside of the kernel;
what is not in here does not exist for a program. Layouts are those of C. `thread_info` and `pt_regs` are as Linux has
them on this processor, signals' information as the system passes it to users (include/uapi/asm-generic/siginfo.h); the
others are this engine's own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from sonde.arch import registers, system_calls
from sonde.bpf.btf_writer import INT_BOOL, INT_CHAR, INT_SIGNED, BtfBuilder, WrittenMember
from sonde.typed import NamedTuple

_SIGNAL_INFORMATION = (
    ("si_signo", "int"), ("si_errno", "int"), ("si_code", "int"), ("_sifields", "union __sifields"),
)  # fmt: skip

_STRUCTURES: dict[str, tuple[tuple[str, str], ...]] = {
    "struct thread_info": system_calls.THREAD_INFO,
    "struct pid_namespace": (("level", "unsigned int"),),
    "struct upid": (("nr", "int"), ("ns", "struct pid_namespace *")),
    "struct pid": (("level", "unsigned int"), ("numbers", "struct upid[1]")),
    "struct kuid": (("val", "unsigned int"),),
    "struct kgid": (("val", "unsigned int"),),
    "struct cred": (
        ("uid", "struct kuid"), ("gid", "struct kgid"), ("suid", "struct kuid"), ("sgid", "struct kgid"),
        ("euid", "struct kuid"), ("egid", "struct kgid"), ("fsuid", "struct kuid"), ("fsgid", "struct kgid"),
    ),
    "struct mm_context": (("vdso", "void *"),),
    "struct mm_struct": (
        ("arg_start", "unsigned long"), ("arg_end", "unsigned long"), ("env_start", "unsigned long"),
        ("env_end", "unsigned long"), ("start_stack", "unsigned long"), ("context", "struct mm_context"),
    ),
    "struct tty_struct": (("index", "int"),),
    "struct signal_struct": (
        ("nr_threads", "int"), ("flags", "unsigned int"), ("group_exit_code", "int"), ("pids", "struct pid *[4]"),
        ("tty", "struct tty_struct *"),
    ),
    "struct file_system_type": (("name", "char *"),),
    "struct super_block": (("s_type", "struct file_system_type *"),),
    "struct vfsmount": (("mnt_sb", "struct super_block *"),),
    "struct qstr": (("name", "char *"),),
    "struct dentry": (("d_name", "struct qstr"),),
    "struct path": (("mnt", "struct vfsmount *"), ("dentry", "struct dentry *")),
    "struct file": (("f_flags", "unsigned int"), ("f_pos", "long long"), ("f_path", "struct path")),
    "struct fs_struct": (("root", "struct path"), ("pwd", "struct path")),
    "struct thread_struct": ((registers.THREAD_POINTER_MEMBER, "unsigned long"),),
    "struct task_struct": (
        ("thread_info", "struct thread_info"), ("comm", "char[16]"), ("pid", "int"), ("tgid", "int"),
        ("real_parent", "struct task_struct *"), ("parent", "struct task_struct *"),
        ("group_leader", "struct task_struct *"), ("cred", "struct cred *"), ("real_cred", "struct cred *"),
        ("mm", "struct mm_struct *"), ("signal", "struct signal_struct *"), ("__state", "unsigned int"),
        ("exit_state", "int"), ("exit_code", "int"), ("prio", "int"), ("fs", "struct fs_struct *"),
        ("thread", "struct thread_struct"),
    ),
    "struct pt_regs": tuple((name, "unsigned long") for name in registers.MEMBERS),
    "struct trace_entry": (
        ("type", "unsigned short"), ("flags", "unsigned char"), ("preempt_count", "unsigned char"), ("pid", "int"),
    ),
    "struct trace_event_raw_sys_enter": (
        ("ent", "struct trace_entry"), ("id", "long"), ("args", "unsigned long[6]"), ("__data", "char[0]"),
    ),
    "struct trace_event_raw_sys_exit": (
        ("ent", "struct trace_entry"), ("id", "long"), ("ret", "long"), ("__data", "char[0]"),
    ),
    "struct syscall_trace_enter": (("ent", "struct trace_entry"), ("nr", "int"), ("args", "unsigned long[0]")),
    "struct syscall_trace_exit": (("ent", "struct trace_entry"), ("nr", "int"), ("ret", "long")),
    "struct bpf_raw_tracepoint_args": (("args", "unsigned long long[0]"),),
    "struct bpf_perf_event_data": (
        ("regs", "struct pt_regs"), ("sample_period", "unsigned long long"), ("addr", "unsigned long long"),
    ),
    "union sigval": (("sival_int", "int"), ("sival_ptr", "void *")),
    "struct __sikill": (("_pid", "int"), ("_uid", "unsigned int")),
    "struct __sitimer": (
        ("_tid", "int"), ("_overrun", "int"), ("_sigval", "union sigval"), ("_sys_private", "int"),
    ),
    "struct __sirt": (("_pid", "int"), ("_uid", "unsigned int"), ("_sigval", "union sigval")),
    "struct __sichild": (
        ("_pid", "int"), ("_uid", "unsigned int"), ("_status", "int"), ("_utime", "long"), ("_stime", "long"),
    ),
    "struct __sifault": (("_addr", "void *"),),
    "struct __sipoll": (("_band", "long"), ("_fd", "int")),
    "struct __sisys": (("_call_addr", "void *"), ("_syscall", "int"), ("_arch", "unsigned int")),
    "union __sifields": (
        ("_kill", "struct __sikill"), ("_timer", "struct __sitimer"), ("_rt", "struct __sirt"),
        ("_sigchld", "struct __sichild"), ("_sigfault", "struct __sifault"), ("_sigpoll", "struct __sipoll"),
        ("_sigsys", "struct __sisys"),
    ),
    "struct kernel_siginfo": _SIGNAL_INFORMATION,
    "struct siginfo": _SIGNAL_INFORMATION,
}  # fmt: skip
"""Members by structure, each structure behind those that it contains."""

_TYPEDEFS = {
    "pid_t": "int", "uid_t": "unsigned int", "gid_t": "unsigned int", "mode_t": "unsigned short", "size_t":
    "unsigned long", "ssize_t": "long", "umode_t": "unsigned short", "loff_t": "long long", "off_t": "long",
    "key_t": "int", "clockid_t": "int", "u64": "unsigned long long", "u32": "unsigned int", "siginfo_t":
    "struct siginfo", "bool": "_Bool",
}  # fmt: skip

_ENUMERATORS = {"pid_type": ("PIDTYPE_PID", "PIDTYPE_TGID", "PIDTYPE_PGID", "PIDTYPE_SID", "PIDTYPE_MAX")}
"""By enumeration, counted from 0 (include/linux/pid_types.h)."""

TRACEPOINTS: dict[str, tuple[tuple[str, str], ...]] = {
    "sys_enter": (("regs", "struct pt_regs *"), ("id", "long")),
    "sys_exit": (("regs", "struct pt_regs *"), ("ret", "long")),
    "sched_process_fork": (("parent", "struct task_struct *"), ("child", "struct task_struct *")),
    "sched_process_exec": (("p", "struct task_struct *"), ("old_pid", "int")),
    "sched_process_exit": (("p", "struct task_struct *"), ("group_dead", "_Bool")),
    "signal_generate": (
        ("sig", "int"), ("info", "struct kernel_siginfo *"), ("task", "struct task_struct *"), ("group", "int"),
        ("result", "int"),
    ),
    "signal_deliver": (("sig", "int"), ("info", "struct kernel_siginfo *")),
    "switch_in": (("next", "struct task_struct *"),),
    "switch_out": (("prev", "struct task_struct *"), ("runnable", "int")),
}  # fmt: skip
"""The tracepoints that the engine fires, with their arguments: those of the kernel's that can be known. `switch_in` and
`switch_out` are the engine's own, since of sched_switch too little is known: a thread gets a CPU; it leaves it, though
it could go on (`runnable`) or because it cannot."""


_TASK = "struct task_struct *"

REPLAYED: dict[str, tuple[tuple[str, str], ...]] = {
    "sched_switch": (("preempt", "_Bool"), ("prev", _TASK), ("next", _TASK), ("prev_state", "unsigned int")),
    "sched_wakeup": (("p", _TASK),), "sched_wakeup_new": (("p", _TASK),), "sched_waking": (("p", _TASK),),
}  # fmt: skip
"""Tracepoints of the kernel's that others' recordings may tell of."""


def pointed_to(tracepoint: str) -> tuple[str, ...]:
    """For each argument of a tracepoint the name of the structure that it points to, "" for a number."""
    kinds = (kind for _, kind in TRACEPOINTS[tracepoint])
    return tuple(kind.removeprefix("struct ").removesuffix(" *") if kind.endswith("*") else "" for kind in kinds)


_INTEGERS = {
    "char": (1, INT_SIGNED | INT_CHAR), "unsigned char": (1, 0),
    "short": (2, INT_SIGNED), "unsigned short": (2, 0), "int": (4, INT_SIGNED),
    "unsigned int": (4, 0), "long": (8, INT_SIGNED), "unsigned long": (8, 0), "long long": (8, INT_SIGNED),
    "unsigned long long": (8, 0), "_Bool": (1, INT_BOOL),
}  # fmt: skip
_DWARF_NAMES = {
    "short": "short int", "unsigned short": "short unsigned int", "long": "long int",
    "unsigned long": "long unsigned int", "long long": "long long int",
    "unsigned long long": "long long unsigned int",
}  # fmt: skip
"""What compilers, and so BTF, call them."""

_POINTER = 8


class StructureLayout(NamedTuple):
    """Size, alignment and members' offsets, in bytes."""

    size: int
    alignment: int
    offsets: dict[str, int]


@cache
def layout(structure: str) -> StructureLayout:
    """The layout of a `struct NAME` or `union NAME`."""
    offsets, end, size, strictest = {}, 0, 0, 1
    for name, kind in _STRUCTURES[structure]:
        taken, alignment = _measure(kind)
        start = 0 if structure.startswith("union ") else -(-end // alignment) * alignment
        offsets[name], end = start, start + taken
        size, strictest = max(size, end), max(strictest, alignment)
    return StructureLayout(-(-size // strictest) * strictest, strictest, offsets)


def size_of(name: str) -> int | None:
    """Bytes of the structure `struct NAME`, None if the engine has none."""
    return layout(f"struct {name}").size if f"struct {name}" in _STRUCTURES else None


def _array(kind: str) -> tuple[str, int | None]:
    """What an array has as elements, and how many; (`kind`, None) of what is none."""
    element, _, count = kind.rpartition("[")
    return (element.strip(), int(count[:-1])) if element else (kind, None)


def _measure(kind: str) -> tuple[int, int]:
    """Size and alignment of a type."""
    element, count = _array(kind)
    if count is not None:
        size, alignment = _measure(element)
        return size * count, alignment
    if kind.endswith("*"):
        return _POINTER, _POINTER
    if kind in _INTEGERS:
        return _INTEGERS[kind][0], _INTEGERS[kind][0]
    return layout(kind)[:2]


class _Writer:
    """Adds each type once; what a structure points to may follow it."""

    def __init__(self, tracepoints: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        self._tracepoints = tracepoints
        self.builder = BtfBuilder()
        self._ids: dict[str, int] = {"void": 0}
        # A type may point to what stands behind it, so structures have their numbers before all else.
        self._ids |= {name: number for number, name in enumerate(self._first(), 1)}
        for name, (size, encoding) in _INTEGERS.items():
            self.builder.add_int(_DWARF_NAMES.get(name, name), size, encoding)
        pending = [kind for kind in self._pointers_and_arrays() if kind not in self._ids]
        self._ids |= {kind: len(self._ids) + index for index, kind in enumerate(pending)}
        for name, members in _STRUCTURES.items():
            self._add_structure(name, members)
        for kind in pending:
            self._add_compound(kind)

    def _first(self) -> list[str]:
        return [*_INTEGERS, *_STRUCTURES]

    def _pointers_and_arrays(self) -> list[str]:
        """All that are mentioned, each behind what it is made of."""
        lists = (*_STRUCTURES.values(), *self._tracepoints.values())
        mentioned = [kind for members in lists for _, kind in members]
        found: dict[str, None] = {"void *": None}
        for kind in mentioned:
            element, _ = _array(kind)
            for part in dict.fromkeys((element, kind)):
                if part not in _INTEGERS and part not in _STRUCTURES:
                    found[part] = None
        return list(found)

    def _add_structure(self, name: str, members: tuple[tuple[str, str], ...]) -> None:
        keyword, _, tag = name.partition(" ")
        size, _, offsets = layout(name)
        add = self.builder.add_struct if keyword == "struct" else self.builder.add_union
        add(tag, size, [WrittenMember(own, self._ids[kind], 8 * offsets[own]) for own, kind in members])

    def _add_compound(self, kind: str) -> None:
        element, count = _array(kind)
        if count is not None:
            self.builder.add_array(self._ids[element], self._ids["unsigned int"], count)
        else:
            self.builder.add_pointer(self._ids[kind[:-1].strip()])

    def add_named(self) -> None:
        """Typedefs, enumerations, and for each tracepoint what Linux declares: a typedef of a pointer to a function
        with its arguments behind a `void *`, and a function that has them with their names."""
        for name, kind in _TYPEDEFS.items():
            self.builder.add_typedef(name, self._ids[kind])
        for name, values in _ENUMERATORS.items():
            self.builder.add_enum(name, list(zip(values, range(len(values)), strict=True)))
        for name, arguments in self._tracepoints.items():
            parameters = [("__data", self._ids["void *"]), *((own, self._ids[kind]) for own, kind in arguments)]
            function = self.builder.add_function_type(self._ids["int"], parameters)
            self.builder.add_typedef(f"btf_trace_{name}", self.builder.add_pointer(function))
            self.builder.add_func(f"__traceiter_{name}", function)


def description(more: Collection[str] = ()) -> bytes:
    """The BTF: the same bytes each time. `more` are names of REPLAYED."""
    writer = _Writer(TRACEPOINTS | {name: REPLAYED[name] for name in REPLAYED if name in more})
    writer.add_named()
    return writer.builder.build()
