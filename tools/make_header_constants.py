"""Write src/sonde/frontends/bpftrace/check/header_constants.txt: constants that programs take from headers
of the kernel, from the installed C headers.

    python3 tools/make_header_constants.py src/sonde/frontends/bpftrace/check/header_constants.txt

Only facts are taken: names and numbers. The kernel's headers for programs (linux-libc-dev) come first, then those of
the C library (libc6-dev) for what the kernel's own headers have and those for programs have not. `INTERNAL` are
constants of the kernel's own headers alone, which have been the same since Linux 5.10. A line has words NAME=NUMBER.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

KERNEL = """
asm/fcntl.h asm/ioctls.h asm/mman.h asm/poll.h asm/prctl.h asm/resource.h asm/signal.h asm/socket.h asm/stat.h
asm/termbits.h linux/aio_abi.h linux/auxvec.h linux/capability.h linux/close_range.h linux/elf.h linux/errno.h
linux/eventpoll.h linux/falloc.h linux/fanotify.h linux/fcntl.h linux/fs.h linux/futex.h linux/icmp.h linux/icmpv6.h
linux/if.h linux/if_addr.h linux/if_arp.h linux/if_ether.h linux/if_packet.h linux/if_tun.h linux/if_vlan.h
linux/igmp.h linux/in.h linux/in6.h linux/in_route.h linux/inet_diag.h linux/inotify.h linux/io_uring.h
linux/ioprio.h linux/ip.h linux/ipc.h linux/ipv6.h linux/kdev_t.h linux/limits.h linux/magic.h linux/major.h
linux/membarrier.h linux/memfd.h linux/mempolicy.h linux/mman.h linux/module.h linux/mount.h linux/mqueue.h
linux/msg.h linux/neighbour.h linux/net.h linux/net_tstamp.h linux/netfilter.h linux/netfilter/nf_conntrack_common.h
linux/netfilter/nf_conntrack_tcp.h linux/netlink.h linux/openat2.h linux/oom.h linux/param.h linux/poll.h
linux/prctl.h linux/ptrace.h linux/quota.h linux/random.h linux/reboot.h linux/resource.h linux/route.h
linux/sched.h linux/sched/types.h linux/seccomp.h linux/securebits.h linux/sem.h linux/shm.h linux/signal.h
linux/signalfd.h linux/snmp.h linux/sock_diag.h linux/socket.h linux/sockios.h linux/stat.h linux/tcp.h linux/time.h
linux/timerfd.h linux/timex.h linux/tty.h linux/tty_flags.h linux/udp.h linux/uio.h linux/un.h linux/unix_diag.h
linux/vm_sockets.h linux/wait.h linux/xattr.h
"""
LIBRARY = {
    "sys/socket.h": r"(AF|PF|SOCK|SOL|MSG|SCM|SHUT)_[A-Z0-9_]+|SOMAXCONN",
    "netinet/in.h": r"(IPPROTO|INADDR)_[A-Z0-9_]+",
    "netinet/tcp.h": r"TCP_[A-Z]+|TCPOPT_\w+|SOL_TCP",
    "netinet/udp.h": r"SOL_UDP",
    "dirent.h": r"DT_[A-Z]+",
    "signal.h": r"SIG[A-Z0-9]+|SA_[A-Z]+|(CLD|FPE|ILL|SEGV|BUS|TRAP|POLL|SI)_[A-Z]+",
    "fcntl.h": r"(O|F|AT|SPLICE|FALLOC)_[A-Z0-9_]+",
    "sys/wait.h": r"W[A-Z]+|__W[A-Z]+",
    "sys/mman.h": r"(PROT|MAP|MADV|MREMAP|MS|MCL)_[A-Z0-9_]+",
    "limits.h": r"(U?(CHAR|SHRT|INT|LONG)|LLONG|ULLONG)_(MAX|MIN)|PATH_MAX|NAME_MAX",
}
"""Headers of the C library, and the names that are of the kernel's own headers, too."""

