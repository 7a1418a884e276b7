"""Assignments: integers, pointers, strings, structures and bit-fields into whatever lvalue takes them.

The value is computed before the place it goes to is looked for, and an element or a thread's variables that there is no
memory for are counted as lost: the rest of the clause goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sonde.bpf import maps as kinds
from sonde.codegen.basis.faults import BAD_ADDRESS, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.maps import NULL_MARK
from sonde.codegen.basis.places import HeldInRegister, Memory, Place, Remote
from sonde.codegen.basis.storage import FLAG, has_flag, object_size
from sonde.codegen.expressions.access import copy, reached, store, store_bits, zero
from sonde.codegen.expressions.integers import narrow, operate
from sonde.codegen.expressions.region import bounded, span
from sonde.codegen.expressions.strings import (
    copy_string,
    in_memory,
    is_member,
    is_nullable,
    mark,
    store_member,
    string_length,
)
from sonde.codegen.expressions.variables import (
    element_key,
    element_map,
    evaluated_once,
    thread_storage,
)
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg
from sonde.model import program as tree
from sonde.model.errors import UNSUPPORTED, SourceError
from sonde.model.types import Array, String, Struct, Type, is_signed, resolve, size_of
from sonde.model.units import whole_words
from sonde.model.walk import is_zero


def assign(g: Generation, e: tree.Assign) -> Operand:
    """An assignment of an integer or pointer; its value."""
    if is_object(e.target.type):
        assign_object(g, e)
        return Imm(0)
    if e.op is None:
        value = _kept(g, e.target, g.value(e.value))
        set_target(g, e.target, value)
        return value
    operation = e.operation or e.target.type
    with evaluated_once(g, e.target):
        value = operate(g, e.op, g.value(e.target), g.value(e.value), operation)
        value = _kept(g, e.target, narrow(g, value, e.target.type))
        set_target(g, e.target, value)
    return value


def increment(g: Generation, e: tree.Increment) -> Operand:
    with evaluated_once(g, e.target):
        old = g.value(e.target)
        new = _kept(g, e.target, narrow(g, g.b.alu("add", old, Imm(e.step)), e.target.type))
        set_target(g, e.target, new)
    return new if e.is_prefix else old


def is_object(type_: Type) -> bool:
    """Whether values of the type are in memory, not in a register."""
    return isinstance(resolve(type_), (String, Struct, Array))


def _kept(g: Generation, target: tree.Expr, value: Operand) -> Operand:
    """The value as the target holds it: of a bit-field its lowest bits."""
    if not isinstance(target, tree.MemberOf) or not target.member.bits:
        return value
    unused = Imm(64 - target.member.bits)
    return g.b.alu("arsh" if is_signed(target.type) else "rsh", g.b.alu("lsh", value, unused), unused)


def set_target(g: Generation, target: tree.Expr, value: Operand) -> None:
    """Store an integer in an lvalue."""
    size = max(1, size_of(target.type))
    if isinstance(target, tree.Element):
        _set_element(g, target, size, value)
    elif isinstance(target, tree.Var) and target.variable.scope == "self":
        _set_thread_local(g, target, size, value)
    elif isinstance(target, tree.MemberOf) and target.member.bits:
        with evaluated_once(g, target), _writable(g, target.object) as place:
            store_bits(g, place, target.member.offset, target.member.bits, value)
    else:
        with evaluated_once(g, target), _writable(g, target) as place:
            store(g, place, size, value)


@contextmanager
def _writable(g: Generation, target: tree.Expr) -> Iterator[Place]:
    """Where an lvalue can be written: kernel and process memory cannot.

    The code of the `with` block is skipped where there is no memory for the element or thread that it is part of.
    """
    root = target
    while isinstance(root, (tree.MemberOf, tree.Index)):
        root = root.object
    if not _is_dynamic(root):
        place = g.place(target)
        if not isinstance(place, (Memory, HeldInRegister)) and not (isinstance(place, Remote) and place.scratch):
            raise SourceError(UNSUPPORTED, "memory that is not the program's own cannot be written to", target.position)
        yield place
        return
    memory = _created(g, root, root is not target)
    missing, present, end = g.b.label(), g.b.label(), g.b.label()
    assert isinstance(memory.base, Reg)
    g.b.branch("ne", memory.base, Imm(0), present, missing)
    g.b.place(missing)
    g.count("variables")
    g.b.jump(end)
    g.b.place(present)
    g.writable[id(root)] = memory
    yield g.place(target)
    del g.writable[id(root)]
    g.b.place(end)


def _is_dynamic(root: tree.Expr) -> bool:
    """Whether memory for the object comes into being when it is first set."""
    return isinstance(root, tree.Element) or (isinstance(root, tree.Var) and root.variable.scope == "self")


def _is_kept(target: tree.Expr) -> bool:
    return isinstance(target, tree.Element) and target.variable.kept is not None


def _created(g: Generation, root: tree.Expr, is_part: bool) -> Memory:
    """An element or a thread's variable, zeros if it was not there; its address is NULL if there is no memory.

    `is_part`: only a part of it is going to be set.
    """
    if isinstance(root, tree.Var):
        _, offset = g.shared.variables[root.variable]
        storage = thread_storage(g, True)
        if has_flag(root.variable) and is_part:
            _begin_string(g, storage, offset)
        return Memory(storage, offset)
    assert isinstance(root, tree.Element)
    name, key = element_key(g, root)
    zeros = g.b.map_value(g.shared.maps.zeros(g.shared.maps.specs[name].value_size))
    address = g.argument_of(key.base, key.offset)
    g.call("map_update_elem", MapDescriptor(name), address, zeros, Imm(kinds.NOEXIST))
    return Memory(g.call("map_lookup_elem", MapDescriptor(name), address), 0)


def _begin_string(g: Generation, storage: Reg, offset: int) -> None:
    """A thread's string that is NULL becomes an empty one."""
    end = g.b.label()
    g.b.branch("eq", storage, Imm(0), end)
    g.b.branch("ne", g.b.load(storage, offset - FLAG, 8), Imm(0), end)
    zero(g, Memory(storage, offset), g.shared.settings.string_capacity)
    g.b.store(storage, offset - FLAG, 8, Imm(1))
    g.b.place(end)


