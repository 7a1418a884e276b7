"""The commands of bpf(2), one function each, and the offsets of their attributes in union bpf_attr
(include/uapi/linux/bpf.h). Descriptors are returned open and are the caller's to close; failures are OSError.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from sonde.bpf.programs import TRACE_ITER, TRACE_KPROBE_MULTI, TRACE_UPROBE_MULTI
from sonde.engines.kernel.syscalls import address_of, bpf
from sonde.typed import NamedTuple

MAP_CREATE, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, MAP_DELETE_ELEM, MAP_GET_NEXT_KEY, PROG_LOAD = range(6)
OBJ_PIN = 6
PROG_TEST_RUN, OBJ_GET_INFO_BY_FD, RAW_TRACEPOINT_OPEN, BTF_LOAD, MAP_FREEZE = 10, 15, 17, 18, 22
MAP_LOOKUP_BATCH, MAP_UPDATE_BATCH, LINK_CREATE, ITER_CREATE = 24, 26, 28, 33

TEST_RUN_ON_CPU = 1
_UPROBE_MULTI_RETURN = 1
"""BPF_F_UPROBE_MULTI_RETURN."""
_KPROBE_MULTI_RETURN = 1
"""BPF_F_KPROBE_MULTI_RETURN."""
_RAW_TRACEPOINT_CONTEXT = 96
"""Bytes of the context BPF_PROG_TEST_RUN wants for a raw tracepoint: MAX_BPF_FUNC_ARGS words."""

_INFO_SIZE, _RECURSION_MISSES, _JITED_COUNTS = 232, 208, 104
"""Of struct bpf_prog_info: its size, and the places of recursion_misses and of nr_jited_ksyms."""

_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.")


def object_name(text: str) -> bytes:
    """`text` as the kernel takes names of maps and programs: at most 15 letters, digits, _ and dots."""
    return "".join(c if c in _NAME_CHARACTERS else "_" for c in text[:15]).encode()


class TypedMap(NamedTuple):
    """The BTF types of a map's keys and values: ids in the BTF object open as `btf`."""

    btf: int
    key_type: int
    value_type: int


UNTYPED = TypedMap(0, 0, 0)


def create_map(
    name: str, kind: int, sizes: tuple[int, int, int], flags: int = 0, inner: int = 0, typed: TypedMap = UNTYPED
) -> int:
    """`sizes` are those of keys and values, and max_entries; `inner` is the template of a map of maps."""
    attributes = bytearray(72)
    struct.pack_into("=6I", attributes, 0, kind, *sizes, flags, inner)
    struct.pack_into("=16s", attributes, 28, object_name(name))
    struct.pack_into("=3I", attributes, 48, *typed)
    return bpf(MAP_CREATE, attributes)


def _element(command: int, map_descriptor: int, key: bytearray, other: bytearray, flags: int = 0) -> None:
    attributes = bytearray(32)
    struct.pack_into("=I4xQQQ", attributes, 0, map_descriptor, address_of(key), address_of(other), flags)
    bpf(command, attributes)


def update_element(map_descriptor: int, key: bytes, value: bytes, flags: int = 0) -> None:
    _element(MAP_UPDATE_ELEM, map_descriptor, bytearray(key), bytearray(value), flags)


def delete_element(map_descriptor: int, key: bytes) -> None:
    """FileNotFoundError where it is not there."""
    _element(MAP_DELETE_ELEM, map_descriptor, bytearray(key), bytearray())


def lookup_element(map_descriptor: int, key: bytes, value_size: int) -> bytes:
    """`value_size` is what the kernel writes: for per-CPU maps all CPUs' values, each padded to 8 bytes."""
    value = bytearray(value_size)
    _element(MAP_LOOKUP_ELEM, map_descriptor, bytearray(key), value)
    return bytes(value)


def next_key(map_descriptor: int, key: bytes | None, key_size: int) -> bytes | None:
    """The key behind `key` (None: the first); None at the end."""
    following = bytearray(key_size)
    try:
        _element(MAP_GET_NEXT_KEY, map_descriptor, bytearray(key or b""), following)
    except FileNotFoundError:
        return None
    return bytes(following)


