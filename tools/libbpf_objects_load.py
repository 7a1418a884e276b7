"""A known workload for libbpf_objects.py: a bit of each thing that the tools of libbpf-tools watch.

    libbpf_objects_load.py DIRECTORY

Says `ready` on its standard output, waits for a line on its input, works in DIRECTORY, says `done`, and waits for
another line. Its threads and processes are called `sonde-load`; numbers of calls are odd primes.
"""

import contextlib
import ctypes
import ctypes.util
import mmap
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

NAME = "sonde-load"
_PR_SET_NAME, _CLONE_NEWNS, _MS_REC_PRIVATE = 15, 0x20000, 0x44000
_SET_MEMPOLICY = 238
_SMALL, _PIECE = 2 << 30, 8 << 20
_FREQUENCY = "/sys/devices/system/cpu/cpu0/cpufreq"
_MIRROR = "/dev/md/sonde-load"
_GROUPS = ("/sys/fs/cgroup/memory",)
LIBC = ctypes.CDLL(None, use_errno=True)


def files(directory):
    path = os.path.join(directory, "file")
    for number in range(37):
        with open(f"{path}.{number}", "wb", buffering=0) as file:
            for _ in range(3):
                file.write(b"x" * 5000)
        os.stat(f"{path}.{number}")
    for number in range(17):
        descriptor = os.open(f"{path}.{number}", os.O_RDWR)
        os.write(descriptor, b"y" * 8192)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.read(descriptor, 4096)
        os.close(descriptor)
    for number in range(37):
        os.unlink(f"{path}.{number}")
    for number in range(11):
        os.mkdir(f"{path}.d{number}")
        os.rmdir(f"{path}.d{number}")
        with contextlib.suppress(FileNotFoundError):
            os.open(f"{path}.absent", os.O_RDONLY)
    os.sync()


def processes():
    for _ in range(7):
        subprocess.run(["/bin/true"], check=True)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    for _ in range(13):
        os.kill(os.getpid(), signal.SIGUSR1)


def network():
    for _ in range(19):
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        for _ in range(3):
            client.sendall(b"z" * 1000)
            while len(accepted.recv(1000, socket.MSG_WAITALL)) < 1000:
                time.sleep(0.001)
            accepted.sendall(b"z" * 100)
            client.recv(100)
        for each in (client, accepted, server):
            each.close()
    for _ in range(5):
        # Neither name nor number asks a server.
        socket.getaddrinfo("127.0.0.1", 80)
        socket.gethostbyname("localhost")


def threads():
    lock = threading.Lock()

    def contend():
        LIBC.prctl(_PR_SET_NAME, NAME.encode(), 0, 0, 0)
        for _ in range(101):
            with lock:
                time.sleep(0.0001)

    started = [threading.Thread(target=contend) for _ in range(3)]
    for each in started:
        each.start()
    for each in started:
        each.join()


def memory():
    LIBC.malloc.restype = ctypes.c_void_p
    kept = [LIBC.malloc(4242) for _ in range(101)]
    for each in kept[:50]:
        LIBC.free(ctypes.c_void_p(each))
    area = mmap.mmap(-1, 8 << 20)
    for at in range(0, len(area), 4096):
        area[at] = 1
    area.close()


def mounts(directory):
    if LIBC.unshare(_CLONE_NEWNS) or LIBC.mount(b"none", b"/", None, _MS_REC_PRIVATE, None):
        return
    for _ in range(5):
        LIBC.mount(b"none", directory.encode(), b"tmpfs", 0, None)
        LIBC.umount2(directory.encode(), 0)