def _skip_unless(g: Generation, pointer: Reg) -> None:
    with g.b.when("eq", pointer, Imm(0)):
        g.count("variables")


def _set_thread_local(g: Generation, target: tree.Var, size: int, value: Operand) -> None:
    _, offset = g.shared.variables[target.variable]
    clearing = value == Imm(0)
    storage = thread_storage(g, not clearing)
    with g.b.when("ne", storage, Imm(0)):
        g.b.store(storage, offset, size, value)
    if not clearing:
        _skip_unless(g, storage)


def _set_element(g: Generation, target: tree.Element, size: int, value: Operand) -> None:
    """Zero frees the element of an array that is not kept."""
    name, key = element_key(g, target)
    address = g.argument_of(key.base, key.offset)
    if target.variable.kept is not None:
        entry = _entry(g, name, 0)
        g.b.store(entry.base, entry.offset, size, value)
        _update(g, name, key, entry)
        return
    if value == Imm(0):
        g.call("map_delete_elem", MapDescriptor(name), address)
        return
    entry = _entry(g, name, 0)
    remove, update, end = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("eq", value, Imm(0), remove, update)
    g.b.place(remove)
    g.call("map_delete_elem", MapDescriptor(name), address)
    g.b.jump(end)
    g.b.place(update)
    g.b.store(entry.base, entry.offset, size, value)
    _update(g, name, key, entry)
    g.b.place(end)


def _entry(g: Generation, name: str, size: int) -> Memory:
    """Memory for a value of an array's map: zeros but for the first `size` bytes (whole words), yet to be written."""
    whole = g.shared.maps.specs[name].value_size
    entry = g.temporary(whole)
    zero(g, Memory(entry.base, entry.offset + size), whole - size)
    return entry


def _update(g: Generation, name: str, key: Memory, entry: Memory) -> None:
    result = g.call(
        "map_update_elem",
        MapDescriptor(name),
        g.argument_of(key.base, key.offset),
        g.argument_of(entry.base, entry.offset),
        Imm(kinds.ANY),
    )
    with g.b.when("slt", result, Imm(0)):
        g.count("variables")


def _update_object(g: Generation, e: tree.Assign, name: str, key: Memory, entry: Memory) -> None:
    """A string that is NULL frees the element."""
    if not isinstance(resolve(e.target.type), String) or _is_kept(e.target) or not is_nullable(g, e.value):
        _update(g, name, key, entry)
        return
    remove, update, end = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("eq", mark(g, entry), Imm(NULL_MARK), remove, update)
    g.b.place(remove)
    g.call("map_delete_elem", MapDescriptor(name), g.argument_of(key.base, key.offset))
    g.b.jump(end)
    g.b.place(update)
    _update(g, name, key, entry)
    g.b.place(end)


