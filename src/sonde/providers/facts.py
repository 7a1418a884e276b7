"""What of a kernel is compiled into programs, in short: to find out whether another kernel is the same in that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sonde.model.probe import Tracepoint
from sonde.model.spec import TracingSpec
from sonde.model.types import Array, Enum, Float, Function, Int, Pointer, Qualified, Struct, Type, Typedef
from sonde.providers.kernel_types import KernelTypes
from sonde.providers.tracefs import EventFormats

_HASH = 16
"""Hexadecimal digits: enough that two layouts do not look the same by accident."""

_TRACEPOINT = "btf_trace_"


def gather(types: KernelTypes, events: EventFormats, spec: TracingSpec) -> list[tuple[str, str, str]]:
    """(kind, name, value) of all that compiling `spec` has asked the kernel for, in order of kind and name."""
    wanted = set(types.asked) | set(_of_probes(spec))
    found = [(kind, name, value_of(kind, name, types, events)) for kind, name in sorted(wanted)]
    return [(kind, name, value) for kind, name, value in found if value]


def value_of(kind: str, name: str, types: KernelTypes, events: EventFormats) -> str:
    """The value of a fact on this kernel, "" if there is no such thing."""
    if kind == "event":
        group, _, event = name.partition(":")
        fields = events.format(group, event)
        return "" if fields is None else _short(repr([tuple(field) for field in fields]))
    if kind == "tracepoint":
        arguments = types.tracepoint(name)
        return "" if arguments is None else _short(" ".join(map(_shallow, arguments)))
    if kind == "function":
        module, _, function = name.partition("`")
        described = types.function(function, module)
        return (
            ""
            if described is None
            else _short(" ".join(map(_shallow, (described[0].returns, *described[0].parameters))))
        )
    if kind == "enumerator":
        enumerator = types.enumerator(name)
        return str(enumerator[1]) if enumerator else ""
    if kind == "variable":
        found = types.variable(name)
    else:
        found = types.type_named(name) if kind == "typedef" else types.tagged_type(kind, name)
    return _short(_deep(found)) if found else ""


def _of_probes(spec: TracingSpec) -> Iterable[tuple[str, str]]:
    """What the programs' own probes pass to them."""
    for program in spec.programs:
        if program.attach_to:
            yield "tracepoint", program.attach_to.removeprefix(_TRACEPOINT)
        for served in program.probes:
            if isinstance(served.probe.firing, Tracepoint):
                yield "event", f"{served.probe.firing.group}:{served.probe.firing.name}"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH]


def _deep(kind: Type) -> str:
    """A type with its members, but only the names of the structures they are of or point to."""
    if isinstance(kind, Typedef):
        return _deep(kind.to)
    if isinstance(kind, Struct):
        members = (f"{m.name}:{m.offset}:{m.bits}:{_shallow(m.type)}" for m in kind.members)
        return f"{kind.size}{{{';'.join(members)}}}"
    return _shallow(kind)


def _shallow(kind: Type) -> str:
    if isinstance(kind, (Typedef, Qualified)):
        return _shallow(kind.to)
    if isinstance(kind, Pointer):
        return f"*{'user ' if kind.user else ''}{_shallow(kind.to)}"
    if isinstance(kind, Array):
        return f"[{kind.length}]{_shallow(kind.of)}"
    if isinstance(kind, Struct):
        return f"{kind.keyword} {kind.name} {kind.size}" if kind.name else _deep(kind)
    if isinstance(kind, Int):
        return f"{'i' if kind.signed else 'u'}{kind.size}"
    if isinstance(kind, (Enum, Float)):
        return f"{type(kind).__name__} {kind.size}"
    return "function" if isinstance(kind, Function) else type(kind).__name__
