"""The tables of notation/names.txt against strace(1): the same numbers as arguments of calls that fail at once."""

import random
import re
import subprocess
import sys

import pytest
from support.machine import packages
from support.suite.example_counts import count_of

from sonde.notation.numbers import number_text
from sonde.notation.tables import tables

pytestmark = pytest.mark.examples

X = object()
"""Where the number stands."""

CALLS = {
    "open": ("openat", 257, -1, 0, X), "at": ("newfstatat", 262, -1, 0, 0, X),
    "faccessat": ("faccessat2", 439, -1, 0, 0, X), "xattr": ("setxattr", 188, 0, 0, 0, 0, X),
    "close_range": ("close_range", 436, 9, 3, X), "access": ("access", 21, 0, X),
    "prot": ("mprotect", 10, 1, 0, X), "map": ("mmap", 9, 0, 0, 0, X, -1, 0), "mremap": ("mremap", 25, 1, 0, 0, X),
    "msync": ("msync", 26, 1, 0, X), "madvise": ("madvise", 28, 1, 0, X), "fadvise": ("fadvise64", 221, -1, 0, 0, X),
    "signal": ("tgkill", 234, -1, -1, X), "sigprocmask": ("rt_sigprocmask", 14, X, 1, 0, 8),
    "af": ("socket", 41, X, 99, 0), "sock": ("socket", 41, 99, X, 0), "ipproto": ("socket", 41, 2, 99, X),
    "netlink": ("socket", 41, 16, 99, X), "ethertype": ("socket", 41, 17, 99, X),
    "msg": ("recvfrom", 45, -1, 0, 0, X, 0, 0), "shutdown": ("shutdown", 48, -1, X),
    "sol": ("setsockopt", 54, -1, X, 0, 0, 0), "so": ("setsockopt", 54, -1, 1, X, 0, 0),
    "tcp": ("setsockopt", 54, -1, 6, X, 0, 0), "ip": ("setsockopt", 54, -1, 0, X, 0, 0),
    "ipv6": ("setsockopt", 54, -1, 41, X, 0, 0), "netlink_option": ("setsockopt", 54, -1, 270, X, 0, 0),
    "fcntl": ("fcntl", 72, -1, X, 0), "seals": ("fcntl", 72, -1, 1033, X), "fd": ("fcntl", 72, -1, 2, X),
    "flock": ("flock", 73, -1, X), "seek": ("lseek", 8, -1, 0, X), "epoll_ctl": ("epoll_ctl", 233, -1, X, -1, 0),
    "wait": ("wait4", 61, -1, 0, X, 0), "futex": ("futex", 202, 1, X, 0, 0, 0, 0), "clock": ("clock_getres", 229, X, 0),
    "clock_nanosleep": ("clock_nanosleep", 230, 99, X, 0, 0), "itimer": ("getitimer", 36, X, 1),
    "rlimit": ("getrlimit", 97, X, 1), "rusage": ("getrusage", 98, X, 1), "priority": ("getpriority", 140, X, 1 << 30),
    "prctl": ("prctl", 157, X, -1, -1, -1, -1), "cap": ("prctl", 157, 23, X),
    "arch_prctl": ("arch_prctl", 158, X, -1), "ioctl": ("ioctl", 16, -1, X, 0),
    "getrandom": ("getrandom", 318, 0, 0, X), "memfd": ("memfd_create", 319, 0, X),
    "timerfd": ("timerfd_create", 283, 99, X),
    "timerfd_settime": ("timerfd_settime", 286, -1, X, 0, 0), "inotify": ("inotify_add_watch", 254, -1, 0, X),
    "statx": ("statx", 332, -1, 0, 0, X, 0), "statx_at": ("statx", 332, -1, 0, X, 0, 0),
    "renameat2": ("renameat2", 316, -1, 0, -1, 0, X), "fallocate": ("fallocate", 285, -1, X, 0, 0),
    "mount": ("mount", 165, 0, 0, 0, X, 0), "membarrier": ("membarrier", 324, X, 1, 0),
    "sched": ("sched_setscheduler", 144, -1, X, 0), "waitid": ("waitid", 247, X, 0, 0, 1 << 31, 0),
    "splice": ("splice", 275, -1, 0, -1, 0, 0, X),
}  # fmt: skip

PROGRAM = """
import ctypes, sys
call = ctypes.CDLL(None).syscall
rows = [[ctypes.c_long(int(each)) for each in line.split()] for line in sys.stdin]
call(140, 77, 77)
for row in rows:
    call(*row)
"""


def numbers(draw, name):
    """Of one table: a value or flags of its own, sometimes with bits that have no name."""
    known = [number for _, number in tables()[name].names] if name in tables() else [1 << n for n in range(16)]
    table = tables().get(name)
    number = draw.choice(known)
    if table is None or table.kind != "values":
        for each in draw.sample(known, draw.randint(0, min(5, len(known)))):
            number |= each
    return draw.choice(
        (number, number, number, number ^ 1 << draw.randrange(31), draw.getrandbits(draw.choice((4, 9, 31))))
    )


def arguments(text):
    """Of a line of strace's; commas in brackets and behind quotes are no ends."""
    found, depth = [""], 0
    for part in re.findall(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|.', text):
        depth += (part in "([{") - (part in ")]}") if len(part) == 1 else 0
        if depth < 0:
            break
        if part == "," and not depth:
            found.append("")
        else:
            found[-1] += part
    return [each.strip() for each in found]


ELSEWHERE = re.compile(r"(IP6?T|ARPT|EBT)_SO_\w+")
"""Options that are of another subject."""


def is_as_good(ours, theirs):
    """Headers may be of a later kernel than strace; of requests of ioctl(2) it knows those of other subjects too."""
    is_later = ours.isidentifier() and re.fullmatch(r"0x\w+ /\* \S+ \*/", theirs)
    return is_later or ours in theirs.split(" or ") or ours.startswith("_IOC(") or ELSEWHERE.fullmatch(theirs)


def test_numbers_are_named_as_strace_names_them(tmp_path):
    packages.require("strace")
    draw = random.Random(6)
    asked = [(name, numbers(draw, name)) for name in sorted(CALLS) for _ in range(count_of(11))]
    rows = [[number if each is X else each for each in CALLS[name][1:]] for name, number in asked]
    subprocess.run(
        ["strace", "-o", tmp_path / "lines", sys.executable, "-IS", "-c", PROGRAM],
        input="".join(" ".join(map(str, row)) + "\n" for row in rows), text=True, check=True,
    )  # fmt: skip
    _, _, text = (tmp_path / "lines").read_text().partition("getpriority(0x4d")
    lines = text.split("\n")[1:]
    wrong = {}
    for (name, number), line in zip(asked, lines, strict=False):
        call, *given = CALLS[name]
        assert line.startswith(f"{call}("), (name, number, line)
        theirs = arguments(line[len(call) + 1 :])[given.index(X) - 1]
        ours = number_text(name, number).decode()
        if ours != theirs and not is_as_good(ours, theirs):
            wrong[name, hex(number)] = ours, theirs
    assert not wrong
