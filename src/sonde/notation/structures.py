"""Structures of system calls, as they are in memory, as text. Each is that of 64-bit programs (include/uapi)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime

from sonde.notation.numbers import (
    address,
    device,
    errno_name,
    hexadecimal,
    mode,
    number_text,
    resource_limit,
    signal_set,
    wait_status,
)
from sonde.notation.quoting import quoted

_FIXED_HANDLERS = {0: "SIG_DFL", 1: "SIG_IGN", (1 << 64) - 1: "SIG_ERR"}
_SA_RESTORER = 0x04000000
_CLONE_PIDFD, _CLONE_SETTLS, _CLONE_PARENT_SETTID = 1 << 12, 1 << 19, 1 << 20
_CLONE_CHILD = 1 << 21 | 1 << 24
"""CLONE_CHILD_CLEARTID and CLONE_CHILD_SETTID."""
_UTIME_NOW, _UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
_SIGEV_THREAD_ID = 4
_CLD_EXITED = 1
_NUL = b"\0"


def _flags(table: str, number: int) -> str:
    return number_text(table, number).decode()


def _pair(first: str, second: str) -> Callable[[bytes], str]:
    def shown(data: bytes) -> str:
        a, b = struct.unpack_from("<qQ", data)
        return f"{{{first}={a}, {second}={b}}}"

    return shown


timespec, timeval = _pair("tv_sec", "tv_nsec"), _pair("tv_sec", "tv_usec")


def _interval(inner: Callable[[bytes], str]) -> Callable[[bytes], str]:
    return lambda data: f"{{it_interval={inner(data[:16])}, it_value={inner(data[16:32])}}}"


def stat(data: bytes) -> str:
    st_mode, special, size = struct.unpack_from("<24xI12xQq", data)
    what = f"st_rdev={device(special)}" if st_mode & 0o170000 in (0o020000, 0o060000) else f"st_size={size}"
    return f"{{st_mode={mode(st_mode)}, {what}, ...}}"


def statx(data: bytes) -> str:
    mask, _, attributes, _, _, _, st_mode, _, size = struct.unpack_from("<IIQIIIHxxQQ", data)
    return (
        f"{{stx_mask={_flags('statx', mask)}, stx_attributes={_flags('statx_attributes', attributes)}, "
        f"stx_mode={mode(st_mode)}, stx_size={size}, ...}}"
    )


def sigaction(data: bytes) -> str:
    handler, flags, restorer, mask = struct.unpack_from("<QQQQ", data)
    shown = _FIXED_HANDLERS.get(handler) or address(handler)
    end = f", sa_restorer={address(restorer)}" if flags & _SA_RESTORER else ""
    return f"{{sa_handler={shown}, sa_mask={signal_set(mask)}, sa_flags={_flags('sigaction', flags)}{end}}}"


def sigset(data: bytes) -> str:
    return signal_set(int.from_bytes(data[:8], "little"))


def stack(data: bytes) -> str:
    pointer, flags, size = struct.unpack_from("<QIxxxxQ", data)
    return f"{{ss_sp={address(pointer)}, ss_flags={_flags('sigaltstack', flags)}, ss_size={size}}}"


def rlimit(data: bytes) -> str:
    current, most = struct.unpack_from("<QQ", data)
    return f"{{rlim_cur={resource_limit(current)}, rlim_max={resource_limit(most)}}}"


def rusage(data: bytes) -> str:
    return f"{{ru_utime={timeval(data[:16])}, ru_stime={timeval(data[16:32])}, ...}}"


def utsname(data: bytes) -> str:
    """Three of its six texts."""
    texts = [quoted(data[at : at + 65].partition(_NUL)[0]) for at in range(0, 130, 65)]
    return f"{{sysname={texts[0]}, nodename={texts[1]}, ...}}"


def statfs(data: bytes) -> str:
    kind, block, blocks, free, available, files, free_files, first, second, name, fragment, flags = struct.unpack_from(
        "<QqQQQQQIIqqq", data
    )
    return (
        f"{{f_type={_flags('fs', kind)}, f_bsize={block}, f_blocks={blocks}, f_bfree={free}, f_bavail={available}, "
        f"f_files={files}, f_ffree={free_files}, f_fsid={{val=[{hexadecimal(first)}, {hexadecimal(second)}]}}, "
        f"f_namelen={name}, f_frsize={fragment}, f_flags={_flags('statfs', flags)}}}"
    )


def pollfd(data: bytes) -> str:
    descriptor, events = struct.unpack_from("<iH", data)
    return f"{{fd={descriptor}}}" if descriptor < 0 else f"{{fd={descriptor}, events={_flags('poll', events)}}}"


def returned_pollfd(data: bytes) -> str:
    """Nothing of a descriptor at which nothing has happened."""
    descriptor, _, events = struct.unpack_from("<iHH", data)
    return f"{{fd={descriptor}, revents={_flags('poll', events)}}}" if events else ""


def epoll_event(data: bytes) -> str:
    """Packed to 12 bytes (EPOLL_PACKED)."""
    events, half, whole = (*struct.unpack_from("<IIxxxx", data), int.from_bytes(data[4:12], "little"))
    return f"{{events={_flags('epoll', events)}, data={{u32={half}, u64={whole}}}}}"


def int_value(data: bytes) -> str:
    return str(int.from_bytes(data[:4], "little", signed=True))


def error(data: bytes) -> str:
    """What SO_ERROR gives."""
    number = int.from_bytes(data[:4], "little", signed=True)
    return errno_name(number) if number else "0"


def sigev(data: bytes) -> str:
    """A struct sigevent: what tells that a timer has run out."""
    value, signal, notify, thread = struct.unpack_from("<Qiii", data)
    shown = f", sigev_value={{sival_int={value & 0xFFFFFFFF}, sival_ptr={address(value)}}}" if value else ""
    target = f", sigev_notify_thread_id={thread}" if notify == _SIGEV_THREAD_ID else ""
    return (
        f"{{{shown[2:] + ', ' if shown else ''}sigev_signo={_flags('signal', signal)}, "
        f"sigev_notify={_flags('sigev', notify)}{target}}}"
    )


def sysinfo(data: bytes) -> str:
    uptime, *loads = struct.unpack_from("<q3Q", data)
    names = ("totalram", "freeram", "sharedram", "bufferram", "totalswap", "freeswap")
    words = [f"{n}={v}" for n, v in zip(names, struct.unpack_from("<6Q", data, 32), strict=True)]
    tasks, high, free_high, unit = struct.unpack_from("<HxxxxxxQQI", data, 80)
    return (
        f"{{uptime={uptime}, loads=[{', '.join(map(str, loads))}], {', '.join(words)}, procs={tasks}, "
        f"totalhigh={high}, freehigh={free_high}, mem_unit={unit}}}"
    )


def owner(data: bytes) -> str:
    """A struct f_owner_ex of fcntl(2)."""
    kind, number = struct.unpack_from("<ii", data)
    return f"{{type={_flags('file_owner', kind)}, pid={number}}}"


def status(data: bytes) -> str:
    return wait_status(int.from_bytes(data[:4], "little"))


def siginfo(data: bytes) -> str:
    """What waitid(2) says of a child: a siginfo_t of SIGCHLD; nothing of none."""
    signal, _, code, process, user, state, user_time, system_time = struct.unpack_from("<iiixxxxiIixxxxqq", data)
    if not signal:
        return "{}"
    shown = str(state) if code == _CLD_EXITED else _flags("signal", state)
    return (
        f"{{si_signo={_flags('signal', signal)}, si_code={_flags('siginfo', code)}, si_pid={process}, si_uid={user}, "
        f"si_status={shown}, si_utime={user_time}, si_stime={system_time}}}"
    )


def nodes(data: bytes) -> str:
    """A word of a mask of memory nodes."""
    return f"{int.from_bytes(data[:8], 'little'):#016x}" if any(data[:8]) else "0" * 16


def mempolicy(data: bytes) -> str:
    return _flags("mempolicy", int.from_bytes(data[:4], "little"))


def winsize(data: bytes) -> str:
    names = ("ws_row", "ws_col", "ws_xpixel", "ws_ypixel")
    return "{" + ", ".join(f"{n}={v}" for n, v in zip(names, struct.unpack_from("<HHHH", data), strict=True)) + "}"


def flock(data: bytes) -> str:
    kind, whence, start, length = struct.unpack_from("<hhxxxxqq", data)
    return f"{{l_type={_flags('lock', kind)}, l_whence={_flags('seek', whence)}, l_start={start}, l_len={length}}}"


def found_flock(data: bytes) -> str:
    """What F_GETLK gives, also who has the lock."""
    return f"{flock(data)[:-1]}, l_pid={struct.unpack_from('<24xi', data)[0]}}}"


def pointer(data: bytes) -> str:
    return address(int.from_bytes(data[:8], "little"))


def termios(data: bytes) -> str:
    """The kernel's struct termios; its modes of delay, speed and size of characters come first."""
    words = struct.unpack_from("<4I", data)
    shown = [_terminal_flags(masks, word) for masks, word in zip(_TERMINAL.values(), words, strict=True)]
    return "{" + ", ".join(f"{n}={v}" for n, v in zip(_TERMINAL, shown, strict=True)) + ", ...}"


