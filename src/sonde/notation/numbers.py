"""Numbers of system calls as text: flags, errors, signals, modes, results."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from socket import ntohs

from sonde.arch.call_numbers import native_names
from sonde.bpf import helpers
from sonde.notation.tables import NameTable, numbered, tables

_WORD = (1 << 64) - 1
_HALF = (1 << 32) - 1
_WIDE = frozenset({"clone3", "statx_attributes", "fs", "sigaction"})
"""Tables of numbers that have more than 32 bits; all else are int to the kernel, whatever the register holds above."""

_RESTARTED = {
    512: "To be restarted if SA_RESTART is set",
    513: "To be restarted",
    514: "To be restarted if no handler",
    516: "Interrupted by signal",
}
"""What the kernel keeps to itself (include/linux/errno.h), in strace's words."""

_REAL_TIME = 32
"""The first real-time signal: strace counts them from the kernel's."""

LARGEST_ERRNO = helpers.MAX_ERRNO

_AT_FDCWD = -100
_HUGE_SHIFT = 26
_STATX_SYNC = 0x6000
"""AT_STATX_SYNC_TYPE."""


def names() -> list[str]:
    """What `number_text` knows, in alphabetical order."""
    return sorted({*tables(), *_COMPUTED})


@lru_cache(4096)
def number_text(name: str, number: int) -> bytes:
    """A signed number of 64 bits by the table or rule `name`; as a decimal number where there is no such."""
    if (rule := _COMPUTED.get(name)) is not None:
        return rule(number).encode()
    table = tables().get(name)
    if table is None:
        return b"%d" % number
    return table_text(table, number & (_WORD if name in _WIDE else _HALF)).encode()


def table_text(table: NameTable, number: int) -> str:
    """An unsigned number."""
    if table.kind == "values":
        return table.by_number().get(number) or _unnamed(number, table.unknown)
    value, rest = number & table.mask, number & ~table.mask
    shown = []
    if table.mask:
        values = {each: name for name, each in reversed(table.names) if not each & ~table.mask}
        shown.append(values.get(value) or _unnamed(value, table.unknown))
        if not rest:
            return shown[0]
    elif not number:
        return next((name for name, each in table.names if not each), "0")
    flags = []
    for name, each in table.names:
        if each & ~table.mask and each & rest == each:
            flags.append(name)
            rest &= ~each
    if rest:
        flags.append(f"{rest:#x}" if shown or flags else _unnamed(rest, table.unknown))
    return "|".join(shown + flags)


def _unnamed(number: int, unknown: str) -> str:
    return hexadecimal(number) + (f" /* {unknown} */" if unknown else "")


def errno_name(number: int) -> str:
    """ENOENT of 2; the number where it has no name."""
    return numbered("errno").get(number, str(number))


def errno_meaning(number: int) -> str:
    """What the C library says of an error."""
    return _RESTARTED.get(number) or os.strerror(number)


def signal_name(number: int) -> str:
    """SIGINT of 2, SIGRT_1 of 33; the number where there is no such signal."""
    number &= _HALF
    if number < _REAL_TIME:
        return numbered("signal").get(number, str(number))
    if number == _REAL_TIME:
        return "SIGRTMIN"
    return f"SIGRT_{number - _REAL_TIME}" if number <= 64 else str(number)


def signal_set(number: int) -> str:
    """The signals of a mask of 64 bits; where most are set, those that are not."""
    number &= _WORD
    is_inverted = number.bit_count() > 42
    shown = ~number & _WORD if is_inverted else number
    words = [_short_signal(bit + 1) for bit in range(64) if shown >> bit & 1]
    return f"{'~' if is_inverted else ''}[{' '.join(words)}]"


def _short_signal(number: int) -> str:
    return signal_name(number).removeprefix("SIG")


def address(number: int) -> str:
    return f"{number & _WORD:#x}" if number else "NULL"


def permissions(number: int) -> str:
    """Bits of chmod(2), in octal."""
    number &= _HALF
    return f"0{number:o}".zfill(3)


