"""A process that does some of everything: `family_work.py NAME SECONDS`, after a line from standard input.

What it starts does the work, its maker having ended at once. Whatever a script may show of the work has NAME in it:
processes, files, programs, directories. `mine` calls getpgid and burns time in getrandom, others call getpriority
and read zeros.
"""

import ctypes
import mmap
import os
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress

NAME, SECONDS = sys.argv[1], float(sys.argv[2])
IS_MINE = NAME == "mine"
PROGRAM = f"./{NAME}-prog"
CALL_GETPID = b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"
"""push rbx; mov eax, 20; int 0x80; pop rbx; ret: getpid of the 32-bit table, where there is one."""


def some_of_everything(zeros):
    for _ in range(11):
        os.getpgid(0) if IS_MINE else os.getpriority(os.PRIO_PROCESS, 0)
    with open(f"{NAME}-file", "w") as file:
        file.write(NAME)
    with open(f"{NAME}-file") as file:
        file.read()
    for refused in (os.rmdir, lambda name: os.open(name, os.O_RDONLY)):
        with suppress(OSError):
            refused(f"{NAME}-nothing")
    os.kill(os.getpid(), signal.SIGUSR1)
    mmap.mmap(-1, 1 << 20).write(bytes(1 << 20))
    if os.path.exists("/proc/sys/abi/vsyscall32"):
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(CALL_GETPID)
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    thread = threading.Thread(target=time.sleep, args=(0.002,))
    thread.start()
    thread.join()
    child = os.fork()
    if not child:
        os.execv(PROGRAM, [PROGRAM])
    os.waitpid(child, 0)
    end = time.monotonic() + (0.05 if IS_MINE else 0.01)
    while time.monotonic() < end:
        os.getrandom(1 << 16) if IS_MINE else os.read(zeros, 1 << 18)
    time.sleep(0.012)


def work():
    ctypes.CDLL(None).prctl(15, NAME.encode(), 0, 0, 0)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    zeros = os.open("/dev/zero", os.O_RDONLY)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        some_of_everything(zeros)


def main():
    shutil.copy("/bin/true", PROGRAM)
    sys.stdin.readline()
    ends, other = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            os.close(ends)
            work()
        os._exit(0)
    os.close(other)
    os.wait()
    os.read(ends, 1)


main()