def _terminal_flags(masks: dict[str, int], word: int) -> str:
    words = [_flags(table, word & mask) for table, mask in masks.items()]
    if "c_cflag" in masks and (speed := word & _INPUT_SPEED):
        words.insert(1, f"{_flags('c_cflag', speed >> 16)}<<IBSHIFT")
    return "|".join(each for each in words if each != "0")


_INPUT_SPEED = 0x100F << 16
"""CIBAUD."""

_TERMINAL = {
    "c_iflag": {"c_iflag": 0xFFFFFFFF},
    "c_oflag": {
        "c_oflag": 0x100, "c_oflag_cr": 0x600, "c_oflag_tab": 0x1800, "c_oflag_bs": 0x2000, "c_oflag_vt": 0x4000,
        "c_oflag_ff": 0xFFFF80FF,
    },
    "c_cflag": {"c_cflag": 0x100F, "c_cflag_cs": 0xEFF0EFF0},
    "c_lflag": {"c_lflag": 0xFFFFFFFF},
}  # fmt: skip
"""The members of struct termios: which table has which of their bits (asm-generic/termbits.h)."""


def linger(data: bytes) -> str:
    on, seconds = struct.unpack_from("<ii", data)
    return f"{{l_onoff={on}, l_linger={seconds}}}"


