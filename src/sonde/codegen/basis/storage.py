"""Where variables are: the maps and offsets of those that outlive a clause, and registers or memory of the others."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import Generation, Shared
from sonde.codegen.basis.places import HeldInRegister, Place
from sonde.codegen.basis.uses import shares_map
from sonde.model.program import Variable
from sonde.model.spec import MapSpec
from sonde.model.types import Array, String, Struct, Type, align_of, resolve, size_of
from sonde.model.units import whole_words

GLOBALS, THREADS, ARRAYS = "globals", "threads", "arrays"


def object_size(shared: Shared, type_: Type) -> int:
    """Bytes a variable of this type takes."""
    if isinstance(resolve(type_), String):
        return shared.settings.string_capacity
    return size_of(type_) or 8


def assign_storage(shared: Shared, variables: tuple[Variable, ...]) -> None:
    """Give every global and thread-local scalar its map and offset, every associative array its map."""
    ends = {GLOBALS: 0, THREADS: 8}
    arrays: list[Variable] = []
    for variable in variables:
        if variable.keys is not None:
            shared.variables[variable] = (f"a{variable.id}_{variable.name}"[:15], 0)
            if variable in shared.keys and variable.kept is None:
                arrays.append(variable)
        elif variable.scope in ("global", "self"):
            name = GLOBALS if variable.scope == "global" else THREADS
            size = object_size(shared, variable.type)
            align = 8 if size >= 8 else max(1, align_of(variable.type))
            offset = (ends[name] + align - 1) & -align
            if has_flag(variable):
                offset += FLAG
            shared.variables[variable] = (name, offset)
            ends[name] = offset + size
    if shares_map(arrays):
        _share(shared, arrays)
    for name, end in ends.items():
        size = whole_words(end)
        if name == GLOBALS:
            shared.maps.add(MapSpec(GLOBALS, kinds.ARRAY, 4, max(size, 8), 1))
        else:
            shared.maps.add(MapSpec(THREADS, kinds.TASK_STORAGE, 4, size, 0, kinds.F_NO_PREALLOC, typed=True))


FLAG = 8
"""A thread's string has a word before it that is not 0 where the string was set: a thread's variables begin as zeros,
but a string that was never set is NULL."""


def has_flag(variable: Variable) -> bool:
    return variable.scope == "self" and isinstance(resolve(variable.type), String)


def _share(shared: Shared, arrays: Sequence[Variable]) -> None:
    """One map for all arrays; each has a number instead of an offset."""
    key_size = shared.keys[arrays[0]][1]
    value_size = max(element_size(shared, variable) for variable in arrays)
    shared.maps.add(MapSpec(ARRAYS, kinds.HASH, key_size, value_size, room(shared, key_size, value_size)))
    shared.variables.update({variable: (ARRAYS, number) for number, variable in enumerate(arrays)})


def element_size(shared: Shared, variable: Variable) -> int:
    return max(8, whole_words(object_size(shared, variable.type)))


def room(shared: Shared, key_size: int, value_size: int) -> int:
    """The elements that dynvarsize has room for."""
    return max(16, shared.settings.dynvarsize // (key_size + value_size + 48))


def local_place(g: Generation, variable: Variable) -> Place:
    """A clause-local variable; `codegen/clauses/bodies.py` sets them all to zero where the program begins."""
    if variable not in g.locals:
        if is_scalar(variable.type) and variable not in g.in_memory:
            g.locals[variable] = HeldInRegister(g.b.register())
        else:
            g.locals[variable] = g.lasting(object_size(g.shared, variable.type))
    return g.locals[variable]


def is_scalar(type_: Type) -> bool:
    return not isinstance(resolve(type_), (String, Struct, Array))


def kept_map(shared: Shared, variable: Variable) -> str:
    """The name of the map of an array that is kept; adds it."""
    assert variable.kept is not None
    name, _ = shared.variables[variable]
    kind = kinds.LRU_HASH if variable.kept.evicts else kinds.HASH
    _, size = shared.keys[variable]
    return shared.maps.add(MapSpec(name, kind, size, element_size(shared, variable), variable.kept.entries))
