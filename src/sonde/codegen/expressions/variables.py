"""D variables: where they are kept and how they are found (`assignments.py` sets and frees them).

Globals are one array map with direct access; thread-local variables one structure in task storage, which ends with the
thread; elements of associative arrays are a hash map for each array. A clause-local integer is a register, other
clause-locals are in scratch memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sonde.bpf import maps as kinds
from sonde.bpf import programs
from sonde.codegen.basis.faults import BAD_ADDRESS, BAD_INDEX, fault_if, fault_or_go_on
from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.maps import NULL_MARK
from sonde.codegen.basis.places import Memory, Place, Remote, Trusted, at
from sonde.codegen.basis.storage import (
    ARRAYS,
    FLAG,
    THREADS,
    element_size,
    has_flag,
    is_scalar,
    kept_map,
    local_place,
    room,
)
from sonde.codegen.expressions import sample_members
from sonde.codegen.expressions.access import as_number, load, store, untracked
from sonde.codegen.expressions.integers import from_place, pointer_place
from sonde.codegen.expressions.layout import key_memory, thread_serial
from sonde.codegen.expressions.strings import in_memory, is_member, is_nullable, mark
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg
from sonde.model import program as tree
from sonde.model.spec import MapSpec
from sonde.model.types import Array, String, resolve, size_of

_CREATE = 1
"""BPF_LOCAL_STORAGE_GET_F_CREATE (include/uapi/linux/bpf.h)."""


def variable_place(g: Generation, e: tree.Expr) -> Place:
    assert isinstance(e, tree.Var)
    variable = e.variable
    if variable.scope == "this":
        return local_place(g, variable)
    if id(e) in g.writable:
        return g.writable[id(e)]
    name, offset = g.shared.variables[variable]
    if variable.scope == "global":
        return Memory(g.b.map_value(name, offset), 0)
    storage = thread_storage(g, False)
    if has_flag(variable):
        return Memory(_thread_string(g, storage, offset), 0)
    return Memory(_or_zeros(g, storage, THREADS), offset)


def _thread_string(g: Generation, storage: Reg, offset: int) -> Reg:
    """The address of a thread's string, of a NULL one where it was never set."""
    result = g.b.register()
    found, is_set, unset, end = g.b.label(), g.b.label(), g.b.label(), g.b.label()
    g.b.branch("ne", storage, Imm(0), found, unset)
    g.b.place(found)
    g.b.branch("ne", g.b.load(storage, offset - FLAG, 8), Imm(0), is_set, unset)
    g.b.place(is_set)
    g.b.move(result, g.b.alu("add", storage, Imm(offset)))
    g.b.jump(end)
    g.b.place(unset)
    g.b.move(result, g.b.map_value(g.shared.maps.null_string(g.shared.settings.string_capacity)))
    g.b.place(end)
    return result


def thread_storage(g: Generation, create: bool) -> Reg:
    """The address of this thread's variables, NULL if it has none (or, creating, no memory)."""
    if create:
        g.storage_version += 1
    kind = "create" if create else "find"
    return g.call(
        "task_storage_get",
        MapDescriptor(THREADS),
        g.current_task(),
        Imm(0),
        Imm(_CREATE if create else 0),
        pure=f"{kind}{g.storage_version}",
    )


def _or_zeros(g: Generation, pointer: Reg, name: str) -> Reg:
    """The pointer to a value of the map, or that of zeros where it is NULL."""
    return _or(g, pointer, g.shared.maps.zeros(g.shared.maps.specs[name].value_size))


def _or(g: Generation, pointer: Reg, otherwise: str) -> Reg:
    """The pointer, or that to the value of a map where it is NULL."""
    return g.b.choose("ne", pointer, Imm(0), lambda: pointer, lambda: g.b.map_value(otherwise))


def element_place(g: Generation, e: tree.Expr) -> Place:
    """An element for reading: zeros, or a NULL string, if it was never set."""
    assert isinstance(e, tree.Element)
    if id(e) in g.writable:
        return g.writable[id(e)]
    found = found_element(g, e)
    if isinstance(resolve(e.type), String) and not g.shared.goes_on:
        return Memory(_or(g, found, g.shared.maps.null_string(g.shared.settings.string_capacity)), 0)
    return Memory(_or_zeros(g, found, element_map(g, e)), 0)


def element_value(g: Generation, e: tree.Expr) -> Operand:
    """What an element holds: a number is 0 where it is not there."""
    assert isinstance(e, tree.Element)
    if id(e) in g.writable or not is_scalar(e.type):
        return from_place(g, e)
    found = found_element(g, e)
    result = g.b.copy(Imm(0))
    with g.b.when("ne", found, Imm(0)):
        g.b.move(result, load(g, Memory(found, 0), e.type))
    return result


def found_element(g: Generation, e: tree.Element) -> Reg:
    """The address of an element, NULL where it is not there."""
    name, key = element_key(g, e)
    return g.call("map_lookup_elem", MapDescriptor(name), g.argument_of(key.base, key.offset))


