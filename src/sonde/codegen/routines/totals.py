"""The words that a key has in an aggregation on each CPU, made one: callbacks of bpf_loop, which end where there are no
more CPUs."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, MapDescriptor, Reg
from sonde.codegen.routines.work import get, put, stop_if

CPUS = 8192
"""More than a kernel is made for (NR_CPUS)."""


def total(name: str, shape: str, map_name: str) -> BpfFunction:
    """(CPU, environment): of the key, whose address is there, the words are added to those at the address behind it.
    The shape is `one` word that is added, `both` of two, or `most`: the greatest second word. The map is this one or,
    without a name, that of the environment."""
    b = Builder(name, 2)
    cpu, environment = b.function.parameters
    key = b.in_register(b.load(environment, 0, 8))
    words = b.in_register(b.load(environment, 8, 8))
    map_ = MapDescriptor(map_name) if map_name else b.in_register(b.load(environment, 16, 8))
    found = b.call(NUMBERS["map_lookup_percpu_elem"], map_, key, cpu)
    stop_if(b, "eq", found, Imm(0))
    _add(b, words, found, 0)
    if shape == "both":
        _add(b, words, found, 8)
    elif shape == "most":
        new = get(b, found, 8)
        with b.when("gt", new, get(b, words, 8)):
            put(b, words, 8, new)
    b.ret(Imm(0))
    return b.function


def _add(b: Builder, words: Reg, found: Reg, offset: int) -> None:
    put(b, words, offset, b.alu("add", get(b, words, offset), b.load(found, offset, 8)))


def visit(name: str) -> BpfFunction:
    """A callback of bpf_for_each_map_elem, which counts the elements by itself."""
    b = Builder(name, 4)
    b.ret(Imm(0))
    return b.function
