"""D programs compiled, loaded into the kernel and fired by hand, and what they leave behind."""

import struct
from typing import NamedTuple

from sonde.bpf import maps as kinds
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.engines.kernel.engine import KernelEngine
from sonde.engines.kernel.features import detect
from sonde.frontends.d.source import ProgramSource
from sonde.machine.system import current_target
from sonde.model.aggregating import element_size, merging_of
from sonde.model.aggregation_words import extent, merger
from sonde.model.named_maps import ACTIVE, COUNTERS, DRAINING
from sonde.model.records import FAULT_CLAUSE, PrintfAction, TraceAction
from sonde.model.types import is_signed, size_of
from sonde.session.registry import Registry
from support.d.d_checking import DEFAULTS, compile_sources

_target = None


def registry():
    global _target
    if _target is None:
        _target = current_target(detect())
    return Registry(_target)


def compilation(text, libraries=(), **settings):
    """The Compilation of a D program; `settings` are fields of Settings, `libraries` Sources."""
    found = registry()
    options = DEFAULTS._replace(**{name: settings[name] for name in ("strsize", "scratchsize") if name in settings})
    program = compile_sources([ProgramSource(text)], found, options, libraries=libraries)
    sources = {None: text.splitlines()}
    return Compilation(
        program, Settings(**settings), found.target, found.tagged_type, found.fields, sources, found.signature
    )


class Raw(NamedTuple):
    """A record as it stood in the ring."""

    clause: int
    probe: int
    cpu: int
    data: bytes


class Run:
    """One D program in the kernel. A context manager: leaving it frees everything."""

    def __init__(self, text, **settings):
        self.compilation = compilation(text, **settings)
        self.spec = self.compilation.spec()
        self.tracing = KernelEngine().load(self.spec)
        self.layouts = {layout.number: layout for layout in self.spec.records}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tracing.close()

    def begin(self):
        self.tracing.run("BEGIN")
        return self

    def activate(self, activity=ACTIVE):
        ((key, value),) = self.tracing.read_map("state")
        self.tracing.write_map("state", key, activity.to_bytes(4, "little") + value[4:])

    def activity(self):
        return int.from_bytes(self.tracing.read_map("state")[0][1][:4], "little")

    def end(self):
        self.activate(DRAINING)
        self.tracing.run("END")
        return self

    def attach(self):
        self.activate()
        self.tracing.attach()
        return self

    def raw_records(self):
        """All records that are in the rings, taken out."""
        found = []
        for ring in self.tracing.rings:
            data = bytes(view := ring.read())
            view.release()
            position = 0
            while position < len(data):
                (length,) = struct.unpack_from("<I", data, position)
                if not length & 1 << 30:
                    content = data[position + 8 : position + 8 + length]
                    clause, probe, cpu, _ = struct.unpack_from("<4I", content)
                    found.append(Raw(clause, probe, cpu, content))
                position += 8 + ((length & 0x3FFFFFFF) + 7 & ~7)
            ring.advance(len(data))
        return found

    def values(self):
        """For each record that is no fault, the values it holds: numbers, and strings with their whole slot."""
        return [self.decode(record) for record in self.raw_records() if record.clause != FAULT_CLAUSE]

    def decode(self, record):
        fields = []
        for action in self.layouts[record.clause].actions:
            if isinstance(action, PrintfAction):
                fields += action.fields
            elif isinstance(action, TraceAction):
                fields.append(action.field)
        return [self._value(record.data, field) for field in fields]

    def _value(self, data, field):
        part = data[field.offset : field.offset + field.size]
        if field.kind in ("int", "interned", "symbol"):
            number = int.from_bytes(part, "little", signed=field.signed)
            return self.spec.strings[number] if field.kind == "interned" else number
        if field.kind == "long_string":
            start, length = struct.unpack("<II", part)
            return data[start : start + length]
        return part

    def faults(self):
        """(clause, probe, code, value) of each fault in the rings."""
        found = []
        for record in self.raw_records():
            if record.clause == FAULT_CLAUSE:
                clause, probe, _, code, value = struct.unpack_from("<IIqQQ", record.data, 16)
                found.append((clause, probe, code, value))
        return found

    def lost(self):
        """The loss counters that are not zero, summed over CPUs."""
        ((_, value),) = self.tracing.read_map("counters")
        words = struct.unpack(f"<{len(value) // 8}Q", value)
        sums = [sum(words[n :: len(COUNTERS)]) for n in range(len(COUNTERS))]
        return {name: number for name, number in zip(COUNTERS, sums, strict=True) if number}

    def globals(self):
        """Integer globals as numbers, others as bytes, by name."""
        ((_, data),) = self.tracing.read_map("globals")
        found = {}
        for variable, (name, offset) in self.compilation.shared.variables.items():
            if name != "globals":
                continue
            size = size_of(variable.type) or self.compilation.shared.settings.string_capacity
            part = data[offset : offset + size]
            number = int.from_bytes(part, "little", signed=is_signed(variable.type))
            found[variable.name] = number if size_of(variable.type) in (1, 2, 4, 8) else part
        return found

    def aggregation(self, name=""):
        """The words of each key, over all CPUs, of the aggregation of that name (the first)."""
        spec, found = self._element_words(name)
        return {key: words[: spec.words] for key, words in found.items()}

    def extents(self, name=""):
        """The least and the greatest value of each key of a histogram."""
        _, found = self._element_words(name)
        return {key: extent(*words[-2:]) for key, words in found.items()}

    def _element_words(self, name):
        spec = next(a for a in self.spec.aggregations if a.name == (name or a.name))
        words = element_size(spec.function, spec.parameters, len(spec.keys), spec.has_extent)
        merge = merger(merging_of(spec), words)
        return spec, {key: merge(value) for key, value in self.tracing.read_map(spec.map)}

    def elements(self, variable):
        """The contents of an associative array."""
        return self.tracing.read_map(
            next(m.name for m in self.spec.maps if m.kind == kinds.HASH and m.name.endswith(f"_{variable}"))
        )


def text(slot):
    """A string slot's characters; nothing may be behind the NUL."""
    characters, nul, rest = slot.partition(b"\0")
    assert nul, "no NUL"
    assert not any(rest), f"left behind the NUL: {slot!r}"
    return characters