@contextmanager
def evaluated_once(g: Generation, target: tree.Expr) -> Iterator[None]:
    """Within the `with` block the keys, subscripts and pointers of `target` are those found at its start: reading and
    writing it do not evaluate them again."""
    held = []
    while isinstance(target, (tree.MemberOf, tree.Index)):
        if isinstance(target, tree.Index) and id(target.subscript) not in g.subscripts:
            g.subscripts[id(target.subscript)] = g.value(target.subscript)
            held.append(id(target.subscript))
        target = target.object
    if isinstance(target, tree.Deref) and id(target.pointer) not in g.subscripts:
        g.subscripts[id(target.pointer)] = g.value(target.pointer)
        held.append(id(target.pointer))
    is_new = isinstance(target, tree.Element) and id(target) not in g.element_keys
    if isinstance(target, tree.Element) and is_new:
        g.element_keys[id(target)] = element_key(g, target)
    yield
    for subscript in held:
        del g.subscripts[subscript]
    if is_new:
        del g.element_keys[id(target)]


def element_key(g: Generation, e: tree.Element) -> tuple[str, Memory]:
    if id(e) in g.element_keys:
        return g.element_keys[id(e)]
    name, variable = element_map(g, e), e.variable
    _, number = g.shared.variables[variable]
    fields, size = g.shared.keys[variable]
    key = key_memory(g, e.keys, fields, size)
    if name == ARRAYS:
        store(g, key, 8, Imm(number))
    if variable.scope == "self":
        store(g, Memory(key.base, key.offset + (8 if name == ARRAYS else 0)), 8, thread_serial(g))
    return name, key


def element_map(g: Generation, e: tree.Element) -> str:
    """The name of the map that the element is in."""
    variable = e.variable
    if variable.kept is not None:
        return kept_map(g.shared, variable)
    if variable.scope == "this":
        raise Unsupported("an associative array of clause-local scope", e.position)
    name, _ = g.shared.variables[variable]
    assert variable.keys is not None
    _, size = g.shared.keys[variable]
    value_size = element_size(g.shared, variable)
    g.shared.maps.add(MapSpec(name, kinds.HASH, size, value_size, room(g.shared, size, value_size)))
    return name


def object_place(g: Generation, e: tree.Expr) -> Place:
    """Deref, MemberOf, Index, KernelObject, Argument objects."""
    if isinstance(e, tree.KernelObject):
        return Remote(g.b.stamp("symbol", e.name), 0, False)
    if isinstance(e, tree.Deref):
        return pointer_place(g, e.pointer)
    if isinstance(e, tree.MemberOf):
        if g.context.kind == programs.PERF_EVENT and sample_members.is_behind_context(e):
            return sample_members.place(g, e)
        place = g.place(e.object)
        return place if e.member.bits else at(place, e.member.offset // 8)
    if isinstance(e, tree.Argument):
        typed = g.context.typed_argument(g, e.number, e.type)
        if isinstance(typed, (Memory, Trusted, Remote)):
            return typed
        raise Unsupported("this argument as an object", e.position)
    assert isinstance(e, tree.Index)
    return _index_place(g, e)


def _within(g: Generation, index: Operand, bound: int) -> Operand:
    """The index, if it is less."""
    if not g.shared.goes_on:
        fault_if(g, "ge", index, Imm(bound), BAD_INDEX, index)
        return index
    result = g.b.copy(index)
    with g.b.when("ge", result, Imm(bound)):
        fault_or_go_on(g, BAD_INDEX, result)
        g.b.move(result, Imm(0))
    return result


def _index_place(g: Generation, e: tree.Index) -> Place:
    container = resolve(e.object.type)
    step = 1 if isinstance(container, String) else size_of(e.type)
    index = g.subscripts[id(e.subscript)] if id(e.subscript) in g.subscripts else g.value(e.subscript)
    if isinstance(container, String) and is_member(e.object):
        place: Place = g.place(e.object)
        bound: int | None = g.shared.settings.strsize
    elif isinstance(container, String):
        memory, size = in_memory(g, e.object)
        if is_nullable(g, e.object):
            fault_if(g, "eq", mark(g, memory), Imm(NULL_MARK), BAD_ADDRESS, index)
        place = memory
        bound = size
    else:
        place = g.place(e.object)
        bound = container.length if isinstance(container, Array) else None
    # A constant of the program's text is checked there; this one may have become one while code was generated.
    if isinstance(index, Imm) and (not bound or 0 <= index.value < bound):
        return at(place, index.value * step)
    if bound:
        index = _within(g, index, bound)
    offset = g.b.alu("mul", index, Imm(step))
    if isinstance(place, Remote):
        place = untracked(g, place)
        return place._replace(address=g.b.alu("add", place.address, offset))
    assert isinstance(place, (Memory, Trusted))
    if isinstance(place, Trusted) or not isinstance(place.base, Reg) or place.base == g.ctx:
        number = g.b.alu("add", as_number(g, place), offset)
        return Remote(number, 0, False)
    return Memory(g.b.in_register(g.b.alu("add", place.base, offset)), place.offset)