def assign_object(g: Generation, e: tree.Assign) -> None:
    """A string or structure, as a whole."""
    if is_zero(e.value) and _is_dynamic(e.target) and not _is_kept(e.target):
        _remove(g, e.target)
        return
    size = object_size(g.shared, e.target.type)
    if isinstance(e.target, tree.Element):
        # Strings are written in whole words, structures as long as they are.
        written = whole_words(size) if isinstance(resolve(e.target.type), String) else size & ~7
        entry = _entry(g, element_map(g, e.target), written)
        object_into(g, e.value, e.target.type, entry, size)
        _update_object(g, e, *element_key(g, e.target), entry)
    elif _is_plain(e):
        with evaluated_once(g, e.target), _writable(g, e.target) as place:
            assert isinstance(place, Memory)
            object_into(g, e.value, e.target.type, place, size)
    elif isinstance(resolve(e.target.type), String):
        text, capacity = in_memory(g, e.value)
        with evaluated_once(g, e.target), _writable(g, e.target) as place:
            if not isinstance(e.target, tree.Var) and is_nullable(g, e.value):
                fault_if(g, "eq", mark(g, text), Imm(NULL_MARK), BAD_ADDRESS, Imm(0))
            _store_string(g, e.target, text, capacity, place)
            if isinstance(e.target, tree.Var) and has_flag(e.target.variable):
                assert isinstance(place, Memory)
                g.b.store(place.base, place.offset - FLAG, 8, Imm(1))
    else:
        value = _evaluated(g, e, size)
        with evaluated_once(g, e.target), _writable(g, e.target) as place:
            memory = reached(g, place, size)
            assert isinstance(memory, Memory)
            copy(g, value, memory, size)


def _is_plain(e: tree.Assign) -> bool:
    """Whether the value can be generated straight into the target: a variable that it does not read."""
    root = e.target
    while isinstance(root, (tree.MemberOf, tree.Index)):
        root = root.object
    is_variable = isinstance(root, tree.Var) and not _is_dynamic(root) and not is_member(e.target)
    return is_variable and isinstance(e.value, (tree.StringConst, tree.Builtin))


def _evaluated(g: Generation, e: tree.Assign, size: int) -> Memory:
    memory = g.temporary(whole_words(size))
    object_into(g, e.value, e.target.type, memory, size)
    return memory


def _remove(g: Generation, target: tree.Expr) -> None:
    """Zero frees an element, and is what a thread's variable is without being set."""
    if isinstance(target, tree.Element):
        name, key = element_key(g, target)
        g.call("map_delete_elem", MapDescriptor(name), g.argument_of(key.base, key.offset))
        return
    assert isinstance(target, tree.Var)
    _, offset = g.shared.variables[target.variable]
    storage = thread_storage(g, False)
    with g.b.when("ne", storage, Imm(0)):
        if has_flag(target.variable):
            g.b.store(storage, offset - FLAG, 8, Imm(0))
        else:
            zero(g, Memory(storage, offset), object_size(g.shared, target.type))


def _store_string(g: Generation, target: tree.Expr, text: Memory, capacity: int, place: Place) -> None:
    """A string into a variable; into scratch memory its characters and a NUL, as strcpy() does."""
    if isinstance(place, Memory):
        if is_member(target):
            store_member(g, text, capacity, place)
        else:
            copy_string(g, text, capacity, place, g.shared.settings.string_capacity)
        return
    assert isinstance(place, Remote)
    bytes_ = g.b.copy(g.b.alu("add", string_length(g, text, capacity), Imm(1)))
    if is_member(target):
        most = Imm(g.shared.settings.strsize)
        with g.b.when("gt", bytes_, most):
            g.b.move(bytes_, most)
    memory = span(g, place, bytes_)
    g.call("probe_read_kernel", g.address(memory), bounded(g, bytes_), g.address(text))


def object_into(g: Generation, value: tree.Expr, type_: Type, memory: Memory, size: int) -> None:
    """The string or structure at `memory`; of structures a constant 0 is all zeros."""
    if isinstance(resolve(type_), String):
        g.string_into(value, memory, size)
    elif is_zero(value):
        zero(g, memory, size)
    else:
        copy(g, g.place(value), memory, size)


# Structures as values


def resulting_place(g: Generation, e: tree.Expr) -> Place:
    """The structure that an assignment gives, which is the target's, a comma, or a condition."""
    if isinstance(e, tree.Assign):
        assign_object(g, e)
        return g.place(e.target)
    if isinstance(e, tree.Comma):
        g.statement(tree.Evaluate(e.position, e.left))
        return g.place(e.right)
    assert isinstance(e, tree.Conditional)
    return _chosen_place(g, e)


def _chosen_place(g: Generation, e: tree.Conditional) -> Place:
    """A copy of one of two structures."""
    size = size_of(e.type)
    memory = g.temporary(whole_words(size))
    yes, no, end = g.b.label(), g.b.label(), g.b.label()
    g.branch(e.test, yes, no)
    g.b.place(yes)
    object_into(g, e.then, e.type, memory, size)
    g.b.jump(end)
    g.b.place(no)
    object_into(g, e.otherwise, e.type, memory, size)
    g.b.place(end)
    return memory
