"""How each object of libbpf-tools is run by sonde as its own tool runs it: what that tool sets by libbpf's functions
before it loads the object, as options of sonde.

Where a tool chooses among alternatives by what the kernel has, the choice is the same here: `fentry` where programs can
be attached by trampolines, else kprobes.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """`options` are sonde's always; `fentry` and `kprobe` those that are added where the kernel has one or the other;
    `tool` are the arguments of libbpf's tool, `{pid}` the workload. `counts` are maps that are compared;
    `has_events`: each side writes a line for each event. `reason`: why there is nothing to compare; `note`: what is
    left out."""

    options: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    fentry: tuple[str, ...] = ()
    kprobe: tuple[str, ...] = ()
    reason: str = ""
    has_events: bool = True
    note: str = ""


def off(*patterns: str) -> tuple[str, ...]:
    return tuple(word for each in patterns for word in ("--program", f"{each}=off"))


def at(places: str) -> tuple[str, ...]:
    return tuple(word for each in places.split() for word in ("--attach", each))


def sized(sizes: str) -> tuple[str, ...]:
    return tuple(word for each in sizes.split() for word in ("--map", each))


def values(numbers: str) -> tuple[str, ...]:
    return tuple(word for each in numbers.split() for word in ("-D", each))


_TARGET = "$target"
_EXT4 = ("read=ext4_file_read_iter", "write=ext4_file_write_iter", "open=ext4_file_open", "sync=ext4_sync_file")


def _of_files(*kinds: str) -> tuple[str, ...]:
    pairs = [each.split("=") for each in _EXT4]
    return at(" ".join(f"file_{name}_{kind}={function}" for name, function in pairs for kind in kinds))


_GETATTR = at("getattr_entry=ext4_file_getattr getattr_exit=ext4_file_getattr")
_ALLOCATIONS = (
    "malloc", "calloc", "realloc", "mmap", "mremap", "posix_memalign", "aligned_alloc", "valloc", "memalign", "pvalloc",
)  # fmt: skip
_MEMLEAK = at(
    " ".join(f"{each}_{kind}=libc.so.6:{each}@$target" for each in _ALLOCATIONS for kind in ("enter", "exit"))
    + " free_enter=libc.so.6:free@$target munmap_enter=libc.so.6:munmap@$target"
)
_SECONDS = "99999"

CASES: dict[str, Case] = {
    "bashreadline": Case((*at("printret=/bin/bash:readline"), "--record", "events=str_t")),
    "bindsnoop": Case(("--record", "events=bind_event")),
    "biolatency": Case(off("block_rq_insert*", "block_rq_issue", "block_rq_complete"), (_SECONDS, "1"), ("hists",),
        has_events=False),
    "biopattern": Case((), (_SECONDS, "1"), ("counters",), has_events=False),
    "biosnoop": Case(off("block_rq_insert", "blk_account_io_*")),
    "biostacks": Case(off("blk_account_io_*"), (_SECONDS,), ("hists",), has_events=False),
    "biotop": Case(off("*blk_account_io_*"), (_SECONDS, "1"), ("counts",), has_events=False),
    "bitesize": Case((), (_SECONDS, "1"), ("hists",), has_events=False),
    "cachestat": Case(
        off("fentry_account_page_dirtied", "*_dirtied", "tracepoint__writeback_dirty_page"),
        (_SECONDS, "1"), (".bss",), off("kprobe_*"), off("fentry_*"), has_events=False),
    "capable": Case(
        (*sized("stackmap=1024"), *values("targ_pid=$target"), "--record", "events=cap_event"), ("-p", "{pid}")
    ),
    "cpudist": Case(
        (*off("sched_switch_tp"), *sized("start=65536 hists=1"), *values("targ_tgid=$target")),
        ("-p", "{pid}", _SECONDS, "1"), ("hists",), has_events=False),
    "cpufreq": Case(at("do_sample=99hz"), ("-d", _SECONDS), ("hists",), has_events=False),
    "drsnoop": Case(
        off("direct_reclaim_begin", "direct_reclaim_end"),
        reason="threads reclaim memory themselves where the whole machine is out of it; a control group's limit is "
        "another event"),
    "execsnoop": Case(),
    "exitsnoop": Case(),
    "filelife": Case(values("targ_tgid=$target"), ("-p", "{pid}")),
    "filetop": Case(values("target_pid=$target"), ("-p", "{pid}", _SECONDS, "1"), ("entries",), has_events=False),
    "fsdist": Case(
        values("target_pid=$target"), ("-t", "ext4", "-p", "{pid}", _SECONDS, "1"), (".bss",),
        *2 * ((*off("*_fentry", "*_fexit"), *_of_files("entry", "exit"), *_GETATTR),), has_events=False),
    "fsslower": Case(
        values("target_pid=$target min_lat_ns=0"), ("-t", "ext4", "-p", "{pid}", "-m", "0"), (),
        *2 * ((*off("*_fentry", "*_fexit"), *_of_files("entry", "exit")),),
    ),
    "funclatency": Case(
        values("targ_tgid=$target"), ("-p", "{pid}", "vfs_read"), (".bss",),
        (*off("*probe"), *at("dummy_fentry=vfs_read dummy_fexit=vfs_read")),
        (*off("*fentry", "*fexit"), *at("dummy_kprobe=vfs_read dummy_kretprobe=vfs_read")), has_events=False),
    "futexctn": Case(
        (*sized("stackmap=1024"), *values("targ_pid=$target")), ("-p", "{pid}", _SECONDS, "1"), ("hists",),
        has_events=False),
    "gethostlatency": Case(
        at(" ".join(
            f"handle_{kind}=libc.so.6:{each}"
            for each in ("getaddrinfo", "gethostbyname", "gethostbyname2") for kind in ("entry", "return")
        ))
    ),
    "hardirqs": Case(off("irq_handler_entry", "irq_handler_exit"), (_SECONDS, "1"), ("infos",), has_events=False),
    "javagc": Case(
        (*off("handle_mem_pool_*"), *at(
            "handle_gc_start={jvm}:hotspot:mem__pool__gc__begin handle_gc_start={jvm}:hotspot:gc__begin "
            "handle_gc_end={jvm}:hotspot:mem__pool__gc__end handle_gc_end={jvm}:hotspot:gc__end"
        )),
        ("-p", "{java}"),
    ),
    "klockstat": Case(
        (*off("kprobe_*"), *values("targ_tgid=$target")), ("-p", "{pid}"), ("stat_map",), has_events=False),
    "ksnoop": Case(
        at("kprobe_entry=vfs_read kprobe_return=vfs_read"), ("trace", "vfs_read"), ("ksnoop_func_stack",),
        has_events=False, note="but for its records, which need what its tool puts into a map"),
    "llcstat": Case(reason="its events are counted by the processor, which neither machine lets programs do"),
    # Of a module's functions its tool takes the kprobe in any case.
    "mdflush": Case(off("md_flush_request")),
    "memleak": Case(
        (*off("memleak__*"), *sized("stack_traces=10240 combined_allocs=10240"), *_MEMLEAK),
        ("-p", "{pid}", _SECONDS), ("allocs",), has_events=False),
    "mountsnoop": Case(values("target_pid=$target"), ("-p", "{pid}")),
    "numamove": Case(
        (), (), (), off("*_page*", "k*probe_*"), off("*_page*", "fe*"), has_events=False,
        note="but for what it has counted, which its tool sets to 0 each second"),
    "offcputime": Case(
        (*off("sched_switch_raw"), *sized("stackmap=16384")), (_SECONDS,), has_events=False),
    "oomkill": Case(("--record", "events=data_t")),
    "opensnoop": Case(sized("events=8388608")),
    "profile": Case((*sized("stackmap=16384"), *at("do_perf_event=99hz")), ("-F", "99", _SECONDS), ("counts",),
        has_events=False),
    "readahead": Case(
        (*off("page_cache_alloc_ret", "filemap_alloc_folio_ret", "mark_page_accessed"),
         *at("do_page_cache_ra=page_cache_ra_order do_page_cache_ra_ret=page_cache_ra_order")),
        ("-d", _SECONDS), (".bss",), has_events=False),
    "runqlat": Case(off("handle_*"), (_SECONDS, "1"), ("hists",), has_events=False),
    "runqlen": Case(at("do_sample=99hz"), ("-f", "99", _SECONDS, "1"), (".bss",), has_events=False),
    "runqslower": Case((*off("handle_*"), *values("min_us=200")), ("-P", "200")),
    "sigsnoop": Case(off("*_entry", "*_exit")),
    "slabratetop": Case(
        (*off("kmem_cache_alloc"), *values("target_pid=$target")), ("-p", "{pid}", _SECONDS, "1"), ("slab_entries",),
        has_events=False),
    "softirqs": Case(off("softirq_entry", "softirq_exit"), (_SECONDS, "1"), has_events=False),
    "softirqslower": Case((*off("*_raw"), *values("min_us=1")), ("1",)),
    "solisten": Case((), (), (), off("inet_listen_entry", "inet_listen_exit"), off("*_fexit")),
    "statsnoop": Case(values("target_pid=$target"), ("-p", "{pid}")),
    "syncsnoop": Case(off("*sync_file_range2", "*arm_sync_file_range")),
    "syscount": Case((*off("sys_enter"), *values("filter_pid=$target")), ("-p", "{pid}"), ("data",), has_events=False),
    "tcpconnect": Case(),
    "tcpconnlat": Case((), (), (), off("tcp_v4_connect", "tcp_v6_connect", "tcp_rcv_state_process"), off("fentry_*")),
    "tcplife": Case(),
    "tcppktlat": Case((*off("tcp_probe", "tcp_rcv_space_adjust", "tcp_destroy_sock"),)),
    "tcprtt": Case((), ("-i", _SECONDS), ("hists",), off("*_kprobe"), off("tcp_rcv"), has_events=False),
    "tcpstates": Case(),
    "tcpsynbl": Case((), (_SECONDS, "1"), ("hists",), off("*_kprobe"), off("*_recv"), has_events=False),
    "tcptop": Case(values("target_pid=$target"), ("-p", "{pid}", _SECONDS, "1"), ("ip_map",), has_events=False),
    "tcptracer": Case(),
    "vfsstat": Case((), (_SECONDS, "1"), (".bss",), off("kprobe_*"), off("fentry_*"), has_events=False),
    "wakeuptime": Case(sized("stackmap=1024"), (_SECONDS,), has_events=False),
}  # fmt: skip
"""By the object's name. `{jvm}` is the library of the Java that runs, `{java}` a process of it."""
