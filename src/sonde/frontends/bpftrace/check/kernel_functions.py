"""Probes in functions of the kernel: kprobe, kretprobe, fentry and fexit."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.check.globs import is_glob
from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of
from sonde.model.catalog import Catalog
from sonde.model.probe import KernelFunction, Probe

_BY_BTF = ("fentry", "fexit")
_RETURNS = ("kretprobe", "fexit")
_PROGRAMS = "bpf"
"""In the place of a module: programs of BPF."""


def functions(point: nodes.AttachPoint, kind: str, fields: Sequence[str], catalog: Catalog) -> list[AttachedProbes]:
    """The probes of a description. Raises BtError."""
    if kind in _BY_BTF:
        _refuse_programs(point, fields)
    if len(fields) not in (1, 2):
        raise BtError(f"{kind} probe type requires 1 or 2 arguments, found {len(fields)}", point.at)
    module = fields[0] if len(fields) == 2 else ""
    function, offset = _place(point, kind, fields[-1])
    name = "return" if kind in _RETURNS else "entry"
    if offset:
        found: Sequence[Probe] = _inside(catalog.match("rawfbt", module, function, name), offset)
    else:
        found = catalog.match("fbt", module, function, name)
    added = f"+{offset}" if offset else ""
    named = [(f"{probe.module}:{probe.function}" if module else probe.function, probe) for probe in found]
    return [AttachedProbes(point, f"{kind}:{text}{added}", kind, (probe,)) for text, probe in named]


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
    if integer_of(function) is not None:
        text = "addresses of the kernel are not probed"
        raise BtError(text, point.at, "name the function, and an offset in it: kprobe:FUNCTION+OFFSET")
    return function, value


def _inside(entries: Sequence[Probe], offset: int) -> list[Probe]:
    """The instruction at an offset in each function. Whether there is one the kernel looks itself
    (prepare_kprobe, kernel/kprobes.c)."""
    return [_at(probe, probe.firing, offset) for probe in entries if isinstance(probe.firing, KernelFunction)]


def _at(probe: Probe, firing: KernelFunction, offset: int) -> Probe:
    inside = firing._replace(is_raw=True, offset=offset)
    return probe._replace(id=_OF_PLACES | probe.id + offset, name=f"{offset:x}", firing=inside)


_OF_PLACES = 0x6000_0000
"""In identifiers of places in the kernel's functions, which no provider gives: so many of its own there are not."""
