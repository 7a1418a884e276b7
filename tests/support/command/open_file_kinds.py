"""Opens files of all kinds and calls getpgid() with each descriptor: python3 open_file_kinds.py DIRECTORY.

Standard output has a line for each call, which kind it was for; standard error those that this machine does not have.
"""

import ctypes
import os
import select
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
KINDS = {}
KEPT = []
HIGH = 900
OWN = f"sonde-{os.getpid()}"
"""The name of what all programs share."""


def kind(function):
    KINDS[function.__name__] = function
    return function


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def kept(thing):
    KEPT.append(thing)
    return thing.fileno()


@kind
def regular():
    descriptor = os.open("regular", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
    os.write(descriptor, b"0123456789")
    os.lseek(descriptor, 7, os.SEEK_SET)
    return descriptor


@kind
def read_only():
    return os.open("regular", os.O_RDONLY | os.O_NONBLOCK)


@kind
def far():
    descriptor = os.open("regular", os.O_WRONLY)
    os.lseek(descriptor, (1 << 40) + 1, os.SEEK_SET)
    return descriptor


@kind
def deleted():
    descriptor = os.open("gone", os.O_WRONLY | os.O_CREAT)
    os.unlink("gone")
    return descriptor


@kind
def named_like_deleted():
    return os.open("there (deleted)", os.O_WRONLY | os.O_CREAT)


@kind
def deleted_beside_one_named_so():
    os.close(os.open("twice (deleted)", os.O_WRONLY | os.O_CREAT))
    descriptor = os.open("twice", os.O_WRONLY | os.O_CREAT)
    os.unlink("twice")
    return descriptor


@kind
def deleted_with_another_name():
    descriptor = os.open("first", os.O_WRONLY | os.O_CREAT)
    os.link("first", "second")
    os.unlink("first")
    return descriptor


@kind
def renamed():
    descriptor = os.open("before", os.O_WRONLY | os.O_CREAT)
    os.rename("before", "after")
    return descriptor


@kind
def odd_name():
    return os.open(b'a b\tc\nd\\e"f\xffg\x01%s #', os.O_WRONLY | os.O_CREAT)


@kind
def long_name():
    return os.open("n" * 255, os.O_WRONLY | os.O_CREAT)


@kind
def directory():
    os.makedirs("below/it", exist_ok=True)
    return os.open("below/it", os.O_RDONLY | os.O_DIRECTORY)


@kind
def deleted_directory():
    os.mkdir("empty")
    descriptor = os.open("empty", os.O_RDONLY)
    os.rmdir("empty")
    return descriptor


@kind
def place():
    return os.open("regular", os.O_PATH)


@kind
def link_itself():
    os.symlink("regular", "link")
    return os.open("link", os.O_PATH | os.O_NOFOLLOW)


@kind
def through_link():
    return os.open("link", os.O_RDONLY)


@kind
def unnamed():
    return os.open(".", os.O_TMPFILE | os.O_RDWR)


@kind
def fifo():
    os.mkfifo("fifo")
    return os.open("fifo", os.O_RDWR)


@kind
def bound_socket():
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.bind("socket")
    return kept(made)


@kind
def root():
    return os.open("/", os.O_RDONLY)


@kind
def null():
    return os.open("/dev/null", os.O_RDWR)


@kind
def of_proc():
    return os.open("/proc/sys/kernel/ostype", os.O_RDONLY)


@kind
def top_of_proc():
    return os.open("/proc", os.O_RDONLY)


@kind
def of_sys():
    return os.open("/sys/kernel", os.O_RDONLY)


@kind
def shared_memory():
    descriptor = os.open(f"/dev/shm/{OWN}", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.unlink(f"/dev/shm/{OWN}")
    return descriptor


@kind
def terminal():
    master, slave = os.openpty()
    KEPT.append(slave)
    return master


@kind
def terminal_of_program():
    return KEPT[-1]


@kind
def pipe_to_read():
    KEPT.append(os.pipe())
    return KEPT[-1][0]


@kind
def pipe_to_write():
    os.set_blocking(KEPT[-1][1], False)
    return KEPT[-1][1]


@kind
def stream():
    return kept(socket.socketpair()[0])


@kind
def datagrams():
    return kept(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0])


@kind
def tcp():
    return kept(socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))


