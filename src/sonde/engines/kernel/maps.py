"""BPF maps of the kernel, made from MapSpec values."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from mmap import PAGESIZE

from sonde.bpf import btf_writer, maps
from sonde.engines.kernel import commands, requirements
from sonde.engines.kernel.commands import Batch, TypedMap
from sonde.engines.kernel.failures import NOT_SUPPORTED, explain
from sonde.machine import system
from sonde.model.errors import EngineError
from sonde.model.spec import MapSpec
from sonde.model.units import whole_words
from sonde.untrusted import read_kernel

_BATCH_BYTES = 1 << 22
"""How much a batch reads at a time, at most."""

_ARRAYS = frozenset({maps.ARRAY, maps.PERCPU_ARRAY})


class KernelMap:
    """One map, which is not made of maps; owns its descriptor."""

    def __init__(self, spec: MapSpec, cpus: int, template: int = 0) -> None:
        """`cpus` is the number of possible CPUs; `template` an inner map if this holds maps. Raises EngineError."""
        self.spec = spec
        per_cpu = spec.kind in maps.PER_CPU
        self._copies = cpus if per_cpu else 1
        self._value_size = whole_words(spec.value_size) * cpus if per_cpu else spec.value_size
        try:
            if max(spec.value_size, spec.max_entries) >= 1 << 32:
                raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
            self.descriptor = _create(spec, template)
            self._fill()
        except OSError as error:
            self.close()
            raise _refusal(spec, error) from None

    descriptor = -1

    def _fill(self) -> None:
        contents = [(key, self._padded(value)) for key, value in self.spec.contents]
        if len(contents) > 1:
            _write_batch(self.descriptor, contents)
        elif contents:
            commands.update_element(self.descriptor, *contents[0])
        if self.spec.frozen:
            commands.freeze_map(self.descriptor)

    def _padded(self, value: bytes) -> bytes:
        """A value as the system call takes it: the same one for each CPU, unless all CPUs' are given."""
        if len(value) == self.spec.value_size != self._value_size:
            return (value + bytes(-len(value) % 8)) * self._copies
        return value

    def read(self) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is the values of all possible CPUs, each padded to 8 bytes."""
        try:
            return _read(self.spec, self.descriptor, self._value_size)
        except OSError as error:
            raise explain(error, f"cannot read map {self.spec.name}") from None

    def write(self, key: bytes, value: bytes) -> None:
        """Set one element; of a per-CPU map on all CPUs, unless the values of all CPUs are given."""
        try:
            commands.update_element(self.descriptor, key, self._padded(value))
        except OSError as error:
            raise explain(error, f"cannot write map {self.spec.name}") from None

    def remove(self, key: bytes) -> None:
        """Delete one element, if it is there."""
        try:
            commands.delete_element(self.descriptor, key)
        except FileNotFoundError:
            return
        except OSError as error:
            raise explain(error, f"cannot change map {self.spec.name}") from None

    def put(self, key: int, descriptor: int) -> None:
        """Make a map or a program the element of a u32 key."""
        self.write(_native(key), _native(descriptor))

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1


class KernelMapArray:
    """An array of maps, each made from one template; owns them all."""

    def __init__(self, spec: MapSpec, template: MapSpec, cpus: int) -> None:
        self.spec = spec
        self._template = template
        self._cpus = cpus
        self.elements: list[KernelMap] = []
        try:
            for _ in range(spec.max_entries):
                self.elements.append(KernelMap(template, cpus))
            self._outer = KernelMap(spec._replace(inner=None), cpus, self.elements[0].descriptor)
            self._insert()
        except BaseException:
            self.close()
            raise

    _outer: KernelMap | None = None

    def _insert(self) -> None:
        """Make the maps the elements: in one call, since each waits for the programs that run, some 10 ms."""
        assert self._outer is not None
        contents = [(_native(index), _native(element.descriptor)) for index, element in enumerate(self.elements)]
        try:
            _write_batch(self._outer.descriptor, contents)
        except OSError as error:
            raise explain(error, f"cannot write map {self.spec.name}") from None

    @property
    def descriptor(self) -> int:
        return self._outer.descriptor if self._outer is not None else -1

    def replace(self, index: int) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of one; return what that one held at its end.

        The kernel returns from the update when every program that saw the old map has run to its end
        (maybe_wait_bpf_programs, kernel/bpf/syscall.c), so no count is lost.
        """
        assert self._outer is not None
        fresh = KernelMap(self._template, self._cpus)
        try:
            self._outer.write(_native(index), _native(fresh.descriptor))
        except BaseException:
            fresh.close()
            raise
        old, self.elements[index] = self.elements[index], fresh
        try:
            return old.read()
        finally:
            old.close()

    def close(self) -> None:
        for element in self.elements:
            element.close()
        if self._outer is not None:
            self._outer.close()


