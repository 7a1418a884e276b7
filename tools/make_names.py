# ruff: noqa: E501
"""Write src/sonde/notation/names.txt: what numbers in system calls are called, from the installed C headers.

    python3 tools/make_names.py src/sonde/notation/names.txt

Only facts are taken: names and numbers. The kernel's headers (linux-libc-dev) come first, those of the C library
(libc6-dev) where the kernel has none for programs. A table is a line `@NAME KIND UNKNOWN` and NAME=NUMBER words below
it. `flags` are bits or'ed together, in the order in which they are shown; `values` stand alone; in `both` the lowest
bits, as many as the mask at its line's end has, are a value and the others flags. UNKNOWN is what numbers without a
name are shown as.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple


class Source(NamedTuple):
    """A table: `names` and `without` are patterns of whole names; `first` are those to be shown before all others, or
    whose name is the one that a number with several gets. `extra` are names that no header for programs has."""

    name: str
    kind: str
    unknown: str
    headers: str
    names: str
    without: str = ""
    first: str = ""
    extra: str = ""
    mask: int = 0


SOURCES = (
    Source("open", "both", "", "asm/fcntl.h", r"O_[A-Z_]+", "O_NDELAY",
           "O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_SYNC O_DSYNC __O_SYNC O_DIRECT O_LARGEFILE O_NOFOLLOW "
           "O_NOATIME O_CLOEXEC O_PATH O_TMPFILE O_DIRECTORY __O_TMPFILE FASYNC",
           "FASYNC=0x2000 __O_SYNC=0x100000 __O_TMPFILE=0x400000", mask=3),
    Source("at", "flags", "AT_???", "linux/fcntl.h", r"AT_\w+", "AT_FDCWD|AT_STATX_.*|AT_EACCESS",
           "AT_SYMLINK_NOFOLLOW AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_NO_AUTOMOUNT AT_EMPTY_PATH"),
    Source("statx_sync", "flags", "AT_STATX_???", "linux/fcntl.h", r"AT_STATX_(SYNC_AS_STAT|FORCE_SYNC|DONT_SYNC)"),
    Source("faccessat", "flags", "AT_???", "fcntl.h", r"AT_(EACCESS|SYMLINK_NOFOLLOW|EMPTY_PATH)"),
    Source("xattr", "flags", "XATTR_???", "linux/xattr.h", r"XATTR_(CREATE|REPLACE)"),
    Source("close_range", "flags", "CLOSE_RANGE_???", "linux/close_range.h", r"CLOSE_RANGE_\w+"),
    Source("unlinkat", "flags", "AT_???", "linux/fcntl.h", r"AT_REMOVEDIR"),
    Source("access", "flags", "?_OK", "unistd.h", r"[RWXF]_OK", first="F_OK R_OK W_OK X_OK"),
    Source("prot", "flags", "PROT_???", "asm/mman.h linux/mman.h", r"PROT_[A-Z]+",
           first="PROT_NONE PROT_READ PROT_WRITE PROT_EXEC"),
    Source("map", "both", "MAP_???", "asm/mman.h linux/mman.h", r"MAP_[A-Z0-9_]+",
           r"MAP_(HUGE_.*|TYPE|UNINITIALIZED)",
           "MAP_FILE MAP_SHARED MAP_PRIVATE MAP_SHARED_VALIDATE MAP_FIXED MAP_ANONYMOUS MAP_32BIT MAP_NORESERVE "
           "MAP_POPULATE MAP_NONBLOCK MAP_GROWSDOWN MAP_DENYWRITE MAP_EXECUTABLE MAP_LOCKED MAP_STACK MAP_HUGETLB MAP_SYNC", mask=15),
    Source("mremap", "flags", "MREMAP_???", "linux/mman.h", r"MREMAP_\w+"),
    Source("msync", "flags", "MS_???", "asm/mman.h", r"MS_\w+", first="MS_SYNC MS_ASYNC MS_INVALIDATE"),
    Source("madvise", "values", "MADV_???", "asm/mman.h", r"MADV_\w+"),
    Source("fadvise", "values", "POSIX_FADV_???", "linux/fadvise.h", r"POSIX_FADV_\w+"),
    Source("clone", "flags", "CLONE_???", "linux/sched.h", r"CLONE_\w+", "CLONE_ARGS_.*|CLONE_NEWTIME|CLONE_CLEAR_SIGHAND|CLONE_INTO_CGROUP"),
    Source("clone3", "flags", "CLONE_???", "linux/sched.h", r"CLONE_\w+", "CLONE_ARGS_.*|CLONE_DETACHED"),
    Source("signal", "values", "", "asm/signal.h", r"SIG[A-Z0-9]+", "SIGRTMIN|SIGRTMAX|SIGSTKSZ",
           "SIGABRT SIGIO SIGSYS SIGCHLD"),
    Source("sigaction", "flags", "SA_???", "asm/signal.h linux/signal.h", r"SA_[A-Z]+", "SA_NOMASK|SA_ONESHOT|SA_RESTORER.+",
           "SA_RESTORER SA_ONSTACK SA_RESTART SA_NODEFER SA_RESETHAND SA_NOCLDSTOP SA_NOCLDWAIT SA_SIGINFO"),
    Source("sigprocmask", "values", "SIG_???", "asm/signal.h", r"SIG_(BLOCK|UNBLOCK|SETMASK)"),
    Source("sigaltstack", "flags", "SS_???", "linux/signal.h", r"SS_(ONSTACK|DISABLE|AUTODISARM)"),
    Source("errno", "values", "", "linux/errno.h", r"E[A-Z0-9]+", "EWOULDBLOCK|EDEADLOCK|ERESTART",
           extra="ERESTART=85 ERESTARTSYS=512 ERESTARTNOINTR=513 ERESTARTNOHAND=514 ENOIOCTLCMD=515 "
           "ERESTART_RESTARTBLOCK=516 EPROBE_DEFER=517 EOPENSTALE=518 ENOTSUPP=524"),
    Source("af", "values", "AF_???", "sys/socket.h", r"AF_[A-Za-z0-9]+", "AF_MAX|AF_LOCAL|AF_FILE|AF_ROUTE"),
    Source("sock", "both", "SOCK_???", "sys/socket.h", r"SOCK_[A-Z]+", "SOCK_(IOC_TYPE|SNDBUF_LOCK|RCVBUF_LOCK|BUF_LOCK_MASK|TXREHASH)",
           extra="SOCK_STREAM=1 SOCK_DGRAM=2 SOCK_RAW=3 SOCK_RDM=4 SOCK_SEQPACKET=5 SOCK_DCCP=6 SOCK_PACKET=10 "
           "SOCK_CLOEXEC=0x80000 SOCK_NONBLOCK=0x800", first="SOCK_CLOEXEC SOCK_NONBLOCK", mask=15),
    Source("ipproto", "values", "IPPROTO_???", "linux/in.h linux/in6.h", r"IPPROTO_\w+", "IPPROTO_(MAX|HOPOPTS)",
           first="IPPROTO_IP", extra="IPPROTO_MH=135"),
    Source("netlink", "values", "NETLINK_???", "linux/netlink.h",
           r"NETLINK_(ROUTE|UNUSED|USERSOCK|FIREWALL|SOCK_DIAG|NFLOG|XFRM|SELINUX|ISCSI|AUDIT|FIB_LOOKUP|CONNECTOR|"
           r"NETFILTER|IP6_FW|DNRTMSG|KOBJECT_UEVENT|GENERIC|SCSITRANSPORT|ECRYPTFS|RDMA|CRYPTO|SMC)"),
    Source("netlink_option", "values", "NETLINK_???", "linux/netlink.h",
           r"NETLINK_((ADD|DROP|LIST)_MEMBERSHIPS?|PKTINFO|BROADCAST_ERROR|NO_ENOBUFS|[RT]X_RING|LISTEN_ALL_NSID|CAP_ACK|"
           r"EXT_ACK|GET_STRICT_CHK)"),
    Source("ethernet", "values", "ETH_P_???", "linux/if_ether.h", r"ETH_P_\w+", first="ETH_P_IP"),
    Source("cmsg", "values", "SCM_???", "asm/socket.h linux/socket.h sys/socket.h", r"SCM_[A-Z0-9_]+", r"SCM_(TIMESTAMP.*|SRCRT)",
           extra="SCM_RIGHTS=1 SCM_CREDENTIALS=2"),
    Source("msg", "flags", "MSG_???", "sys/socket.h", r"MSG_[A-Z_]+", "MSG_TRYHARD|MSG_PROXY",
           extra="MSG_PROBE=0x10 MSG_SENDPAGE_NOTLAST=0x20000 MSG_NO_SHARED_FRAGS=0x80000"),
    Source("shutdown", "values", "SHUT_???", "sys/socket.h", r"SHUT_\w+"),
    Source("sol", "values", "SOL_??", "sys/socket.h netinet/in.h netinet/tcp.h netinet/udp.h", r"SOL_[A-Z0-9]+", "SOL_ICMPV6",
           extra="AF_VSOCK=40 SOL_ICMPV6=58 SOL_CAN_BASE=100 SOL_CAN_RAW=101 SOL_SCTP=132 SOL_UDPLITE=136 SOL_IPX=256 SOL_AX25=257 SOL_ATALK=258 SOL_NETROM=259 SOL_ROSE=260"),
    Source("so", "values", "SO_???", "asm/socket.h", r"SO_[A-Z0-9_]+", "SO_GET_FILTER|SO_DEBUG_.*",
           "SO_DETACH_FILTER SO_RCVTIMEO_OLD SO_SNDTIMEO_OLD SO_TIMESTAMP_OLD SO_TIMESTAMPNS_OLD SO_TIMESTAMPING_OLD"),
    Source("tcp", "values", "TCP_???", "linux/tcp.h", r"TCP_[A-Z0-9_]+",
           r"TCP_(NLA_.*|ESTABLISHED|SYN_SENT|SYN_RECV|FIN_.*|TIME_WAIT|CLOSE|CLOSE_WAIT|LAST_ACK|LISTEN|CLOSING|"
           r"FLAG_.*|DATA_OFFSET|RESERVED_BITS|MSS_DEFAULT|MSS_DESIRED|(RECV|SEND|NO)_QUEUE|QUEUES_NR|MD5SIG_(MAXKEYLEN|FLAG_.*)|"
           r"REPAIR_(ON|OFF.*)|CA_.*|TFO_.*|RECEIVE_ZEROCOPY_.*|CM_INQ)", extra="TCP_COOKIE_TRANSACTIONS=15"),
    Source("ip", "values", "IP_???", "linux/in.h", r"(IP|MCAST)_[A-Z0-9_]+",
           r"IP_(PMTUDISC|LOCAL_PORT_RANGE)_.*|IP_DEFAULT_.*|IP_RECVRETOPTS|MCAST_(IN|EX)CLUDE"),
    Source("ipv6", "values", "IPV6_???", "linux/in.h linux/in6.h", r"(IPV6|MCAST)_[A-Z0-9_]+", r"IPV6_(PMTUDISC|FL|PRIORITY|PREFER|TLV|SRCRT)_.*|IPV6_FLOWINFO_(FLOWLABEL|PRIORITY)|IPV6_(JOIN|LEAVE)_GROUP|"
           r"MCAST_(IN|EX)CLUDE", extra="IPV6_USE_MIN_MTU=63"),
    Source("fcntl", "values", "F_???", "asm/fcntl.h linux/fcntl.h", r"F_[A-Z0-9_]+",
           r"F_(RDLCK|WRLCK|UNLCK|EXLCK|SHLCK|OWNER_.*|SEAL_.*|LINUX_.*)",
           extra="F_GETLK64=12 F_SETLK64=13 F_SETLKW64=14"),
    Source("file_owner", "values", "F_OWNER_???", "asm/fcntl.h", r"F_OWNER_(TID|PID|PGRP)"),
    Source("seals", "flags", "F_SEAL_???", "linux/fcntl.h", r"F_SEAL_\w+"),
    Source("fd", "flags", "FD_???", "asm/fcntl.h", r"FD_CLOEXEC"),
    Source("lock", "values", "F_???", "asm/fcntl.h", r"F_(RDLCK|WRLCK|UNLCK)"),
    Source("flock", "flags", "LOCK_???", "asm/fcntl.h", r"LOCK_(SH|EX|UN|NB|MAND|READ|WRITE|RW)",
           first="LOCK_SH LOCK_EX LOCK_NB LOCK_UN LOCK_MAND LOCK_RW"),
    Source("seek", "values", "SEEK_???", "linux/fs.h", r"SEEK_(SET|CUR|END|DATA|HOLE)"),
    Source("poll", "flags", "POLL???", "asm/poll.h", r"POLL[A-Z]+", "POLL_.*|POLLREMOVE|POLLFREE",
           extra="POLLRDHUP=0x2000 POLL_BUSY_LOOP=0x8000"),
    Source("epoll", "flags", "EPOLL???", "linux/eventpoll.h", r"EPOLL[A-Z]+", "EPOLL_.*|EPOLLINOUT_BITS|EPOLLEXCLUSIVE_OK_BITS",
           extra="EPOLLIN=1 EPOLLPRI=2 EPOLLOUT=4 EPOLLRDNORM=0x40 EPOLLRDBAND=0x80 EPOLLWRNORM=0x100 EPOLLWRBAND=0x200 "
           "EPOLLMSG=0x400 EPOLLERR=8 EPOLLHUP=0x10 EPOLLRDHUP=0x2000 EPOLLEXCLUSIVE=0x10000000 EPOLLWAKEUP=0x20000000 "
           "EPOLLONESHOT=0x40000000 EPOLLET=0x80000000"),
    Source("epoll_ctl", "values", "EPOLL_CTL_???", "linux/eventpoll.h", r"EPOLL_CTL_\w+"),
    Source("epoll_create", "flags", "EPOLL_???", "linux/eventpoll.h", r"EPOLL_CLOEXEC"),
    Source("wait", "flags", "W???", "linux/wait.h", r"W[A-Z]+|__W[A-Z]+",
           first="WNOHANG WEXITED WSTOPPED WCONTINUED WNOWAIT __WCLONE __WALL __WNOTHREAD"),
    Source("futex", "values", "FUTEX_???", "linux/futex.h", r"FUTEX_(WAIT|WAKE|FD|REQUEUE|CMP_REQUEUE|WAKE_OP|LOCK_PI|UNLOCK_PI|"
           r"TRYLOCK_PI|WAIT_BITSET|WAKE_BITSET|WAIT_REQUEUE_PI|CMP_REQUEUE_PI|LOCK_PI2)"),
    Source("clock", "values", "CLOCK_???", "linux/time.h", r"CLOCK_[A-Z_]+"),
    Source("clock_nanosleep", "flags", "TIMER_???", "linux/time.h", r"TIMER_ABSTIME"),
    Source("itimer", "values", "ITIMER_???", "linux/time.h", r"ITIMER_\w+"),
    Source("rlimit", "values", "RLIMIT_???", "asm/resource.h", r"RLIMIT_\w+"),
    Source("rusage", "values", "RUSAGE_???", "linux/resource.h", r"RUSAGE_(SELF|CHILDREN|THREAD)"),
    Source("priority", "values", "PRIO_???", "linux/resource.h", r"PRIO_(PROCESS|PGRP|USER)"),
    Source("prctl", "values", "PR_???", "linux/prctl.h", r"PR_(GET|SET|CAP|CAPBSET|MCE|TASK|MPX|SVE|PAC|SCHED|SME)_[A-Z0-9_]+",
           "PR_PAC_AP.*|PR_SET_VMA_.*|PR_SET_MM_.*|PR_CAP_AMBIENT_.*|PR_SET_PTRACER_ANY|PR_MCE_KILL_(CLEAR|SET|LATE|EARLY|DEFAULT)|PR_SVE_SET_VL_.*|PR_SVE_VL_.*|PR_SME_SET_VL_.*|PR_SME_VL_.*|PR_SCHED_CORE_.+"),
    Source("arch_prctl", "values", "ARCH_???", "asm/prctl.h", r"ARCH_\w+"),
    Source("ioctl", "values", "", "asm/ioctls.h linux/sockios.h linux/fs.h linux/blkpg.h linux/btrfs.h", r"(TC|TIOC|FIO|SIOC|FI|FS_IOC|BLK)[A-Z0-9_]+|BTRFS_IOC_[A-Z0-9_]+",
           r"FILE_DEDUPE_.*|BLKPG_.*|BTRFS_IOC_[GS]ET_FSLABEL|TIOCPKT_.*|TIOCSER_.*|TIOCINQ|TIOCM_.*|FS_IOC(32|_(ADD|REMOVE|GET_ENC|SET_ENC|MEASURE|ENABLE|READ)).*|"
           r"SIOCDEVPRIVATE|SIOCGSTAMP(NS)?|SIOCINQ|SIOCOUTQ|FIFREEZE|FITHAW|TCSETS2|BLKTRACESETUP|BLKZONED.*",
           "FIONREAD", extra="SNDCTL_TMR_START=0x5402 SNDCTL_TMR_STOP=0x5403 SNDCTL_TMR_CONTINUE=0x5404"),
    Source("c_iflag", "flags", "", "asm/termbits.h", r"IGNBRK|BRKINT|IGNPAR|PARMRK|INPCK|ISTRIP|INLCR|IGNCR|ICRNL|IUCLC|IX(ON|ANY|OFF)|IMAXBEL|IUTF8"),
    Source("c_oflag", "both", "", "asm/termbits.h", r"NL[01]", mask=0x100),
    Source("c_oflag_cr", "values", "", "asm/termbits.h", r"CR[0-3]"),
    Source("c_oflag_tab", "values", "", "asm/termbits.h", r"TAB[0-2]|XTABS"),
    Source("c_oflag_bs", "values", "", "asm/termbits.h", r"BS[01]"),
    Source("c_oflag_vt", "values", "", "asm/termbits.h", r"VT[01]"),
    Source("c_oflag_ff", "both", "", "asm/termbits.h", r"FF[01]|OPOST|OLCUC|ONLCR|OCRNL|ONOCR|ONLRET|OFILL|OFDEL", mask=0x8000),
    Source("c_cflag", "values", "", "asm/termbits.h", r"B[0-9]+|BOTHER"),
    Source("c_cflag_cs", "both", "", "asm/termbits.h", r"CS[5-8]|CSTOPB|CREAD|PARENB|PARODD|HUPCL|CLOCAL|CMSPAR|CRTSCTS", mask=0x30),
    Source("c_lflag", "flags", "", "asm/termbits.h", r"ISIG|ICANON|XCASE|ECHO|ECHO[A-Z]+|NOFLSH|TOSTOP|FLUSHO|PENDIN|IEXTEN|EXTPROC",
           first="ISIG ICANON XCASE ECHO ECHOE ECHOK ECHONL NOFLSH IEXTEN ECHOCTL ECHOPRT ECHOKE FLUSHO PENDIN TOSTOP"),
    Source("getrandom", "flags", "GRND_???", "linux/random.h", r"GRND_\w+"),
    Source("memfd", "flags", "MFD_???", "linux/memfd.h", r"MFD_(CLOEXEC|ALLOW_SEALING|HUGETLB|NOEXEC_SEAL|EXEC)"),
    Source("eventfd", "flags", "EFD_???", "sys/eventfd.h", r"EFD_\w+", extra="EFD_SEMAPHORE=1 EFD_CLOEXEC=0x80000 EFD_NONBLOCK=0x800"),
    Source("timerfd", "flags", "TFD_???", "linux/timerfd.h", r"TFD_TIMER_\w+", first="TFD_TIMER_ABSTIME TFD_TIMER_CANCEL_ON_SET TFD_CLOEXEC",
           extra="TFD_CLOEXEC=0x80000 TFD_NONBLOCK=0x800"),
    Source("timerfd_settime", "flags", "TFD_???", "linux/timerfd.h", r"TFD_TIMER_\w+", first="TFD_TIMER_ABSTIME TFD_TIMER_CANCEL_ON_SET TFD_CLOEXEC",
           extra="TFD_CLOEXEC=0x80000 TFD_NONBLOCK=0x800"),
    Source("inotify", "flags", "IN_???", "linux/inotify.h", r"IN_[A-Z_]+", r"IN_CLOEXEC|IN_NONBLOCK|IN_CLOSE|IN_MOVE|IN_ALL_EVENTS"),
    Source("inotify_init", "flags", "IN_???", "linux/inotify.h", r"IN_(CLOEXEC|NONBLOCK)"),
    Source("signalfd", "flags", "SFD_???", "linux/signalfd.h", r"SFD_\w+", extra="SFD_CLOEXEC=0x80000 SFD_NONBLOCK=0x800", first="SFD_CLOEXEC"),
    Source("statx", "flags", "STATX_???", "linux/stat.h", r"STATX_[A-Z_]+", r"STATX_(ALL|BASIC_STATS|ATTR_.*|_.*)",
           "STATX_ALL STATX_BASIC_STATS", extra="STATX_BASIC_STATS=0x7ff STATX_ALL=0xfff"),
    Source("statx_attributes", "flags", "STATX_ATTR_???", "linux/stat.h", r"STATX_ATTR_[A-Z_]+"),
    Source("renameat2", "flags", "RENAME_??", "linux/fs.h", r"RENAME_\w+"),
    Source("fallocate", "flags", "FALLOC_FL_???", "linux/falloc.h", r"FALLOC_FL_\w+"),
    Source("mount", "flags", "MS_???", "linux/mount.h", r"MS_[A-Z_]+", "MS_MGC_.*|MS_RMT_MASK|MS_VERBOSE"),
    Source("rseq", "flags", "RSEQ_???", "linux/rseq.h", r"RSEQ_FLAG_UNREGISTER", extra="RSEQ_FLAG_UNREGISTER=1"),
    Source("membarrier", "values", "MEMBARRIER_CMD_???", "linux/membarrier.h", r"MEMBARRIER_CMD_\w+",
           extra="MEMBARRIER_CMD_QUERY=0 MEMBARRIER_CMD_GLOBAL=1 MEMBARRIER_CMD_GLOBAL_EXPEDITED=2 "
           "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED=4 MEMBARRIER_CMD_PRIVATE_EXPEDITED=8 "
           "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED=0x10 MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE=0x20 "
           "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE=0x40 MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ=0x80 "
           "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ=0x100"),
    Source("cap", "values", "CAP_???", "linux/capability.h", r"CAP_[A-Z_]+", "CAP_LAST_CAP"),
    Source("sigev", "values", "SIGEV_???", "asm/siginfo.h", r"SIGEV_(SIGNAL|NONE|THREAD|THREAD_ID)"),
    Source("sched", "values", "SCHED_???", "linux/sched.h", r"SCHED_(NORMAL|FIFO|RR|BATCH|IDLE|DEADLINE)",
           extra="SCHED_OTHER=0 SCHED_ISO=4", without="SCHED_NORMAL"),
    Source("waitid", "values", "P_???", "linux/wait.h", r"P_(ALL|PID|PGID|PIDFD)"),
    Source("siginfo", "values", "CLD_???", "signal.h", r"CLD_[A-Z]+",
           extra="CLD_EXITED=1 CLD_KILLED=2 CLD_DUMPED=3 CLD_TRAPPED=4 CLD_STOPPED=5 CLD_CONTINUED=6"),
    Source("mempolicy", "both", "MPOL_???", "linux/mempolicy.h", r"MPOL_[A-Z_]+", "MPOL_(MAX|MODE_FLAGS|MF_.*|F_(NODE|ADDR|MEMS_ALLOWED|SHARED|MOF|MORON))",
           extra="MPOL_DEFAULT=0 MPOL_PREFERRED=1 MPOL_BIND=2 MPOL_INTERLEAVE=3 MPOL_LOCAL=4 MPOL_PREFERRED_MANY=5", mask=0xFFF),
    Source("get_mempolicy", "flags", "MPOL_???", "linux/mempolicy.h", r"MPOL_F_(NODE|ADDR|MEMS_ALLOWED)"),
    Source("splice", "flags", "SPLICE_F_???", "fcntl.h", r"SPLICE_F_\w+"),
    Source("file_type", "values", "S_IF??", "linux/stat.h", r"S_IF[A-Z]+", "S_IFMT"),
    Source("statfs", "flags", "ST_???", "sys/statvfs.h", r"ST_[A-Z]+", extra="ST_VALID=0x20", first="ST_VALID"),
    Source("fs", "values", "", "linux/magic.h", r"[A-Z0-9_]+_(SUPER_)?MAGIC"),
)  # fmt: skip


def main(path: str) -> None:
    lines = ["# Made by tools/make_names.py of the installed headers of x86-64. See notation/tables.py."]
    for source in SOURCES:
        found = _values(source)
        if not found:
            raise SystemExit(f"{source.headers} have nothing for the table {source.name}")
        lines.append(
            f"@{source.name} {source.kind} {source.unknown or '-'}" + (f" {source.mask:#x}" if source.mask else "")
        )
        lines += _wrapped([f"{name}={value:#x}" if value > 9 else f"{name}={value}" for name, value in found])
    Path(path).write_text("\n".join(lines) + "\n")


def _values(source: Source) -> list[tuple[str, int]]:
    includes = "".join(f"#include <{header}>\n" for header in source.headers.split())
    prefix = "#define _GNU_SOURCE 1\n" + ("#include <sys/types.h>\n" if "sys/" in source.headers else "") + includes
    macros = subprocess.run(["gcc", "-E", "-dM", "-xc", "-"], input=prefix, capture_output=True, text=True, check=True)
    defined = re.findall(r"^#define (\w+) (.+)$", macros.stdout, re.MULTILINE)
    extra = dict(each.split("=") for each in source.extra.split())
    wanted = re.compile(source.names)
    without = re.compile(source.without) if source.without else None
    names = {
        name for name, _ in defined
        if wanted.fullmatch(name) and not (without and without.fullmatch(name)) and name not in extra
    }  # fmt: skip
    found = _computed(prefix, sorted(names)) | {name: int(value, 0) for name, value in extra.items()}
    first = source.first.split()
    rank = {name: place for place, name in enumerate(first)}
    ordered = sorted(found.items(), key=lambda each: (rank.get(each[0], len(first)), each[1], each[0]))
    return [(name, value) for name, value in ordered if value >= 0]


def _computed(prefix: str, names: list[str]) -> dict[str, int]:
    """The values of constant expressions; names that are none are left out."""
    while names:
        shown = "".join(f'  printf("{name} %lld\\n", (long long)({name}));\n' for name in names)
        program = f"{prefix}#include <stdio.h>\nint main(void) {{\n{shown}}}\n"
        with tempfile.TemporaryDirectory() as place:
            made = subprocess.run(
                ["gcc", "-w", "-xc", "-", "-o", f"{place}/names"],
                input=program,
                capture_output=True,
                text=True,
                env={**os.environ, "LC_ALL": "C"},
            )
            if not made.returncode:
                output = subprocess.run([f"{place}/names"], capture_output=True, text=True, check=True).stdout
                return {name: int(value) for name, value in (line.split() for line in output.splitlines())}
        wrong = set(re.findall(r"error: .*?'(\w+)'", made.stderr)) & set(names)
        lines = [int(n) for n in re.findall(r"<stdin>:(\d+):\d+: (?:error|note)", made.stderr)]
        text = program.splitlines()
        wrong |= {m[1] for n in lines if (m := re.search(r'printf\("(\w+) ', text[n - 1]))}
        if not wrong:
            raise SystemExit(made.stderr)
        names = [name for name in names if name not in wrong]
    return {}


def _wrapped(words: list[str]) -> list[str]:
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > 118:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


if __name__ == "__main__":
    main(*sys.argv[1:])