def freeze_map(map_descriptor: int) -> None:
    """Make it read-only for system calls; with F_RDONLY_PROG the verifier then knows its contents."""
    bpf(MAP_FREEZE, bytearray(struct.pack("=I", map_descriptor)))


class Batch(NamedTuple):
    """Where a batch lookup puts what it finds: `token` says where to go on."""

    token: bytearray
    keys: bytearray
    values: bytearray


def lookup_batch(map_descriptor: int, batch: Batch, count: int, first: bool) -> tuple[int, bool]:
    """Read up to `count` elements; returns how many and whether those were the last.

    ENOSPC: a hash bucket has more than `count`. EINVAL or ENOTSUPP: the map cannot do it.
    """
    attributes = bytearray(56)
    token = address_of(batch.token)
    struct.pack_into("=QQQQII", attributes, 0, 0 if first else token, token, address_of(batch.keys),
                     address_of(batch.values), count, map_descriptor)  # fmt: skip
    last = False
    try:
        bpf(MAP_LOOKUP_BATCH, attributes)
    except FileNotFoundError:
        # ENOENT is the end of the map, and what was read until there is valid.
        last = True
    return int(struct.unpack_from("=I", attributes, 32)[0]), last


def update_batch(map_descriptor: int, keys: bytearray, values: bytearray, count: int) -> None:
    attributes = bytearray(56)
    struct.pack_into("=QQQQII", attributes, 0, 0, 0, address_of(keys), address_of(values), count, map_descriptor)
    bpf(MAP_UPDATE_BATCH, attributes)


def load_btf(blob: bytes) -> int:
    data = bytearray(blob)
    attributes = bytearray(28)
    struct.pack_into("=QQI", attributes, 0, address_of(data), 0, len(data))
    return bpf(BTF_LOAD, attributes)


class ProgramCode(NamedTuple):
    """What BPF_PROG_LOAD takes: `btf` is a descriptor (0: none) and the infos refer to it; `attach_btf_id` is a type in
    the module BTF open as `attach_btf` (0: vmlinux)."""

    name: str
    kind: int
    attach_type: int
    code: bytes
    btf: int = 0
    func_info: bytes = b""
    line_info: bytes = b""
    attach_btf_id: int = 0
    attach_btf: int = 0
    flags: int = 0
    license: str = "GPL"


