"""BPF map types, their flags and what follows from them (enum bpf_map_type, include/uapi/linux/bpf.h)."""

from __future__ import annotations

_NAMES = (
    "unspec hash array prog_array perf_event_array percpu_hash percpu_array stack_trace cgroup_array lru_hash "
    "lru_percpu_hash lpm_trie array_of_maps hash_of_maps devmap sockmap cpumap xskmap sockhash cgroup_storage "
    "reuseport_sockarray percpu_cgroup_storage queue stack sk_storage devmap_hash struct_ops ringbuf inode_storage "
    "task_storage bloom_filter user_ringbuf cgrp_storage arena insn_array"
)
NAMES = tuple(_NAMES.split())
"""Names by number, as bpftool prints them."""


def type_name(kind: int) -> str:
    """The name of a type of map; of one that is not known here, which a map of a file may have, its number."""
    return NAMES[kind] if 0 <= kind < len(NAMES) else f"number {kind}"


HASH = 1
ARRAY = 2
PROG_ARRAY = 3
PERF_EVENT_ARRAY = 4
PERCPU_HASH = 5
PERCPU_ARRAY = 6
STACK_TRACE = 7
LRU_HASH = 9
LRU_PERCPU_HASH = 10
LPM_TRIE = 11
ARRAY_OF_MAPS = 12
HASH_OF_MAPS = 13
CGROUP_STORAGE = 19
PERCPU_CGROUP_STORAGE = 21
QUEUE = 22
STACK = 23
STRUCT_OPS = 26
RINGBUF = 27
TASK_STORAGE = 29
USER_RINGBUF = 31

PER_CPU = frozenset({PERCPU_HASH, PERCPU_ARRAY, LRU_PERCPU_HASH})
"""Maps with one value for each possible CPU, each padded to 8 bytes."""

MAPS_OF_MAPS = frozenset({ARRAY_OF_MAPS, HASH_OF_MAPS})

# Flags of BPF_MAP_CREATE.
F_NO_PREALLOC = 1 << 0
F_NO_COMMON_LRU = 1 << 1
F_NUMA_NODE = 1 << 2
F_RDONLY = 1 << 3
F_WRONLY = 1 << 4
F_STACK_BUILD_ID = 1 << 5
BUILD_ID_SIZE = 32
"""Bytes of a struct bpf_stack_build_id, of which a stack consists with that flag."""
F_ZERO_SEED = 1 << 6
F_RDONLY_PROG = 1 << 7
F_WRONLY_PROG = 1 << 8
F_CLONE = 1 << 9
F_MMAPABLE = 1 << 10
F_PRESERVE_ELEMS = 1 << 11
F_INNER_MAP = 1 << 12

# Flags of bpf_map_update_elem.
ANY, NOEXIST, EXIST, LOCK = 0, 1, 2, 4