def shells():
    """A shell that reads lines as people type them."""
    master, slave = os.openpty()
    shell = subprocess.Popen(
        ["bash", "--norc", "-i"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env={"TERM": "dumb"}
    )
    os.close(slave)
    for _ in range(7):
        os.write(master, b"true sonde-load\n")
        time.sleep(0.05)
    os.write(master, b"exit\n")
    with contextlib.suppress(OSError):
        while os.read(master, 4096):
            pass
    shell.wait()
    os.close(master)


def exhaustion():
    """A child that takes memory until it is killed for that: on a small machine, as a virtual one is, all there is,
    which has the kernel reclaim some directly; else what a control group of its own allows."""
    small = os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE < _SMALL
    group = None if small else next((each for each in _GROUPS if os.path.exists(os.path.join(each, "tasks"))), None)
    if not small and group is None:
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    else:
        _exhaust(group)
    if group is not None:
        os.rmdir(os.path.join(group, NAME))


def _exhaust(group):
    """Ends the process in any case."""
    with contextlib.suppress(OSError, MemoryError):
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        most = _SMALL
        if group is not None:
            own = os.path.join(group, NAME)
            os.makedirs(own, exist_ok=True)
            most = 64 << 20
            for name, value in (("memory.limit_in_bytes", most // 2), ("tasks", os.getpid())):
                with open(os.path.join(own, name), "w") as file:
                    file.write(str(value))
        kept = []
        while len(kept) * _PIECE < most:
            kept.append(touched(_PIECE))
    os._exit(0)


def touched(size):
    """Memory of its own, of which each page is there."""
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, mmap.PAGESIZE):
        area[at] = 1
    return area


def migration():
    """Where there are two nodes: pages of the other one that are used here, so that the kernel moves them."""
    if not os.path.exists("/sys/devices/system/node/node1"):
        return
    with contextlib.suppress(OSError), open("/proc/sys/kernel/numa_balancing", "w") as file:
        file.write("1")
    with open("/sys/devices/system/node/node0/cpulist") as file:
        here = file.read().strip()
    os.sched_setaffinity(0, {int(here.replace("-", ",").split(",")[0])} if here else {0})
    nodes = ctypes.c_ulong(2)
    LIBC.syscall(_SET_MEMPOLICY, 1, ctypes.byref(nodes), 64)
    area = touched(16 << 20)
    LIBC.syscall(_SET_MEMPOLICY, 0, None, 0)
    end = time.monotonic() + 6
    while time.monotonic() < end:
        for at in range(0, len(area), mmap.PAGESIZE):
            area[at] = 2
    area.close()


def frequencies():
    """Where the machine lets its processor be set to a frequency: the lowest and the highest in turn."""
    with contextlib.suppress(OSError):
        with open(f"{_FREQUENCY}/scaling_governor", "w") as file:
            file.write("userspace")
        limits = [Path(f"{_FREQUENCY}/cpuinfo_{each}_freq").read_text() for each in ("min", "max")]
        for number in range(23):
            with open(f"{_FREQUENCY}/scaling_setspeed", "w") as file:
                file.write(limits[number % 2])
            time.sleep(0.01)


def mirrors(directory):
    """Where the kernel has mirrored disks: one of two files, which is flushed."""
    if not (os.path.exists("/sys/module/raid1") and shutil.which("mdadm") and shutil.which("losetup")):
        return
    loops = []
    try:
        for each in ("first", "second"):
            path = os.path.join(directory, each)
            with open(path, "wb") as file:
                file.truncate(_PIECE)
            loops.append(_said("losetup", "--find", "--show", path))
        _said("mdadm", "--create", _MIRROR, "--run", "--level=1", "--raid-devices=2", "--assume-clean", *loops)
        with open(_MIRROR, "r+b", buffering=0) as disk:
            for _ in range(13):
                disk.write(bytes(4096))
                os.fsync(disk)
        _said("mdadm", "--stop", _MIRROR)
    finally:
        for each in loops:
            _said("losetup", "--detach", each)


def _said(*words):
    return subprocess.check_output(words, stderr=subprocess.DEVNULL, text=True).strip()


def main():
    LIBC.prctl(_PR_SET_NAME, NAME.encode(), 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("ready", flush=True)
    sys.stdin.readline()
    frequencies()
    files(sys.argv[1])
    mirrors(sys.argv[1])
    processes()
    network()
    threads()
    memory()
    shells()
    migration()
    exhaustion()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    mounts(sys.argv[1])
    time.sleep(0.3)
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