def create(spec: MapSpec, cpus: int) -> KernelMap | KernelMapArray:
    """The object for `spec`; `cpus` is the number of possible CPUs. Raises EngineError."""
    if spec.by_cpu:
        spec = _by_cpu(spec, cpus)
    if spec.inner is None:
        return KernelMap(spec, cpus)
    return KernelMapArray(spec, spec.inner, cpus) if spec.elements is None else _of_named_maps(spec, spec.inner, cpus)


def _of_named_maps(spec: MapSpec, inner: MapSpec, cpus: int) -> KernelMap:
    """A map whose elements are other maps of the spec, put into it when they are there."""
    template = KernelMap(inner, cpus)
    try:
        return KernelMap(spec._replace(inner=None), cpus, template.descriptor)
    finally:
        template.close()


def _by_cpu(spec: MapSpec, cpus: int) -> MapSpec:
    """The map with an element for each CPU, filled as `MapSpec.by_cpu` says."""
    if spec.by_cpu == "chip":
        contents = tuple(
            (_native(n), _native(chip).ljust(spec.value_size, b"\0")) for n, chip in enumerate(system.chips())
        )
        spec = spec._replace(contents=contents)
    return spec._replace(max_entries=spec.max_entries * cpus)


def _refusal(spec: MapSpec, error: OSError) -> EngineError:
    what = f"cannot create map {spec.name}"
    if error.errno == errno.EINVAL and (text := _impossible(spec)):
        return EngineError(f"{what}: {text}")
    known = requirements.MAPS.get(spec.kind) if error.errno in NOT_SUPPORTED else None
    if known is not None and (text := requirements.too_old(known)):
        return EngineError(f"{what}: {text}")
    if error.errno == errno.E2BIG and spec.kind in _OF_EACH_CPU and spec.value_size > _LARGEST_OF_CPU:
        text = f"a value has {spec.value_size} bytes, of {_LARGEST_OF_CPU} that the kernel allows on each CPU"
        return EngineError(f"{what}: {text}; for lquantize() take a larger step")
    return explain(error, what)


def _impossible(spec: MapSpec) -> str:
    """Why no kernel makes such a map; "" if that is not known (kernel/bpf/ringbuf.c, stackmap.c, arraymap.c)."""
    if spec.kind in (maps.RINGBUF, maps.USER_RINGBUF):
        size, page = spec.max_entries, PAGESIZE
        if size % page or size & size - 1:
            return f"a ring buffer has a power of two of bytes, in whole pages of {page}, and not {size}"
    elif spec.kind == maps.STACK_TRACE:
        each = maps.BUILD_ID_SIZE if spec.flags & maps.F_STACK_BUILD_ID else 8
        if spec.value_size % each:
            return f"a stack has addresses of {each} bytes, and the values have {spec.value_size}"
        with suppress(OSError, ValueError):
            most = int(read_kernel("/proc/sys/kernel/perf_event_max_stack"))
            if spec.value_size // each > most:
                return f"a stack has at most {most} addresses here (kernel.perf_event_max_stack), and not " + str(
                    spec.value_size // each
                )
    elif not spec.value_size:
        return "its values have no size"
    return ""


_OF_EACH_CPU = (maps.PERCPU_ARRAY, maps.PERCPU_HASH)
_LARGEST_OF_CPU = 32 << 10
"""PCPU_MIN_UNIT_SIZE (include/linux/percpu.h)."""


