"""The `fsinfo` provider: what is done with files, by system calls that succeed.

Linux has no tracepoints in its layer of file systems, so that what the kernel does with files for itself, and through
io_uring, is not among these. The calls are the 64-bit ones.
"""

from __future__ import annotations

from sonde.providers.derived.definition import Absent, Definition, Definitions, Shown, Value

_SHOWN = (Shown("fileinfo_t *", 0), Shown("int", 1))
_NUMBER = "(int)args->regs->orig_ax"
_OPEN_FILE = "curthread->files->fdt->fd[(int){}]"


def _is(*numbers: int) -> str:
    called = " || ".join(f"{_NUMBER} == {each}" for each in numbers)
    return f"!(curthread->thread_info.status & 2) && ({called})"


def _done(condition: str, value: Value, result: str = "0") -> Definition:
    return Definition("sys_exit", f"args->ret >= 0 && {condition}", (value, Value("int", result)), _SHOWN)


def _open_file(*numbers: int, number: str = "args->regs->di", result: str = "0", condition: str = "") -> Definition:
    """Done with the open file whose number is an argument, by default the first."""
    whole = f"{_is(*numbers)} && {condition}" if condition else _is(*numbers)
    return _done(whole, Value("struct file *", _OPEN_FILE.format(number)), result)


def _path(*numbers: int, argument: str = "args->regs->di", condition: str = "") -> Definition:
    """Done with a path that the call is given, by default as its first argument."""
    whole = f"{_is(*numbers)} && {condition}" if condition else _is(*numbers)
    return _done(whole, Value("file_path_t *", f"(file_path_t *){argument}"))


def _joined(first: Definition, *more: Definition) -> tuple[Definition, ...]:
    return (first._replace(more=more),)


_AT = "args->regs->si"
"""The path of the calls that begin with the number of a directory."""
_EMPTY = f"({_NUMBER} == 262 ? args->regs->r10 : args->regs->dx) & 0x1000"
"""AT_EMPTY_PATH of newfstatat and statx: it is the open file, not a path from there."""
_REMOVES_DIRECTORY = "(args->regs->dx & 0x200)"
"""AT_REMOVEDIR of unlinkat."""
_ABOUT_LOCKS = "((args->regs->si >= 5 && args->regs->si <= 7) || (args->regs->si >= 36 && args->regs->si <= 38))"
"""F_GETLK, F_SETLK, F_SETLKW and F_OFD_*."""

DEFINITIONS: Definitions = {
    "access": _joined(_path(21), _path(269, 439, argument=_AT)),
    "close": (
        Definition(
            "sys_enter",
            "!(curthread->thread_info.status & 2) && (int)args->id == 3 && "
            f"(uint32_t)args->regs->di < curthread->files->fdt->max_fds && "
            f"{_OPEN_FILE.format('args->regs->di')} != NULL",
            (Value("struct file *", _OPEN_FILE.format("args->regs->di")), Value("int", "0")),
            _SHOWN,
        ),
    ),
    "create": _joined(
        _open_file(85, number="args->ret"),
        _open_file(2, number="args->ret", condition="(args->regs->si & O_CREAT)"),
        _open_file(257, number="args->ret", condition="(args->regs->dx & O_CREAT)"),
        _path(133),
        _path(259, argument=_AT),
    ),
    "frlock": (_open_file(72, condition=_ABOUT_LOCKS),),
    "fsync": (_open_file(74, 75, 277),),
    "getattr": _joined(
        _open_file(5),
        _path(4, 6),
        _path(262, 332, argument=_AT, condition=f"!({_EMPTY})"),
        _open_file(262, 332, condition=f"({_EMPTY}) && (int)args->regs->di >= 0"),
    ),
    "getsecattr": _joined(_open_file(193, 196), _path(191, 192, 194, 195)),
    "ioctl": (_open_file(16),),
    "link": _joined(_path(86), _path(265, argument=_AT)),
    "map": (_open_file(9, number="args->regs->r8", condition="(args->regs->r10 & 0x20) == 0"),),
    "mkdir": _joined(_path(83), _path(258, argument=_AT)),
    "open": (_open_file(2, 85, 257, 437, number="args->ret"),),
    "read": (_open_file(0, 17, 19, 295, 327, result="args->ret"),),
    "readdir": (_open_file(78, 217, result="args->ret"),),
    "readlink": _joined(_path(89), _path(267, argument=_AT)),
    "remove": _joined(
        _path(87),
        _path(263, argument=_AT, condition=f"!{_REMOVES_DIRECTORY}"),
    ),
    "rename": _joined(_path(82), _path(264, 316, argument=_AT)),
    "rmdir": _joined(
        _path(84),
        _path(263, argument=_AT, condition=_REMOVES_DIRECTORY),
    ),
    "seek": (_open_file(8),),
    "setattr": _joined(
        _open_file(77, 91, 93),
        _path(76, 90, 92, 94, 132, 235),
        _path(260, 261, 268, 452, argument=_AT),
        _path(280, argument=_AT, condition=f"{_AT} != 0"),
        _open_file(280, condition=f"{_AT} == 0"),
    ),
    "setfl": (_open_file(72, condition="args->regs->si == 4"),),
    "setsecattr": _joined(_open_file(190, 199), _path(188, 189, 197, 198)),
    "space": (_open_file(285),),
    "symlink": _joined(_path(88, argument=_AT), _path(266, argument="args->regs->dx")),
    "write": (_open_file(1, 18, 20, 296, 328, result="args->ret"),),
}

_INSIDE = "Linux does this within its file systems, without a tracepoint"

_WORDS = (
    "addmap cmp delmap dispose dump* fid getpage inactive lookup pageio pathconf poll putpage realvp rwlock rwunlock"
)
ABSENT: Absent = dict.fromkeys(f"{_WORDS} shrlock vnevent".split(), _INSIDE)