def load_program(program: ProgramCode, log: bytearray | None = None) -> int:
    """`log`, if given, receives the verifier's log, up to a NUL."""
    code, license_text = bytearray(program.code), bytearray(program.license.encode() + b"\0")
    func_info, line_info = bytearray(program.func_info), bytearray(program.line_info)
    attributes = bytearray(128)
    pack = struct.pack_into
    pack("=IIQQ", attributes, 0, program.kind, len(code) // 8, address_of(code), address_of(license_text))
    if log is not None:
        pack("=IIQ", attributes, 24, 1, len(log), address_of(log))
    pack("=I16s4xI", attributes, 44, program.flags, object_name(program.name), program.attach_type)
    pack("=I", attributes, 72, program.btf)
    if func_info:
        pack("=IQI", attributes, 76, 8, address_of(func_info), len(func_info) // 8)
    if line_info:
        pack("=IQI", attributes, 92, 16, address_of(line_info), len(line_info) // 16)
    pack("=II", attributes, 108, program.attach_btf_id, program.attach_btf)
    return bpf(PROG_LOAD, attributes)


def run_program(program: int, cpu: int) -> int:
    """Run a raw tracepoint program once on that CPU, its arguments all zero; returns what it returned."""
    context = bytearray(_RAW_TRACEPOINT_CONTEXT)
    attributes = bytearray(80)
    struct.pack_into("=I", attributes, 0, program)
    struct.pack_into("=I4xQ", attributes, 40, len(context), address_of(context))
    struct.pack_into("=II", attributes, 64, TEST_RUN_ON_CPU, cpu)
    bpf(PROG_TEST_RUN, attributes)
    return int(struct.unpack_from("=I", attributes, 4)[0])


def measure_program(program: int, times: int) -> int:
    """Run a program of type XDP so often, for a packet of zeros; returns how many ns each took."""
    packet = bytearray(_LEAST_PACKET)
    attributes = bytearray(80)
    struct.pack_into("=I4xI4xQ", attributes, 0, program, len(packet), address_of(packet))
    struct.pack_into("=I", attributes, 32, times)
    bpf(PROG_TEST_RUN, attributes)
    return int(struct.unpack_from("=I", attributes, 36)[0])


_LEAST_PACKET = 14
"""A header of Ethernet: the kernel takes nothing shorter."""


def recursion_misses(program: int) -> int:
    """How often the kernel skipped the program because it was running on that CPU already (since Linux 5.12)."""
    information = _program_information(program, bytearray(_INFO_SIZE))
    return int(struct.unpack_from("=Q", information, _RECURSION_MISSES)[0])


def run_syscall_program(program: int, context: bytearray) -> int:
    """Run a program of type SYSCALL once on this CPU; it reads and writes `context`."""
    attributes = bytearray(80)
    struct.pack_into("=I", attributes, 0, program)
    struct.pack_into("=I4xQ", attributes, 40, len(context), address_of(context))
    bpf(PROG_TEST_RUN, attributes)
    return int(struct.unpack_from("=I", attributes, 4)[0])


def open_raw_tracepoint(program: int, name: str | None, cookie: int = 0) -> int:
    """Attach to the raw tracepoint `name`, or, None, to what a tp_btf program was loaded for."""
    text = bytearray(name.encode() + b"\0" if name is not None else b"")
    return bpf(RAW_TRACEPOINT_OPEN, bytearray(struct.pack("=QI4xQ", address_of(text), program, cookie)))


def link_tracing(program: int, attach_type: int, cookie: int = 0) -> int:
    """Attach a program of type TRACING to what it was loaded for."""
    return bpf(LINK_CREATE, bytearray(struct.pack("=IIIIIIQ16x", program, 0, attach_type, 0, 0, 0, cookie)))


def link_iterator(program: int, of: int = 0, process: int = 0) -> int:
    """Make an iterator of a program: over the elements of the map whose descriptor `of` is, over control groups in that
    order, or over the threads of a process or what they have (union bpf_iter_link_info)."""
    about = bytearray(struct.pack("=II8x", of, process))
    is_narrow = of or process
    attributes = struct.pack(
        "=IIIIQI4x", program, 0, TRACE_ITER, 0, address_of(about) if is_narrow else 0, len(about) if is_narrow else 0
    )
    return bpf(LINK_CREATE, bytearray(attributes))


def pin(descriptor: int, path: str) -> None:
    """Give a link a name in a BPF file system, where it lives until the name is removed."""
    text = bytearray(os.fsencode(path) + b"\0")
    bpf(OBJ_PIN, bytearray(struct.pack("=QII", address_of(text), descriptor, 0)))


def create_iterator(link: int) -> int:
    """A file from which one run of an iterator is read."""
    return bpf(ITER_CREATE, bytearray(struct.pack("=II", link, 0)))


def link_device(program: int, interface: int, attach_type: int, flags: int = 0) -> int:
    """Attach to a network device, by its number: at tcx, or in XDP with its XDP_FLAGS_* (linux/if_link.h)."""
    return bpf(LINK_CREATE, bytearray(struct.pack("=IIII16x", program, interface, attach_type, flags)))


def link_uprobes(
    program: int,
    path: str,
    offsets: Sequence[int],
    cookies: Sequence[int] = (),
    pid: int = 0,
    is_return: bool = False,
    semaphores: Sequence[int] = (),
) -> int:
    """Attach to many places in the file `path`, by file offset, through the multi-uprobe link; to the returns of the
    functions that begin there if `is_return`. Only in process `pid`, 0 for all. `semaphores` are the offsets of the u16
    that the kernel counts up as long as the link lives, 0 where there is none."""
    text = bytearray(os.fsencode(path) + b"\0")
    places = bytearray(struct.pack(f"={len(offsets)}Q", *offsets))
    numbers = bytearray(struct.pack(f"={len(cookies)}Q", *cookies))
    counters = bytearray(struct.pack(f"={len(semaphores)}Q", *semaphores))
    attributes = bytearray(64)
    struct.pack_into("=IIII", attributes, 0, program, 0, TRACE_UPROBE_MULTI, 0)
    struct.pack_into("=QQ", attributes, 16, address_of(text), address_of(places))
    if semaphores:
        struct.pack_into("=Q", attributes, 32, address_of(counters))
    if cookies:
        struct.pack_into("=Q", attributes, 40, address_of(numbers))
    struct.pack_into("=III", attributes, 48, len(offsets), _UPROBE_MULTI_RETURN if is_return else 0, pid)
    return bpf(LINK_CREATE, attributes)


def link_kprobes(program: int, symbols: Sequence[str], cookies: Sequence[int], is_return: bool = False) -> int:
    """Attach to many functions of the kernel, by name, through the multi-kprobe link; to their returns if
    `is_return`."""
    texts = bytearray(b"".join(symbol.encode() + b"\0" for symbol in symbols))
    at, places = address_of(texts), []
    for symbol in symbols:
        places.append(at)
        at += len(symbol.encode()) + 1
    names = bytearray(struct.pack(f"={len(places)}Q", *places))
    return _link_kprobes(program, 24, names, cookies, is_return)


def link_kprobe_addresses(
    program: int, addresses: Sequence[int], cookies: Sequence[int], is_return: bool = False
) -> int:
    """The same for functions by the addresses that they begin at."""
    places = bytearray(struct.pack(f"={len(addresses)}Q", *addresses))
    return _link_kprobes(program, 32, places, cookies, is_return)


def _link_kprobes(program: int, field: int, places: bytearray, cookies: Sequence[int], is_return: bool) -> int:
    numbers = bytearray(struct.pack(f"={len(cookies)}Q", *cookies))
    attributes = bytearray(64)
    struct.pack_into("=IIII", attributes, 0, program, 0, TRACE_KPROBE_MULTI, 0)
    struct.pack_into("=II", attributes, 16, _KPROBE_MULTI_RETURN if is_return else 0, len(cookies))
    struct.pack_into("=Q", attributes, field, address_of(places))
    struct.pack_into("=Q", attributes, 40, address_of(numbers))
    return bpf(LINK_CREATE, attributes)


def link_perf_event(program: int, event: int, attach_type: int, cookie: int = 0) -> int:
    """Attach to a perf event."""
    return bpf(LINK_CREATE, bytearray(struct.pack("=IIIIQ24x", program, event, attach_type, 0, cookie)))


def program_code(program: int) -> list[tuple[int, int]]:
    """Where the machine code of the program's functions is, [start, end) each; none if the kernel does not say, which
    takes the privilege to read kallsyms' addresses, and a JIT compiler."""
    information = _program_information(program, bytearray(_INFO_SIZE))
    count = min(struct.unpack_from("=II", information, _JITED_COUNTS))
    if not count:
        return []
    starts, lengths = bytearray(8 * count), bytearray(4 * count)
    asked = bytearray(_INFO_SIZE)
    struct.pack_into("=IIQQ", asked, _JITED_COUNTS, count, count, address_of(starts), address_of(lengths))
    _program_information(program, asked)
    pairs = zip(struct.unpack(f"={count}Q", starts), struct.unpack(f"={count}I", lengths), strict=True)
    return [(start, start + length) for start, length in pairs if start]


def _program_information(program: int, information: bytearray) -> bytearray:
    attributes = bytearray(16)
    struct.pack_into("=IIQ", attributes, 0, program, len(information), address_of(information))
    bpf(OBJ_GET_INFO_BY_FD, attributes)
    return information