def _native(number: int) -> bytes:
    """A u32 in the machine's order, as index and descriptor of array elements."""
    return number.to_bytes(4, sys.byteorder)


def _create(spec: MapSpec, template: int) -> int:
    """The descriptor of a new map."""
    sizes = (spec.key_size, spec.value_size, spec.max_entries)
    if not spec.typed:
        return with_memory(lambda: commands.create_map(spec.name, spec.kind, sizes, spec.flags, template))
    types = _value_types(spec)
    try:
        return with_memory(lambda: commands.create_map(spec.name, spec.kind, sizes, spec.flags, template, types))
    finally:
        # The map holds its own reference.
        os.close(types.btf)


def _value_types(spec: MapSpec) -> TypedMap:
    """BTF for a map that must have it: an int as key, an array of bytes as value (map_check_btf wants the sizes)."""
    builder = btf_writer.BtfBuilder()
    key = builder.add_int("int", spec.key_size, btf_writer.INT_SIGNED)
    value = builder.add_array(builder.add_int("unsigned char", 1), key, spec.value_size)
    return TypedMap(commands.load_btf(builder.build()), key, value)


def with_memory(make: Callable[[], int]) -> int:
    """What `make` returns; where it is refused, once more with RLIMIT_MEMLOCK lifted, as Linux before 5.11 needs it."""
    try:
        return make()
    except PermissionError:
        import resource  # an import that most runs do without

        try:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except (ValueError, OSError):
            # The limit cannot be lifted either: the first refusal is the one to report.
            lifted = False
        else:
            lifted = True
        if not lifted:
            raise
        return make()


def _write_batch(descriptor: int, contents: list[tuple[bytes, bytes]]) -> None:
    """Set many elements, one by one before Linux 5.6."""
    keys, values = bytearray().join(key for key, _ in contents), bytearray().join(value for _, value in contents)
    try:
        commands.update_batch(descriptor, keys, values, len(contents))
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
        for key, value in contents:
            commands.update_element(descriptor, key, value)


def _read(spec: MapSpec, descriptor: int, value_size: int) -> list[tuple[bytes, bytes]]:
    if spec.max_entries == 1 and spec.kind in _ARRAYS:
        return [(bytes(4), commands.lookup_element(descriptor, bytes(4), value_size))]
    try:
        return _read_batches(spec, descriptor, value_size)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
    return list(_read_singly(spec, descriptor, value_size))


def _read_batches(spec: MapSpec, descriptor: int, value_size: int) -> list[tuple[bytes, bytes]]:
    elements: list[tuple[bytes, bytes]] = []
    count = max(1, min(spec.max_entries, _BATCH_BYTES // (spec.key_size + value_size)))
    token = bytearray(max(spec.key_size, 8))
    batch = Batch(token, bytearray(count * spec.key_size), bytearray(count * value_size))
    first = last = True
    while first or not last:
        try:
            found, last = commands.lookup_batch(descriptor, batch, count, first)
        except OSError as error:
            if error.errno != errno.ENOSPC or count >= spec.max_entries:
                raise
            count = min(2 * count, spec.max_entries)
            batch = Batch(token, bytearray(count * spec.key_size), bytearray(count * value_size))
            continue
        first = False
        elements += zip(_split(batch.keys, spec.key_size, found), _split(batch.values, value_size, found), strict=True)
    return elements


def _split(data: bytearray, size: int, count: int) -> list[bytes]:
    return [bytes(data[at : at + size]) for at in range(0, size * count, size)]


def _read_singly(spec: MapSpec, descriptor: int, value_size: int) -> Iterator[tuple[bytes, bytes]]:
    """Key by key, for maps and kernels without batches; elements deleted meanwhile are left out."""
    key = commands.next_key(descriptor, None, spec.key_size)
    while key is not None:
        with suppress(FileNotFoundError):
            yield key, commands.lookup_element(descriptor, key, value_size)
        key = commands.next_key(descriptor, key, spec.key_size)
