"""The `fsinfo` provider: what is done with files, by system calls that succeed.

Linux has no tracepoints in its layer of file systems, so that what the kernel does with files for itself, and through
io_uring, is not among these. The calls are the 64-bit ones.
"""

from __future__ import annotations

from sonde.arch.call_numbers import native
from sonde.providers.derived.definition import Absent, Definition, Definitions, NativeArgument, ShownArgument
from sonde.providers.derived.syscalls import ARGUMENTS, CALLED, CALLING, IS_COMPAT

_SHOWN = (ShownArgument("fileinfo_t *", 0), ShownArgument("int", 1))
_OPEN_FILE = "curthread->files->fdt->fd[(int){}]"


def _is(*names: str) -> str:
    called = " || ".join(f"{CALLED} == {each}" for each in native(*names))
    return f"!{IS_COMPAT} && ({called})"


def _done(condition: str, value: NativeArgument, result: str = "0") -> Definition:
    return Definition("sys_exit", f"args->ret >= 0 && {condition}", (value, NativeArgument("int", result)), _SHOWN)


def _open_file(*calls: str, number: str = ARGUMENTS[0], result: str = "0", condition: str = "") -> Definition:
    """Done with the open file whose number is an argument, by default the first."""
    whole = f"{_is(*calls)} && {condition}" if condition else _is(*calls)
    return _done(whole, NativeArgument("struct file *", _OPEN_FILE.format(number)), result)


def _path(*calls: str, argument: str = ARGUMENTS[0], condition: str = "") -> Definition:
    """Done with a path that the call is given, by default as its first argument."""
    whole = f"{_is(*calls)} && {condition}" if condition else _is(*calls)
    return _done(whole, NativeArgument("file_path_t *", f"(file_path_t *){argument}"))


def _joined(first: Definition, *more: Definition) -> tuple[Definition, ...]:
    return (first._replace(more=more),)


_AT = ARGUMENTS[1]
"""The path of the calls that begin with the number of a directory."""
_EMPTY = f"({CALLED} == {native('newfstatat')[0]} ? {ARGUMENTS[3]} : {ARGUMENTS[2]}) & 0x1000"
"""AT_EMPTY_PATH of newfstatat and statx: it is the open file, not a path from there."""
_REMOVES_DIRECTORY = f"({ARGUMENTS[2]} & 0x200)"
"""AT_REMOVEDIR of unlinkat."""
_SECOND = ARGUMENTS[1]
_ABOUT_LOCKS = f"(({_SECOND} >= 5 && {_SECOND} <= 7) || ({_SECOND} >= 36 && {_SECOND} <= 38))"
"""F_GETLK, F_SETLK, F_SETLKW and F_OFD_*."""

DEFINITIONS: Definitions = {
    "access": _joined(_path("access"), _path("faccessat", "faccessat2", argument=_AT)),
    "close": (
        Definition(
            "sys_enter",
            f"!{IS_COMPAT} && {CALLING} == {native('close')[0]} && "
            f"(uint32_t){ARGUMENTS[0]} < curthread->files->fdt->max_fds && "
            f"{_OPEN_FILE.format(ARGUMENTS[0])} != NULL",
            (NativeArgument("struct file *", _OPEN_FILE.format(ARGUMENTS[0])), NativeArgument("int", "0")),
            _SHOWN,
        ),
    ),
    "create": _joined(
        _open_file("creat", number="args->ret"),
        _open_file("open", number="args->ret", condition=f"({ARGUMENTS[1]} & O_CREAT)"),
        _open_file("openat", number="args->ret", condition=f"({ARGUMENTS[2]} & O_CREAT)"),
        _path("mknod"),
        _path("mknodat", argument=_AT),
    ),
    "frlock": (_open_file("fcntl", condition=_ABOUT_LOCKS),),
    "fsync": (_open_file("fsync", "fdatasync", "sync_file_range"),),
    "getattr": _joined(
        _open_file("fstat"),
        _path("stat", "lstat"),
        _path("newfstatat", "statx", argument=_AT, condition=f"!({_EMPTY})"),
        _open_file("newfstatat", "statx", condition=f"({_EMPTY}) && (int){ARGUMENTS[0]} >= 0"),
    ),
    "getsecattr": _joined(
        _open_file("fgetxattr", "flistxattr"), _path("getxattr", "lgetxattr", "listxattr", "llistxattr")
    ),
    "ioctl": (_open_file("ioctl"),),
    "link": _joined(_path("link"), _path("linkat", argument=_AT)),
    "map": (_open_file("mmap", number=ARGUMENTS[4], condition=f"({ARGUMENTS[3]} & 0x20) == 0"),),
    "mkdir": _joined(_path("mkdir"), _path("mkdirat", argument=_AT)),
    "open": (_open_file("open", "creat", "openat", "openat2", number="args->ret"),),
    "read": (_open_file("read", "pread64", "readv", "preadv", "preadv2", result="args->ret"),),
    "readdir": (_open_file("getdents", "getdents64", result="args->ret"),),
    "readlink": _joined(_path("readlink"), _path("readlinkat", argument=_AT)),
    "remove": _joined(
        _path("unlink"),
        _path("unlinkat", argument=_AT, condition=f"!{_REMOVES_DIRECTORY}"),
    ),
    "rename": _joined(_path("rename"), _path("renameat", "renameat2", argument=_AT)),
    "rmdir": _joined(
        _path("rmdir"),
        _path("unlinkat", argument=_AT, condition=_REMOVES_DIRECTORY),
    ),
    "seek": (_open_file("lseek"),),
    "setattr": _joined(
        _open_file("ftruncate", "fchmod", "fchown"),
        _path("truncate", "chmod", "chown", "lchown", "utime", "utimes"),
        _path("fchownat", "futimesat", "fchmodat", "fchmodat2", argument=_AT),
        _path("utimensat", argument=_AT, condition=f"{_AT} != 0"),
        _open_file("utimensat", condition=f"{_AT} == 0"),
    ),
    "setfl": (_open_file("fcntl", condition=f"{ARGUMENTS[1]} == 4"),),
    "setsecattr": _joined(
        _open_file("fsetxattr", "fremovexattr"), _path("setxattr", "lsetxattr", "removexattr", "lremovexattr")
    ),
    "space": (_open_file("fallocate"),),
    "symlink": _joined(_path("symlink", argument=_AT), _path("symlinkat", argument=ARGUMENTS[2])),
    "write": (_open_file("write", "pwrite64", "writev", "pwritev", "pwritev2", result="args->ret"),),
}

_INSIDE = "Linux does this within its file systems, without a tracepoint"

_WORDS = (
    "addmap cmp delmap dispose dump* fid getpage inactive lookup pageio pathconf poll putpage realvp rwlock rwunlock"
)
ABSENT: Absent = dict.fromkeys(f"{_WORDS} shrlock vnevent".split(), _INSIDE)
