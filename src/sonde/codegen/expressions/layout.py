"""Values in the fields of records and keys, and whole tuples as hash keys."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.codegen.basis.faults import BAD_ADDRESS, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.names import probe_name
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.shapes import end_of
from sonde.codegen.expressions import images, notations, stacks, strings
from sonde.codegen.expressions.access import copy, store, zero
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Reg
from sonde.model import program as tree
from sonde.model.records import Field
from sonde.model.types import INT
from sonde.model.units import whole_words


def write_field(g: Generation, e: tree.Expr, field: Field, base: Memory) -> None:
    """Generate the expression straight into its field."""
    memory = Memory(base.base, base.offset + field.offset)
    if field.kind == "interned":
        store(g, memory, 4, probe_name(g, e.name) if isinstance(e, tree.Builtin) else g.value(_interned(g, e)))
    elif field.kind == "string":
        strings.characters_into(g, e, memory, whole_words(field.size))
    elif field.kind == "long_string":
        with g.released():
            _append_string(g, *strings.characters(g, e), memory)
    elif field.kind in ("stack", "ustack") or (field.kind == "bytes" and isinstance(e, tree.StackTrace)):
        assert isinstance(e, tree.StackTrace)

        stacks.stack_into(g, e, memory, field.size)
    elif field.kind == "bytes":
        copy(g, g.place(e), memory, field.size)
    elif field.kind == "user_symbol":
        assert isinstance(e, tree.Call)

        store(g, memory, 8, images.image(g))
        store(g, Memory(memory.base, memory.offset + 8), 8, g.value(e.arguments[0]))
    elif field.kind == "named":
        assert isinstance(e, tree.Call)
        store(g, memory, 8, g.value(e.arguments[1]))
    elif field.kind == "noted":
        assert isinstance(e, tree.Call)

        notations.noted_into(g, e, memory)
    elif field.kind == "symbol":
        assert isinstance(e, tree.Call)
        store(g, memory, 8, g.value(e.arguments[0]))
    else:
        store(g, memory, field.size, g.value(e))


def _interned(g: Generation, e: tree.Expr) -> tree.Expr:
    """The number of a literal, or of the one that a condition decides on."""
    if isinstance(e, tree.Conditional):
        return tree.Conditional(INT, e.position, e.test, _interned(g, e.then), _interned(g, e.otherwise))
    return tree.Const(INT, e.position, g.intern(e.value) if isinstance(e, tree.StringConst) else 0)


def _append_string(g: Generation, text: Memory, size: int, field: Memory) -> None:
    """Put a string of at most `size` bytes behind what the record has, and its place and length into the field."""
    record = g.record
    assert record is not None
    assert record.tail is not None
    g.b.store(field.base, field.offset, 4, g.b.alu("add", record.tail, Imm(record.fixed)))
    target = g.b.in_register(g.b.alu("add", g.b.alu("add", record.base, Imm(record.fixed)), record.tail))
    got = g.call("probe_read_kernel_str", target, Imm(size), g.address(text))
    length = g.b.alu("sub", got, Imm(1))
    # It cannot fail, but the verifier does not know; and one way to go on is half the work for it of two.
    fault_if(g, "ge", length, Imm(size), BAD_ADDRESS, Imm(0))
    g.b.store(field.base, field.offset + 4, 4, length)
    g.b.move(record.tail, g.b.alu("add", record.tail, length))


def key_memory(g: Generation, keys: Sequence[tree.Expr], fields: Sequence[Field], size: int) -> Memory:
    """The tuple as a hash key, in temporary memory; gaps are zero."""
    memory = g.temporary(size)
    write_key(g, keys, fields, memory, size)
    return memory


def write_key(g: Generation, keys: Sequence[tree.Expr], fields: Sequence[Field], memory: Memory, size: int) -> None:
    """Generate every key into its field and zero the gaps between them."""
    for expression, field in zip(keys, fields, strict=True):
        write_field(g, expression, field, memory)
    ends = sorted((f.offset, end_of(f)) for f in fields)
    position = 0
    for begin, end in [*ends, (size, size)]:
        _zero_gap(g, memory, position, begin)
        position = max(position, end)


def _zero_gap(g: Generation, memory: Memory, start: int, end: int) -> None:
    while start < end:
        step = next(s for s in (8, 4, 2, 1) if start % s == 0 and start + s <= end)
        zero(g, Memory(memory.base, memory.offset + start), step)
        start += step


def thread_serial(g: Generation) -> Reg:
    """A number no other thread has or will have: counted up at a thread's first use of a thread-local array."""
    task = g.current_task()
    storage = g.call("task_storage_get", MapDescriptor("threads"), task, Imm(0), Imm(1), pure="serial")
    result = g.b.copy(Imm(0))
    with g.b.when("ne", storage, Imm(0)):
        g.b.move(result, g.b.load(storage, 0, 8))
        with g.b.when("eq", result, Imm(0)):
            counter = g.b.map_value(g.shared.maps.state(), 0)
            g.b.move(result, g.b.alu("add", g.b.fetch_add(counter, 8, Imm(1)), Imm(1)))
            g.b.store(storage, 0, 8, result)
    return result
