"""Probes in functions of the kernel: kprobe, kretprobe, fentry and fexit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.frontends.bpftrace.check.globs import is_glob
from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import NOWHERE, BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of
from sonde.model.catalog import Catalog
from sonde.model.probe import KernelFunction, Probe
from sonde.typed import TypeAlias

Told: TypeAlias = Callable[[BtError], None]
"""Takes a warning."""

_BY_BTF = ("fentry", "fexit")
_RETURNS = ("kretprobe", "fexit")
_PROGRAMS = "bpf"
"""In the place of a module: programs of BPF."""


def functions(
    point: nodes.AttachPoint, kind: str, fields: Sequence[str], catalog: Catalog, is_unsafe: bool, told: Told
) -> list[AttachedProbes]:
    """The probes of a description; `is_unsafe` permits addresses. Raises BtError."""
    if kind in _BY_BTF:
        _refuse_programs(point, fields)
    if len(fields) not in (1, 2):
        raise BtError(f"{kind} probe type requires 1 or 2 arguments, found {len(fields)}", point.at)
    address = integer_of(fields[-1])
    if address is not None and kind not in _BY_BTF:
        return [_at_address(point, kind, address, catalog, is_unsafe)]
    module = fields[0] if len(fields) == 2 else ""
    function, offset = _place(point, kind, fields[-1])
    name = "return" if kind in _RETURNS else "entry"
    if offset:
        found: Sequence[Probe] = _inside(catalog.match("rawfbt", module, function, name), offset)
    else:
        found = catalog.match("fbt", module, function, name)
    if kind in _BY_BTF:
        _warn_of_locks(found, told)
    added = f"+{offset}" if offset else ""
    named = [(f"{probe.module}:{probe.function}" if module else probe.function, probe) for probe in found]
    return [AttachedProbes(point, f"{kind}:{text}{added}", kind, (probe,)) for text, probe in named]


_LOCKS = ("_raw_spin_lock", "_raw_spin_lock_irqsave", "_raw_spin_unlock_irqrestore", "queued_spin_lock_slowpath")
"""Functions of the kernel that programs call, too."""


def _warn_of_locks(found: Iterable[Probe], told: Told) -> None:
    """One warning for all, without a place, as bpftrace's."""
    lock = next((each for each in found if each.function in _LOCKS and each.module == "vmlinux"), None)
    if lock is not None:
        text = f"Attaching to dangerous function: vmlinux:{lock.function}. sonde runs no program within another one"
        told(BtError(f"{text} there, against a deadlock of the kernel, so some events may be lost.", NOWHERE))


def _refuse_programs(point: nodes.AttachPoint, fields: Sequence[str]) -> None:
    """Raises BtError for programs of BPF as what is traced, and for what has more fields than other descriptions."""
    if fields[:1] != [_PROGRAMS]:
        if len(fields) == 3:
            raise BtError("Only the 'bpf' variant of this probe supports 4 arguments", point.at)
        return
    if len(fields) == 1:
        text = "the 'bpf' variant of this probe requires a bpf program name and optional bpf program id"
        raise BtError(text, point.at)
    if len(fields) == 3 and fields[1] != "*" and integer_of(fields[1]) is None:
        raise BtError("bpf program id must be a number or '*'", point.at)
    raise BtError("programs of BPF are not traced", point.at, "fentry and fexit are for functions of the kernel")


def _place(point: nodes.AttachPoint, kind: str, text: str) -> tuple[str, int]:
    """A function's name, and the offset in it."""
    function, plus, offset = text.partition("+")
    if plus and kind != "kprobe":
        raise BtError("Offset not allowed", point.at)
    if "+" in offset:
        raise BtError("Cannot take more than one offset", point.at)
    value = integer_of(offset) if plus else 0
    if value is None:
        wrong = "invalid trailing bytes" if offset[:1].isdigit() else "invalid integer"
        raise BtError(f"Invalid offset: {wrong}: {offset}", point.at)
    if value and is_glob(function):
        raise BtError("wildcards and offsets do not go together", point.at)
    return function, value


def _at_address(point: nodes.AttachPoint, kind: str, address: int, catalog: Catalog, is_unsafe: bool) -> AttachedProbes:
    """An instruction of the kernel, by its address, or the return from the function that begins there."""
    if not is_unsafe:
        raise BtError("Probing by address requires --unsafe", point.at)
    found = catalog.place_at(address)
    if found is None:
        raise BtError(f"no code of the kernel is at {address:#x}", point.at, "/proc/kallsyms has its functions")
    is_return = kind in _RETURNS
    if is_return and found.offset:
        text = f"{address:#x} is no function's first instruction but {found.name}+{found.offset}"
        raise BtError(text, point.at, "functions return, their instructions do not")
    name = "return" if is_return else f"{found.offset:x}"
    firing = found._replace(is_return=is_return)
    probe = Probe(_OF_ADDRESSES | address & _LOW, "rawfbt", found.module, found.name, name, firing)
    return AttachedProbes(point, f"{kind}:{address:#x}", kind, (probe,))


def _inside(entries: Sequence[Probe], offset: int) -> list[Probe]:
    """The instruction at an offset in each function. Whether there is one the kernel looks itself
    (prepare_kprobe, kernel/kprobes.c)."""
    return [_at(probe, probe.firing, offset) for probe in entries if isinstance(probe.firing, KernelFunction)]


def _at(probe: Probe, firing: KernelFunction, offset: int) -> Probe:
    inside = firing._replace(is_raw=True, offset=offset)
    return probe._replace(id=_OF_PLACES | probe.id + offset, name=f"{offset:x}", firing=inside)


_OF_ADDRESSES, _LOW = 0x7000_0000, 0x0FFF_FFFF
"""Likewise of addresses, which differ in their lower bits."""

_OF_PLACES = 0x6000_0000
"""In identifiers of places in the kernel's functions, which no provider gives: so many of its own there are not."""