def mode(number: int) -> str:
    """st_mode: the type of the file, and the bits."""
    number &= _HALF
    kind = numbered("file_type").get(number & 0o170000)
    bits = [name for bit, name in ((0o4000, "S_ISUID"), (0o2000, "S_ISGID"), (0o1000, "S_ISVTX")) if number & bit]
    if kind is None:
        return permissions(number & 0o177777)
    return "|".join([kind, *bits, permissions(number & 0o777)])


def directory(number: int) -> str:
    """The descriptor of openat() and its like."""
    number = _signed(number)
    return "AT_FDCWD" if number == _AT_FDCWD else str(number)


def result(number: int, form: Callable[[int], str] = str) -> str:
    """What a system call has returned: an error with its meaning, or the value."""
    if not -LARGEST_ERRNO <= number < 0:
        return form(number)
    error = -number
    if error >= 512:
        return f"? {errno_name(error)} ({errno_meaning(error)})"
    return f"-1 {errno_name(error)} ({errno_meaning(error)})"


def hexadecimal(number: int) -> str:
    """0x10; 0 has no prefix."""
    return f"{number & _WORD:#x}" if number else "0"


def _flag_result(name: str) -> Callable[[int], str]:
    """`0x8002 (flags O_RDWR|O_LARGEFILE)`."""

    def shown(number: int) -> str:
        flags = f" (flags {number_text(name, number).decode()})" if number or name == "open" else ""
        return hexadecimal(number) + flags

    return lambda number: result(number, shown)


def clone(number: int) -> str:
    """The flags of clone(2), and the signal of the end in their lowest bits."""
    number &= _HALF
    flags, signal = number & ~0xFF, number & 0xFF
    words = [table_text(tables()["clone"], flags)] if flags else []
    if signal or not words:
        words.append(signal_name(signal))
    return "|".join(words)


def flags_alone(name: str, number: int) -> str:
    """The flags of a table that has values besides, as pipe2(2) takes those of open(2)."""
    table = tables()[name]
    flags = tuple(each for each in table.names if each[1] & ~table.mask)
    return table_text(NameTable("flags", table.unknown or "O_???", 0, flags), number & _HALF)


def mapping(number: int) -> str:
    """The flags of mmap(2); the logarithm of the size of its pages is in the upper six bits."""
    return _with_page_size("map", "MAP", number)


def _with_page_size(name: str, prefix: str, number: int) -> str:
    number &= _HALF
    size, flags = number >> _HUGE_SHIFT, number & (1 << _HUGE_SHIFT) - 1
    words = [table_text(tables()[name], flags)] if flags or name == "map" or not size else []
    return "|".join([*words, f"{size}<<{prefix}_HUGE_SHIFT"] if size else words)


def ioctl(number: int) -> str:
    """All names that a request has, or what it is made of (asm-generic/ioctl.h)."""
    number &= _HALF
    if names := [name for name, each in tables()["ioctl"].names if each == number]:
        return " or ".join(sorted(names))
    direction = "|".join(name for bit, name in ((2, "_IOC_READ"), (1, "_IOC_WRITE")) if number >> 30 & bit)
    parts = (number >> 8 & 0xFF, number & 0xFF, number >> 16 & 0x3FFF)
    return f"_IOC({direction or '_IOC_NONE'}, {', '.join(map(hexadecimal, parts))})"


def statx_at(number: int) -> str:
    """The flags of statx(2): how to synchronize stands in two of them, AT_STATX_SYNC_AS_STAT for none."""
    number &= _HALF
    words = [number_text("statx_sync", number & _STATX_SYNC).decode()]
    if rest := number & ~_STATX_SYNC:
        words.append(table_text(tables()["at"]._replace(unknown=""), rest))
    return "|".join(words)


def socket_type(number: int) -> str:
    """The type of socket(2) with its flags; one without a name stands with what else has none."""
    number &= _HALF
    table = tables()["sock"]
    value, rest = number & table.mask, number & ~table.mask
    if value not in (each for _, each in table.names):
        return flags_alone("sock", number)
    return table_text(table, value) + (f"|{flags_alone('sock', rest)}" if rest else "")


_CLOCKED = frozenset({"FUTEX_WAIT", "FUTEX_WAIT_BITSET", "FUTEX_WAIT_REQUEUE_PI"})
"""What FUTEX_CLOCK_REALTIME may stand with."""


