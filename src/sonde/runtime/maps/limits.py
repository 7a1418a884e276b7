"""What the kernel refuses to make: the map_alloc_check functions of each kind (kernel/bpf, Linux 6.18).

The embedded engine refuses the same, so a program runs on both engines or on none.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from errno import E2BIG, EINVAL

from sonde.bpf import maps
from sonde.model.spec import MapSpec

ENOTSUPP = 524
"""include/linux/errno.h"""

_LARGEST_ALLOCATION = 1 << 22
"""KMALLOC_MAX_SIZE (include/linux/slab.h)."""

_HASH_ELEMENT = 48
"""sizeof(struct htab_elem)."""

_LARGEST_PER_CPU = 32 << 10
"""PCPU_MIN_UNIT_SIZE (include/linux/percpu.h)."""

_LARGEST_STORAGE = 0xFFFF - 128
"""BPF_LOCAL_STORAGE_MAX_VALUE_SIZE (include/linux/bpf_local_storage.h)."""

_DEEPEST = 127
"""The default of sysctl kernel.perf_event_max_stack."""

_PROGRAMS_ACCESS = maps.F_RDONLY_PROG | maps.F_WRONLY_PROG
_ACCESS = maps.F_RDONLY | maps.F_WRONLY | _PROGRAMS_ACCESS
_ARRAY_FLAGS = maps.F_NUMA_NODE | maps.F_MMAPABLE | _ACCESS | maps.F_PRESERVE_ELEMS | maps.F_INNER_MAP
_HASH_FLAGS = maps.F_NO_PREALLOC | maps.F_NO_COMMON_LRU | maps.F_NUMA_NODE | _ACCESS | maps.F_ZERO_SEED


def check(spec: MapSpec) -> int:
    """0, or the errno with which the kernel refuses to create the map."""
    flags = spec.flags
    contradicts = any(flags & both == both for both in (_PROGRAMS_ACCESS, maps.F_RDONLY | maps.F_WRONLY))
    too_large = max(spec.key_size, spec.value_size, spec.max_entries) > 0xFFFF_FFFF
    if contradicts or spec.kind not in _CHECKS:
        return EINVAL
    return E2BIG if too_large else _CHECKS[spec.kind](spec)


def _array(spec: MapSpec) -> int:
    flags = spec.flags
    if not spec.max_entries or spec.key_size != 4 or not spec.value_size or flags & ~_ARRAY_FLAGS:
        return EINVAL
    if spec.kind != maps.ARRAY and flags & (maps.F_MMAPABLE | maps.F_INNER_MAP):
        return EINVAL
    if spec.kind != maps.PERF_EVENT_ARRAY and flags & maps.F_PRESERVE_ELEMS:
        return EINVAL
    if spec.kind == maps.PERCPU_ARRAY and flags & maps.F_NUMA_NODE:
        return EINVAL
    return _value(spec, (1 << 31) - 1)


def _value(spec: MapSpec, most: int) -> int:
    if spec.kind in maps.PER_CPU:
        most = min(most, _LARGEST_PER_CPU)
    return E2BIG if spec.value_size > most else 0


def _objects(spec: MapSpec) -> int:
    return EINVAL if spec.value_size != 4 or spec.flags & _PROGRAMS_ACCESS else _array(spec)


def _hash(spec: MapSpec) -> int:
    flags, is_lru = spec.flags, spec.kind in (maps.LRU_HASH, maps.LRU_PERCPU_HASH)
    if flags & ~_HASH_FLAGS or (flags & maps.F_NO_COMMON_LRU and not is_lru):
        return EINVAL
    if is_lru and flags & maps.F_NO_PREALLOC:
        return ENOTSUPP
    if flags & maps.F_NUMA_NODE and (spec.kind in maps.PER_CPU or flags & maps.F_NO_COMMON_LRU):
        return EINVAL
    if not spec.max_entries or not spec.key_size or not spec.value_size:
        return EINVAL
    if spec.key_size + spec.value_size >= _LARGEST_ALLOCATION - _HASH_ELEMENT or spec.max_entries > 1 << 31:
        return E2BIG
    return _value(spec, _LARGEST_ALLOCATION)


def _ring(spec: MapSpec) -> int:
    size = spec.max_entries
    bad = spec.flags & ~maps.F_NUMA_NODE or spec.key_size or spec.value_size or size & size - 1 or size % mmap.PAGESIZE
    return EINVAL if bad or not size else 0


def _stack_trace(spec: MapSpec) -> int:
    allowed = maps.F_NUMA_NODE | maps.F_RDONLY | maps.F_WRONLY
    if spec.flags & ~allowed or not spec.max_entries or spec.key_size != 4 or spec.value_size < 8:
        return EINVAL
    if spec.value_size % 8 or spec.value_size // 8 > _DEEPEST:
        return EINVAL
    return E2BIG if spec.max_entries > 1 << 31 else 0


def _queue(spec: MapSpec) -> int:
    if spec.flags & ~(maps.F_NUMA_NODE | _ACCESS) or not spec.max_entries or spec.key_size or not spec.value_size:
        return EINVAL
    return E2BIG if spec.value_size > _LARGEST_ALLOCATION else 0


def _storage(spec: MapSpec) -> int:
    if spec.flags & ~maps.F_CLONE != maps.F_NO_PREALLOC or spec.max_entries or spec.key_size != 4:
        return EINVAL
    if not spec.value_size or not spec.typed:
        return EINVAL
    return E2BIG if spec.value_size > _LARGEST_STORAGE else 0


_CHECKS: dict[int, Callable[[MapSpec], int]] = {
    maps.ARRAY: _array,
    maps.PERCPU_ARRAY: _array,
    maps.PROG_ARRAY: _objects,
    maps.PERF_EVENT_ARRAY: _objects,
    maps.ARRAY_OF_MAPS: _objects,
    maps.HASH: _hash,
    maps.PERCPU_HASH: _hash,
    maps.LRU_HASH: _hash,
    maps.LRU_PERCPU_HASH: _hash,
    maps.RINGBUF: _ring,
    maps.STACK_TRACE: _stack_trace,
    maps.QUEUE: _queue,
    maps.STACK: _queue,
    maps.TASK_STORAGE: _storage,
}
