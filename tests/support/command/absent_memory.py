"""A process whose system calls are given memory that it has never touched: pages of a file, each mapped anew."""

import os
import shlex
import sys

SCRIPT = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.syscall.restype = ctypes.c_long
file = os.open(sys.argv[1], os.O_RDONLY)
touches = sys.argv[2] == "touched"

def page(number):
    # A mapping of two pages: no other page of it is in use, and the kernel maps none around what is.
    at = libc.mmap(None, 8192, 1, 2, file, 8192 * number)
    libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(8192), 1)
    if touches:
        ctypes.string_at(at)
    return at

def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_void_p(each & (1 << 64) - 1) for each in arguments])

OPENAT, READ, WRITE, EXECVE, READLINKAT = 257, 0, 1, 59, 267
"""


def command(directory, body, texts, touched=False):
    """The words for -c of a process that runs `body` after SCRIPT, with `texts` in its pages by number."""
    content = b"".join(text.encode().ljust(8192, b"\0") for text in texts)
    pages = directory / "pages"
    pages.write_bytes(content)
    script = directory / "script.py"
    script.write_text(SCRIPT + body)
    words = [sys.executable, "-S", "-E", str(script), str(pages), "touched" if touched else "absent"]
    os.posix_fadvise(os.open(pages, os.O_RDONLY), 0, 0, os.POSIX_FADV_WILLNEED)
    return shlex.join(words)