INTERNAL = """
TASK_RUNNING=0 TASK_INTERRUPTIBLE=1 TASK_UNINTERRUPTIBLE=2 __TASK_STOPPED=4 __TASK_TRACED=8 EXIT_DEAD=0x10
EXIT_ZOMBIE=0x20 EXIT_TRACE=0x30 TASK_PARKED=0x40 TASK_DEAD=0x80 TASK_WAKEKILL=0x100 TASK_WAKING=0x200 TASK_NOLOAD=0x400
TASK_NEW=0x800 TASK_NORMAL=3 TASK_KILLABLE=0x102 TASK_STOPPED=0x104 TASK_IDLE=0x402 TASK_REPORT=0x7f TASK_COMM_LEN=16
PF_IDLE=2 PF_EXITING=4 PF_WQ_WORKER=0x20 PF_FORKNOEXEC=0x40 PF_SUPERPRIV=0x100 PF_DUMPCORE=0x200 PF_SIGNALED=0x400
PF_MEMALLOC=0x800 PF_KSWAPD=0x20000 PF_KTHREAD=0x200000 PF_RANDOMIZE=0x400000
MAX_NICE=19 MIN_NICE=-20 MAX_RT_PRIO=100 MAX_PRIO=140 DEFAULT_PRIO=120
MAX_ERRNO=4095 ERESTARTSYS=512 ERESTARTNOINTR=513 ERESTARTNOHAND=514 ENOIOCTLCMD=515 ERESTART_RESTARTBLOCK=516
EPROBE_DEFER=517 EOPENSTALE=518 ENOPARAM=519 EBADHANDLE=521 ENOTSYNC=522 EBADCOOKIE=523 ENOTSUPP=524 ETOOSMALL=525
ESERVERFAULT=526 EBADTYPE=527 EJUKEBOX=528 EIOCBQUEUED=529 ERECALLCONFLICT=530
MSEC_PER_SEC=1000 USEC_PER_MSEC=1000 NSEC_PER_USEC=1000 NSEC_PER_MSEC=1000000 USEC_PER_SEC=1000000
NSEC_PER_SEC=1000000000
MINORBITS=20 MINORMASK=0xfffff SECTOR_SHIFT=9 SECTOR_SIZE=512 PAGE_SHIFT=12 PAGE_SIZE=4096
FMODE_READ=1 FMODE_WRITE=2 FMODE_LSEEK=4 FMODE_PREAD=8 FMODE_PWRITE=0x10 FMODE_EXEC=0x20
S_IRWXUGO=0777 S_IALLUGO=07777 S_IRUGO=0444 S_IWUGO=0222 S_IXUGO=0111
LOOKUP_FOLLOW=1 LOOKUP_DIRECTORY=2 LOOKUP_AUTOMOUNT=4
TCPHDR_FIN=1 TCPHDR_SYN=2 TCPHDR_RST=4 TCPHDR_PSH=8 TCPHDR_ACK=0x10 TCPHDR_URG=0x20 TCPHDR_ECE=0x40 TCPHDR_CWR=0x80
VM_NONE=0 VM_READ=1 VM_WRITE=2 VM_EXEC=4 VM_SHARED=8 VM_MAYREAD=0x10 VM_MAYWRITE=0x20 VM_MAYEXEC=0x40 VM_MAYSHARE=0x80
VM_GROWSDOWN=0x100 VM_PFNMAP=0x400 VM_LOCKED=0x2000 VM_IO=0x4000 VM_DONTCOPY=0x20000 VM_DONTEXPAND=0x40000
VM_ACCOUNT=0x100000 VM_HUGETLB=0x400000 VM_HUGEPAGE=0x20000000 VM_NOHUGEPAGE=0x40000000
NETDEV_TX_OK=0 NETDEV_TX_BUSY=0x10 NET_RX_SUCCESS=0 NET_RX_DROP=1 NET_XMIT_SUCCESS=0 NET_XMIT_DROP=1 NET_XMIT_CN=2
CHECKSUM_NONE=0 CHECKSUM_UNNECESSARY=1 CHECKSUM_COMPLETE=2 CHECKSUM_PARTIAL=3
PACKET_HOST=0 PACKET_BROADCAST=1 PACKET_MULTICAST=2 PACKET_OTHERHOST=3 PACKET_OUTGOING=4
"""
"""Of linux/sched.h, linux/sched/prio.h, linux/errno.h, linux/err.h, linux/time64.h, linux/kdev_t.h, linux/blk_types.h,
asm/page.h, linux/fs.h, linux/stat.h, linux/namei.h, net/tcp.h, linux/mm.h, linux/netdevice.h and linux/skbuff.h."""