def futex(number: int) -> str:
    """FUTEX_WAIT_PRIVATE and its like, with FUTEX_CLOCK_REALTIME behind."""
    number &= _HALF
    private, clock = number & 0x80, number & 0x100
    name = numbered("futex").get(number & ~0x180)
    if name is None or (clock and name not in _CLOCKED):
        return f"{number:#x} /* FUTEX_??? */"
    shared = "|FUTEX_PRIVATE_FLAG" if name == "FUTEX_FD" else "_PRIVATE"
    return name + (shared if private else "") + ("|FUTEX_CLOCK_REALTIME" if clock else "")


def wait_status(number: int) -> str:
    """What wait4(2) says of a child."""
    number &= _HALF
    if number == 0xFFFF:
        return "{WIFCONTINUED(s)}"
    signal = number & 0x7F
    if not signal:
        return f"{{WIFEXITED(s) && WEXITSTATUS(s) == {number >> 8 & 0xFF}}}"
    if signal == 0x7F:
        return f"{{WIFSTOPPED(s) && WSTOPSIG(s) == {signal_name(number >> 8 & 0xFF)}}}"
    core = " && WCOREDUMP(s)" if number & 0x80 else ""
    return f"{{WIFSIGNALED(s) && WTERMSIG(s) == {signal_name(signal)}{core}}}"


def device(number: int) -> str:
    """A dev_t of stat(2)."""
    number &= _WORD
    return f"makedev({hexadecimal(os.major(number))}, {hexadecimal(os.minor(number))})"


def resource_limit(number: int) -> str:
    """A limit of prlimit64(2); whole kibibytes as a product."""
    number &= _WORD
    if number == _WORD:
        return "RLIM64_INFINITY"
    return f"{number >> 10}*1024" if number and not number & 1023 and number >> 10 > 1 else str(number)


def descriptor_set(number: int) -> str:
    """The first 64 descriptors of an fd_set."""
    number &= _WORD
    return f"[{' '.join(str(bit) for bit in range(64) if number >> bit & 1)}]"


def socket_option(number: int) -> str:
    """An option of setsockopt(2), with its level in the upper half."""
    level, option = number >> 32 & _HALF, number & _HALF
    return number_text(_LEVELS.get(level, "decimal"), option).decode()


def _signed(number: int) -> int:
    """The int that the kernel takes of a register."""
    number &= _HALF
    return number - (1 << 32) if number >> 31 else number


_LEVELS = {0: "ip", 1: "so", 6: "tcp", 41: "ipv6", 270: "netlink_option"}
"""The tables of options of SOL_IP, SOL_SOCKET, SOL_TCP, SOL_IPV6 and SOL_NETLINK."""

_COMPUTED: dict[str, Callable[[int], str]] = {
    "address": address,
    "clone": clone,
    "device": device,
    "dirfd": directory,
    "errno": lambda number: errno_name(abs(_signed(number))),
    "ethertype": lambda number: f"htons({number_text('ethernet', ntohs(number & 0xFFFF)).decode()})",
    "fd_set": descriptor_set,
    "futex": futex,
    "futex_bits": lambda number: "FUTEX_BITSET_MATCH_ANY" if number & _HALF == _HALF else hexadecimal(number & _HALF),
    "hex": hexadecimal,
    "ioctl": ioctl,
    "map": mapping,
    "memfd": lambda number: _with_page_size("memfd", "MFD", number),
    "mode": mode,
    "open_flags": lambda number: flags_alone("open", number),
    "permissions": permissions,
    "result": result,
    "result_address": lambda number: result(number, hexadecimal),
    "result_fd": _flag_result("fd"),
    "result_open": _flag_result("open"),
    "result_umask": lambda number: result(number, permissions),
    "rlim": resource_limit,
    "signal": signal_name,
    "sigset": signal_set,
    "sock": socket_type,
    "sock_flags": lambda number: flags_alone("sock", number),
    "sockopt": socket_option,
    "statx_at": statx_at,
    "strerror": lambda number: errno_meaning(abs(_signed(number))),
    "syscall": lambda number: native_names().get(number, str(number)),
    "wait_status": wait_status,
}
