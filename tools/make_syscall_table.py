# ruff: noqa: E501
"""Write src/sonde/arch/x86_64/syscalls.py and compat_syscalls.py from the facts of the running kernel and the uapi
headers.

    python3 tools/make_syscall_table.py src/sonde/arch/x86_64

Numbers come from asm/unistd_64.h and asm/unistd_32.h, argument types and names from the tracefs formats of the
sys_enter events. A kernel built without some calls keeps what the table already has about them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HEADERS = Path("/usr/include/x86_64-linux-gnu/asm")
EVENTS = Path("/sys/kernel/tracing/events/syscalls")

# Where the function that implements a call, after which its trace event is named, has another name than the call
# (arch/x86/entry/syscalls/syscall_64.tbl).
IMPLEMENTED_BY = {
    "stat": "newstat",
    "fstat": "newfstat",
    "lstat": "newlstat",
    "uname": "newuname",
    "sendfile": "sendfile64",
    "umount2": "umount",
}

# Calls younger than the headers of common distributions; both tables share these numbers (scripts/syscall.tbl).
YOUNG = {
    "cachestat": 451,
    "fchmodat2": 452,
    "map_shadow_stack": 453,
    "futex_wake": 454,
    "futex_wait": 455,
    "futex_requeue": 456,
    "statmount": 457,
    "listmount": 458,
    "lsm_get_self_attr": 459,
    "lsm_set_self_attr": 460,
    "lsm_list_modules": 461,
    "mseal": 462,
    "setxattrat": 463,
    "getxattrat": 464,
    "listxattrat": 465,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_getattr": 468,
    "file_setattr": 469,
}
YOUNG_X86_64 = {"uretprobe": 335, "uprobe": 336}

# Calls that a kernel may be built without (include/linux/syscalls.h).
OPTIONAL = {
    "uselib": "const char* library",
    "init_module": "void* umod, unsigned long len, const char* uargs",
    "delete_module": "const char* name_user, unsigned int flags",
    "finit_module": "int fd, const char* uargs, int flags",
    "lookup_dcookie": "u64 cookie64, char* buf, size_t len",
    "kexec_load": "unsigned long entry, unsigned long nr_segments, struct kexec_segment* segments, unsigned long flags",
    "kexec_file_load": "int kernel_fd, int initrd_fd, unsigned long cmdline_len, const char* cmdline_ptr, "
    "unsigned long flags",
    "map_shadow_stack": "unsigned long addr, unsigned long size, unsigned int flags",
}

# Numbers reserved for what Linux does not have, or no longer has.
NEVER = {
    "break", "stty", "gtty", "ftime", "prof", "lock", "mpx", "ulimit", "profil", "idle", "create_module",
    "get_kernel_syms", "query_module", "afs_syscall", "nfsservctl", "getpmsg", "putpmsg", "vserver", "bdflush",
    "_sysctl", "tuxcall", "security", "epoll_ctl_old", "epoll_wait_old",
}  # fmt: skip
NEVER_X86_64 = {"set_thread_area", "get_thread_area"}

# 32-bit calls that take other arguments than the 64-bit call of their name: a pointer to a block of arguments,
# another order, 64-bit values in two halves, 16-bit identifiers.
OTHER_ARGUMENTS = {
    "select", "mmap", "clone", "sendfile", "pread64", "pwrite64", "readahead", "fadvise64", "sync_file_range",
    "fallocate", "fanotify_mark", "lookup_dcookie", "truncate64", "ftruncate64", "statfs64", "fstatfs64",
}  # fmt: skip


# Arguments of 32-bit calls that are not those of the 64-bit call of their name, as the functions have them that
# implement them (COMPAT_SYSCALL_DEFINEn, kernel/uid16.c, arch/x86/kernel/sys_ia32.c).
OWN_ARGUMENTS = """
waitpid: pid_t pid, int* stat_addr, int options
lchown: const char* filename, old_uid_t user, old_gid_t group
oldstat: const char* filename, struct __old_kernel_stat* statbuf
umount: char* name
setuid: old_uid_t uid
getuid:
stime: old_time32_t* tptr
oldfstat: unsigned int fd, struct __old_kernel_stat* statbuf
nice: int increment
setgid: old_gid_t gid
getgid:
signal: int sig, __sighandler_t handler
geteuid:
getegid:
oldolduname: struct oldold_utsname* name
sigaction: int sig, const struct compat_old_sigaction* act, struct compat_old_sigaction* oact
sgetmask:
ssetmask: int newmask
setreuid: old_uid_t ruid, old_uid_t euid
setregid: old_gid_t rgid, old_gid_t egid
sigsuspend: int unused1, int unused2, old_sigset_t mask
sigpending: compat_old_sigset_t* set
getgroups: int gidsetsize, old_gid_t* grouplist
setgroups: int gidsetsize, old_gid_t* grouplist
select: struct compat_sel_arg_struct* arg
oldlstat: const char* filename, struct __old_kernel_stat* statbuf
readdir: unsigned int fd, struct compat_old_linux_dirent* dirent, unsigned int count
mmap: struct mmap_arg_struct32* arg
fchown: unsigned int fd, old_uid_t user, old_gid_t group
socketcall: int call, u32* args
olduname: struct old_utsname* name
vm86old: struct vm86_struct* user_vm86
ipc: u32 call, int first, int second, u32 third, compat_uptr_t ptr, u32 fifth
sigreturn:
clone: unsigned long clone_flags, unsigned long newsp, int* parent_tidptr, unsigned long tls_val, int* child_tidptr
sigprocmask: int how, compat_old_sigset_t* nset, compat_old_sigset_t* oset
setfsuid: old_uid_t uid
setfsgid: old_gid_t gid
_llseek: unsigned int fd, unsigned long offset_high, unsigned long offset_low, loff_t* result, unsigned int whence
setresuid: old_uid_t ruid, old_uid_t euid, old_uid_t suid
getresuid: old_uid_t* ruidp, old_uid_t* euidp, old_uid_t* suidp
vm86: unsigned long cmd, unsigned long arg
setresgid: old_gid_t rgid, old_gid_t egid, old_gid_t sgid
getresgid: old_gid_t* rgidp, old_gid_t* egidp, old_gid_t* sgidp
pread64: unsigned int fd, char* ubuf, u32 count, u32 poslo, u32 poshi
pwrite64: unsigned int fd, const char* ubuf, u32 count, u32 poslo, u32 poshi
chown: const char* filename, old_uid_t user, old_gid_t group
sendfile: int out_fd, int in_fd, compat_off_t* offset, compat_size_t count
ugetrlimit: unsigned int resource, struct compat_rlimit* rlim
mmap2: unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, unsigned long fd, unsigned long pgoff
truncate64: const char* filename, unsigned long offset_low, unsigned long offset_high
ftruncate64: unsigned int fd, unsigned long offset_low, unsigned long offset_high
readahead: int fd, unsigned int off_lo, unsigned int off_hi, size_t count
set_thread_area: struct user_desc* u_info
get_thread_area: struct user_desc* u_info
fadvise64: int fd, unsigned int offset_lo, unsigned int offset_hi, size_t len, int advice
lookup_dcookie: u32 w0, u32 w1, char* buf, compat_size_t len
statfs64: const char* pathname, compat_size_t sz, struct compat_statfs64* buf
fstatfs64: unsigned int fd, compat_size_t sz, struct compat_statfs64* buf
fadvise64_64: int fd, u32 offset_low, u32 offset_high, u32 len_low, u32 len_high, int advice
fstatat64: unsigned int dfd, const char* filename, struct stat64* statbuf, int flag
sync_file_range: int fd, unsigned int off_low, unsigned int off_hi, unsigned int n_low, unsigned int n_hi, int flags
fallocate: int fd, int mode, unsigned int offset_lo, unsigned int offset_hi, unsigned int len_lo, unsigned int len_hi
fanotify_mark: int fanotify_fd, unsigned int flags, u32 mask0, u32 mask1, int dfd, const char* pathname
"""


def own_arguments() -> dict[str, str]:
    rows = (line.partition(":") for line in OWN_ARGUMENTS.strip().splitlines())
    return {name: text.strip() for name, _, text in rows}


def numbers(header: str) -> dict[str, int]:
    text = (HEADERS / header).read_text()
    found = re.findall(r"#define __NR_(\w+) (\d+)", text)
    return {name: int(number) for name, number in found if name not in NEVER} | YOUNG


def arguments(name: str) -> str | None:
    """`type name, type name`, None if this kernel has no such event."""
    path = EVENTS / f"sys_enter_{name}" / "format"
    if not path.exists():
        return None
    fields = re.findall(r"field:([^;]+);\toffset:(\d+)", path.read_text())
    return ", ".join(re.sub(r" \*", "*", field) for field, offset in fields if int(offset) >= 16)


def native_table(known: dict[str, str]) -> list[str]:
    rows = []
    for call, number in sorted((numbers("unistd_64.h") | YOUNG_X86_64).items(), key=lambda item: item[1]):
        if call in NEVER_X86_64:
            continue
        name = IMPLEMENTED_BY.get(call, call)
        found = arguments(name)
        signature = known.get(name, OPTIONAL.get(name)) if found is None else found
        spelling = name if name == call else f"{name}={call}"
        rows.append(f"{number} {spelling}" + ("" if signature is None else f"({signature})"))
    return rows


def compat_table(native: list[str]) -> list[str]:
    calls = {row.split("(")[0].split()[1].split("=")[-1] for row in native}
    table = numbers("unistd_32.h")
    rows = []
    own = own_arguments()
    for call, number in sorted(table.items(), key=lambda item: item[1]):
        like = re.sub(r"_time64$|64$|32$", "", call.lstrip("_").removeprefix("new"))
        like = call if call in calls else like
        same = like in calls and f"{call}32" not in table and call not in OTHER_ARGUMENTS
        arguments = f"={like}" if same else f"({own[call]})" if call in own else ""
        rows.append(f"{number} {call}{arguments}")
    return rows


def previous() -> dict[str, str]:
    sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
    try:
        from sonde.arch.x86_64.syscalls import CALLS
    except ImportError:
        return {}
    rows = re.findall(r"^\d+ (\w+)[^(\n]*\((.*)\)$", CALLS, re.MULTILINE)
    return dict(rows)


def write(path: Path, title: str, rows: list[str]) -> None:
    exempt = "# ruff: noqa: E501\n" if max(map(len, rows)) > 120 else ""
    text = exempt + title + '\nCALLS = """\\\n' + "\n".join(rows) + '\n"""\n'
    path.write_text(text)


X86_64 = '''"""The 64-bit system calls of x86: made by tools/make_syscall_table.py, not to be edited.

A line has the number, the name (of the function that implements the call, after which its trace event is called),
`=call` where the call has another name, and the arguments in parentheses where they are known.
"""
'''

I386 = '''"""The 32-bit system calls of x86: made by tools/make_syscall_table.py, not to be edited.

A line has the number, the name, and `=call` where the call takes the arguments of that 64-bit call, else its own
arguments in parentheses where they are known.
"""
'''


def main() -> None:
    directory = Path(sys.argv[1])
    native = native_table(previous())
    write(directory / "syscalls_x86_64.py", X86_64, native)
    write(directory / "compat_syscalls.py", I386, compat_table(native))


main()