_BEFORE_KERNEL = "#include <linux/types.h>\n"
_BEFORE_LIBRARY = "#define _GNU_SOURCE 1\n"
_MOST = 116
"""Characters of a line."""


def main(path: str) -> None:
    found: dict[str, int] = {}
    for header in KERNEL.split():
        found = _constants(_BEFORE_KERNEL, header) | found
    for header, wanted in LIBRARY.items():
        of_library = _constants(_BEFORE_LIBRARY, header)
        found = {name: value for name, value in of_library.items() if re.fullmatch(wanted, name)} | found
    internal = dict(word.split("=") for word in INTERNAL.split())
    found |= {name: int(value, 8 if re.fullmatch("0[0-7]+", value) else 0) for name, value in internal.items()}
    words = (
        f"{name}={value}" if abs(value) < 1 << 16 else f"{name}={value:#x}" for name, value in sorted(found.items())
    )
    lines = ["# Made by tools/make_header_constants.py of the installed headers of x86-64."]
    lines += textwrap.wrap(" ".join(words), _MOST, break_long_words=False, break_on_hyphens=False)
    Path(path).write_text("\n".join(lines) + "\n")


def _constants(before: str, header: str) -> dict[str, int]:
    """Macros and enumerators of a header, and of those that it includes."""
    source = f"{before}#include <{header}>\n"
    known = set(re.findall(r"^#define (\w+)", _gcc(before, "-E", "-dM").stdout, re.MULTILINE))
    names = set(re.findall(r"^#define (\w+) \S.*$", _gcc(source, "-E", "-dM").stdout, re.MULTILINE)) - known
    for body in re.findall(r"\benum\b[^{;()]*\{([^}]*)\}", _gcc(source, "-E", "-P").stdout):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", body))
    return _computed(source, sorted(name for name in names if re.fullmatch("_*[A-Z][A-Z0-9_]{2,}", name)))


def _computed(source: str, names: list[str]) -> dict[str, int]:
    """The values of constant expressions; names that are none are left out."""
    while names:
        lines = (f'__asm__("VALUE {name} %c0" :: "i"((long long)({name})));' for name in names)
        program = "\n".join([source, "void values(void)", "{", *lines, "}"])
        made = _gcc(program, "-S", "-o", "-", is_checked=False)
        if not made.returncode:
            return {
                name: int(value) for name, value in re.findall(r"VALUE (\w+) \$?(-?\d+)$", made.stdout, re.MULTILINE)
            }
        text = program.splitlines()
        wrong = {text[int(line) - 1] for line in re.findall(r"^<stdin>:(\d+):\d+: error", made.stderr, re.MULTILINE)}
        left = [name for name in names if not any(f"({name})" in line for line in wrong)]
        if len(left) == len(names):
            raise SystemExit(f"{source}{made.stderr}")
        names = left
    return {}


def _gcc(program: str, *words: str, is_checked: bool = True) -> subprocess.CompletedProcess[str]:
    words = ("gcc", "-w", "-xc", *words, "-")
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(words, input=program, capture_output=True, text=True, check=is_checked, env=environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
