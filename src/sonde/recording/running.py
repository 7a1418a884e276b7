"""What runs when recording begins, as the perf records that would have told of it had it begun earlier: where the
kernel, its modules and BPF programs are, every thread with its name, and what processes have mapped that may be
executed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sonde.formats import perf_made_records as made
from sonde.machine import proc
from sonde.symbols.kallsyms import Kallsyms
from sonde.symbols.mappings import DELETED, Mapping, parse_maps
from sonde.typed import NamedTuple
from sonde.untrusted import kernel_lines, kernel_text, read_kernel

KERNEL = "[kernel.kallsyms]"
"""What perf calls the kernel's own image."""
_FIRST, _LAST = ("_text", "_stext"), "_etext"
_READ_AND_EXECUTE = 5
_LONGEST = 1 << 16
"""Bytes that a BPF program is taken to have at most."""
_ANONYMOUS = b"//anon"


class Module(NamedTuple):
    """A module of the kernel that is loaded; `path` of its file, or its name in brackets if that is not known."""

    name: str
    path: str
    address: int
    size: int


def records(trailer: int, root: str = "/proc") -> Iterator[bytes]:
    """Perf records with a struct sample_id of `trailer` bytes of zeros."""
    yield from _kernel(trailer, root)
    for name in sorted(filter(str.isdigit, os.listdir(root)), key=int):
        try:
            yield from _process(int(name), trailer, root)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            # It has ended since, as the records of its ring tell, or may not be looked at.
            continue


def _kernel(trailer: int, root: str) -> Iterator[bytes]:
    symbols = Kallsyms(f"{root}/kallsyms")
    first = next(filter(None, (symbols.find(name, "vmlinux") for name in _FIRST)), None)
    last = symbols.find(_LAST, "vmlinux")
    if first is not None and last is not None and first.address < last.address:
        # perf finds by the symbol behind the name how far this kernel was moved.
        name = f"{KERNEL}{first.name}".encode()
        yield made.kernel_mapping(first.address, last.address - first.address, first.address, name, trailer)
    programs = symbols.of_module("bpf")
    for number, program in enumerate(programs):
        if program.address:
            # Nothing tells how long one is, but that the next one begins behind it.
            following = programs[number + 1].address if number + 1 < len(programs) else program.address + _LONGEST
            size = min(following - program.address, _LONGEST)
            yield made.kernel_symbol(program.address, size, program.name.encode(), trailer)
    for module in modules(root):
        yield made.kernel_mapping(module.address, module.size, 0, os.fsencode(module.path), trailer)


def modules(root: str = "/proc", files: str = "/lib/modules") -> list[Module]:
    """The modules that are loaded, whose addresses the kernel tells."""
    try:
        lines = [line.split() for line in kernel_lines(f"{root}/modules")]
    except OSError:
        return []
    loaded = [(line[0], int(line[1]), int(line[5], 16)) for line in lines if len(line) > 5]
    paths = _module_files(f"{files}/{os.uname().release}") if loaded else {}
    return [Module(name, paths.get(name, f"[{name}]"), address, size) for name, size, address in loaded if address]


def _module_files(directory: str) -> dict[str, str]:
    """Paths by the modules' names."""
    found = {}
    for parent, _, names in os.walk(directory):
        for name in names:
            stem, dot, _ = name.partition(".ko")
            if dot:
                found[stem.replace("-", "_")] = f"{parent}/{name}"
    return found


def _process(pid: int, trailer: int, root: str) -> Iterator[bytes]:
    parent = proc.stat(pid, root).ppid
    for tid in proc.threads(pid, root):
        try:
            # A name may end with a line feed of its own.
            name = read_kernel(f"{root}/{pid}/task/{tid}/comm")[:-1]
        except OSError:
            continue
        yield made.fork(pid, pid if tid != pid else parent, tid, pid if tid != pid else parent, trailer)
        yield made.comm(pid, tid, name, trailer)
    mappings = parse_maps(kernel_text(f"{root}/{pid}/maps"))
    for mapping in mappings:
        if mapping.executable:
            yield _mapping(pid, mapping, trailer)


def _mapping(pid: int, mapping: Mapping, trailer: int) -> bytes:
    major, _, minor = mapping.device.partition(":")
    device = int(major, 16), int(minor, 16)
    name = os.fsencode(mapping.path.removesuffix(DELETED)) or _ANONYMOUS
    return made.mapping(
        pid, mapping.start, mapping.end, mapping.offset, device, mapping.inode, _READ_AND_EXECUTE, name, trailer
    )  # fmt: skip