@kind
def tcp6():
    return kept(socket.socket(socket.AF_INET6))


@kind
def udp():
    return kept(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))


@kind
def netlink():
    return kept(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))


@kind
def crypto():
    return kept(socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET))


@kind
def eventfd():
    return os.eventfd(3, os.EFD_NONBLOCK | os.EFD_CLOEXEC)


@kind
def epoll():
    return kept(select.epoll())


@kind
def inotify():
    return checked(LIBC.inotify_init1(0))


@kind
def timerfd():
    return checked(LIBC.timerfd_create(1, 0))


@kind
def signalfd():
    return checked(LIBC.signalfd(-1, ctypes.create_string_buffer(8), 0))


@kind
def memory_file():
    descriptor = os.memfd_create("some name/with (deleted)")
    os.write(descriptor, b"1234")
    return descriptor


@kind
def huge_memory_file():
    return os.memfd_create("huge", os.MFD_HUGETLB)


@kind
def secret_memory():
    return checked(LIBC.syscall(447, 0))


@kind
def process():
    return os.pidfd_open(os.getpid())


@kind
def namespace():
    return os.open("/proc/self/ns/net", os.O_RDONLY)


@kind
def queue():
    descriptor = checked(LIBC.syscall(240, OWN.encode(), os.O_RDWR | os.O_CREAT, 0o600, None))
    checked(LIBC.syscall(241, OWN.encode()))
    return descriptor


@kind
def high():
    return os.dup2(os.open("regular", os.O_RDONLY), HIGH)


@kind
def closed():
    descriptor = os.dup(0)
    os.close(descriptor)
    return descriptor


@kind
def beyond():
    return 1 << 20


@kind
def largest():
    return (1 << 31) - 1


@kind
def negative():
    return -1


@kind
def most_negative():
    return -(1 << 31)


def mount(source, target, filesystem, flags):
    checked(LIBC.mount(source, target, filesystem, flags, None))


BIND, PRIVATE, RECURSIVE, DETACH = 0x1000, 1 << 18, 0x4000, 2


@kind
def own_mounts():
    """From here on in a mount namespace of its own."""
    checked(LIBC.unshare(0x00020000))
    mount(None, b"/", None, PRIVATE | RECURSIVE)
    return os.open("regular", os.O_RDONLY)


@kind
def bound_directory():
    os.makedirs("place for", exist_ok=True)
    mount(b"below/it", b"place for", None, BIND)
    return os.open("place for", os.O_RDONLY)


@kind
def below_bound_directory():
    return os.open("place for/file", os.O_RDONLY | os.O_CREAT)


@kind
def bound_file():
    os.close(os.open("other", os.O_RDONLY | os.O_CREAT))
    mount(b"regular", b"other", None, BIND)
    return os.open("other", os.O_RDONLY)


@kind
def mounted():
    os.makedirs("own", exist_ok=True)
    mount(b"none", b"own", b"tmpfs", 0)
    return os.open("own", os.O_RDONLY)


@kind
def below_mounted():
    return os.open("own/file", os.O_RDWR | os.O_CREAT)


@kind
def below_what_is_mounted_over():
    descriptor = os.open("own/file", os.O_RDWR)
    mount(b"none", b"own", b"tmpfs", 0)
    return descriptor


@kind
def in_a_root_of_its_own():
    os.makedirs("jail/inner", exist_ok=True)
    outside = os.open(".", os.O_RDONLY)
    os.chroot("jail")
    KEPT.append(outside)
    return os.open("/inner", os.O_RDONLY)


@kind
def root_of_its_own():
    return os.open("/", os.O_RDONLY)


@kind
def outside_of_its_root():
    return KEPT[-1]


@kind
def in_the_jail():
    os.chdir("/inner")
    return os.open("/inner/file", os.O_RDWR | os.O_CREAT)


@kind
def in_a_jail_that_is_gone():
    os.mkdir("/inner/gone")
    os.chdir("/inner/gone")
    os.rmdir("/inner/gone")
    return os.open(".", os.O_RDONLY)


def main():
    os.chdir(sys.argv[1])
    for name, opened in KINDS.items():
        try:
            descriptor = opened()
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        LIBC.getpgid(descriptor)
        print(name)


main()