def clone_args(data: bytes) -> str:
    flags, pidfd, child, parent, signal, stack_at, size, tls = struct.unpack_from("<8Q", data)
    words = [f"flags={_flags('clone3', flags)}"]
    if flags & _CLONE_PIDFD:
        words.append(f"pidfd={address(pidfd)}")
    if flags & _CLONE_CHILD:
        words.append(f"child_tid={address(child)}")
    if flags & _CLONE_PARENT_SETTID:
        words.append(f"parent_tid={address(parent)}")
    words += [f"exit_signal={_flags('signal', signal)}", f"stack={address(stack_at)}"]
    words.append(f"stack_size={size:#x}" if size else "stack_size=0")
    if flags & _CLONE_SETTLS:
        words.append(f"tls={address(tls)}")
    return "{" + ", ".join(words) + "}"


def file_time(data: bytes) -> str:
    """A time of utimensat(2), with its date."""
    seconds, nanoseconds = struct.unpack_from("<qq", data)
    if nanoseconds in (_UTIME_NOW, _UTIME_OMIT):
        return "UTIME_NOW" if nanoseconds == _UTIME_NOW else "UTIME_OMIT"
    try:
        date = datetime.fromtimestamp(seconds, UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return timespec(data)
    fraction = f".{nanoseconds:09d}" if nanoseconds else ""
    return f"{timespec(data)} /* {date:%Y-%m-%dT%H:%M:%S}{fraction}{date:%z} */"


STRUCTURES: dict[str, tuple[int, int, Callable[[bytes], str], bool]] = {
    "clone_args": (64, 1, clone_args, False),
    "epoll_change": (12, 1, epoll_event, False),
    "epoll_event": (12, 32, epoll_event, True),
    "error": (4, 32, error, True),
    "file_time": (16, 2, file_time, True),
    "flock_found": (32, 1, found_flock, False),
    "flock": (32, 1, flock, False),
    "int": (4, 32, int_value, True),
    "itimerspec": (32, 1, _interval(timespec), False),
    "itimerval": (32, 1, _interval(timeval), False),
    "linger": (8, 1, linger, False),
    "file_owner": (8, 1, owner, False),
    "mempolicy": (4, 1, mempolicy, True),
    "nodemask": (8, 32, nodes, True),
    "pointer": (8, 16, pointer, True),
    "pollfd": (8, 32, pollfd, True),
    "pollfd_returned": (8, 32, returned_pollfd, True),
    "rlimit": (16, 1, rlimit, False),
    "rusage": (144, 1, rusage, False),
    "sigaction": (32, 1, sigaction, False),
    "sigevent": (64, 1, sigev, False),
    "siginfo": (48, 1, siginfo, False),
    "sigset": (8, 1, sigset, False),
    "stack": (24, 1, stack, False),
    "stat": (144, 1, stat, False),
    "statfs": (120, 1, statfs, False),
    "statx": (256, 1, statx, False),
    "sysinfo": (112, 1, sysinfo, False),
    "termios": (36, 1, termios, False),
    "timespec": (16, 1, timespec, False),
    "timeval": (16, 1, timeval, False),
    "utsname": (390, 1, utsname, False),
    "wait_status": (4, 1, status, True),
    "winsize": (8, 1, winsize, False),
}
"""By name: bytes of one, the most that are shown, its text, and whether there can be several of them, in brackets."""
