"""What system calls do with the addresses they are given."""

from __future__ import annotations

WRITTEN: dict[str, tuple[int, ...]] = {
    "accept": (1,), "accept4": (1,), "clock_getres": (1,), "clock_gettime": (1,), "fgetxattr": (2,),
    "flistxattr": (1,), "fstat": (1,), "newfstat": (1,), "fstatfs": (1,), "getcwd": (0,), "getdents": (1,),
    "getdents64": (1,), "getpeername": (1,), "getrandom": (0,), "getrlimit": (1,), "getrusage": (1,),
    "getsockname": (1,), "gettimeofday": (0,), "getxattr": (2,), "lgetxattr": (2,), "listxattr": (1,),
    "llistxattr": (1,), "lstat": (1,), "newlstat": (1,), "newfstatat": (2,), "newstat": (1,), "newuname": (0,),
    "pipe": (0,), "pipe2": (0,), "pread64": (1,), "read": (1,), "readlink": (1,), "readlinkat": (2,),
    "recvfrom": (1,), "stat": (1,), "statfs": (1,), "statx": (4,), "sysinfo": (0,), "times": (0,), "uname": (0,),
}  # fmt: skip
"""The arguments of system calls that point to what the call writes and does not read (their pages in man section 2)."""

RETURN_ADDRESSES = frozenset({"brk", "mmap", "mremap", "shmat"})

ARGUMENTS = {f"arg{n}": n for n in range(10)}
"""The numbers of the arguments by their names."""
