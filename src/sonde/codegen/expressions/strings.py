"""Strings: generated straight into the memory that wants them.

In memory a string is its characters, a NUL, and zeros to the end of its capacity, a multiple of 8: so two equal strings
are equal word by word, and no slot shows what it held before. A string has at most `strsize` characters.

A string can also be NULL, where a subroutine found nothing or a variable was never set. Then it has no characters, and
the byte behind the NUL is not zero (`NULL_MARK`), so it is equal to NULL and to nothing else. Only variables and
temporaries hold it: who needs characters asks for them with `characters` or `characters_into`, and NULL is a fault.

A member of a structure is neither padded nor NULL: it is read and written as what an address points to.
"""

from __future__ import annotations

from sonde.arch import call_numbers
from sonde.codegen.basis import firing_records
from sonde.codegen.basis.faults import BAD_ADDRESS, fault_if, fault_or_go_on
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import has_loops
from sonde.codegen.basis.maps import NULL_MARK
from sonde.codegen.basis.names import is_name, name_text, names_of, only_text, probe_name
from sonde.codegen.basis.nullable import can_be_null
from sonde.codegen.basis.places import Memory, Place, Remote
from sonde.codegen.basis.shapes import COMM_SIZE, string_capacity
from sonde.codegen.expressions import execname
from sonde.codegen.expressions.access import INLINE_WORDS, address_of, by_space, copy, zero
from sonde.codegen.expressions.integers import pointer_place
from sonde.codegen.expressions.region import available
from sonde.codegen.expressions.resident import read_user, require_read
from sonde.codegen.intermediate.arithmetic import signed
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import firing_record
from sonde.model import program as tree
from sonde.model.probe import Syscall
from sonde.model.types import Array, Pointer, String, resolve
from sonde.model.units import whole_words
from sonde.model.walk import is_zero

_SHORT = 64
"""Strings of up to so many bytes are compared by a plain loop, which is the fastest."""

_RELATIONS = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}


def capacity(g: Generation, e: tree.Expr) -> int:
    """The most bytes the string takes with its NUL, a multiple of 8."""
    return string_capacity(e, g.context.probes, g.shared.settings)


def limit(g: Generation, size: int) -> int:
    """How many of `size` bytes a string may use with its NUL."""
    return min(size, g.shared.settings.strsize + 1)


def in_memory(g: Generation, e: tree.Expr) -> tuple[Memory, int]:
    """The string where it is, if it is in memory, else in a temporary; with its capacity."""
    size = capacity(g, e)
    if isinstance(e, (tree.Var, tree.Element)):
        place = g.place(e)
        if isinstance(place, Memory):
            return place, size
    if isinstance(e, tree.Builtin) and is_name(e.name) and only_text(g, e.name) is None:
        return name_text(g, e.name), size
    memory = g.temporary(size)
    g.string_into(e, memory, size)
    return memory, size


def is_member(e: tree.Expr) -> bool:
    """Whether a string is part of a structure, where it has `strsize` bytes and a NUL only if it is shorter."""
    return isinstance(e, tree.MemberOf)


def store_member(g: Generation, source: Memory, size: int, memory: Memory) -> None:
    """A string of `size` bytes into a member of a structure, which is at any address."""
    whole = g.shared.settings.strsize
    common = min(size, whole)
    g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), Imm(common), g.address(source))
    zero(g, Memory(memory.base, memory.offset + common), whole - common)


# NULL


def is_nullable(g: Generation, e: tree.Expr) -> bool:
    """Whether the string can be NULL: where clauses go on behind faults, an empty one is in its place."""
    return not g.shared.goes_on and can_be_null(e, g.shared.nullable)


def mark(g: Generation, memory: Memory) -> Operand:
    """The first two bytes of a string: NULL_MARK if it is NULL."""
    return g.b.load(memory.base, memory.offset, 2)


def store_null(g: Generation, memory: Memory, size: int) -> None:
    zero(g, memory, size)
    if not g.shared.goes_on:
        g.b.store(memory.base, memory.offset, 2, Imm(NULL_MARK))


def characters(g: Generation, e: tree.Expr) -> tuple[Memory, int]:
    """A string whose characters are needed, where it is (`in_memory`); NULL is a fault."""
    memory, size = in_memory(g, e)
    if is_nullable(g, e):
        fault_if(g, "eq", mark(g, memory), Imm(NULL_MARK), BAD_ADDRESS, Imm(0))
    return memory, size


def characters_into(g: Generation, e: tree.Expr, memory: Memory, size: int) -> None:
    """The characters of a string into memory of `size` bytes; NULL is a fault."""
    g.string_into(e, memory, size)
    if is_nullable(g, e):
        fault_if(g, "eq", mark(g, memory), Imm(NULL_MARK), BAD_ADDRESS, Imm(0))


def copy_characters(g: Generation, source: Memory, size: int, target: Memory) -> Operand:
    """Copy a string of at most `size` bytes; its length. What was behind it in `target` remains."""
    copied = g.call("probe_read_kernel_str", g.argument_of(target.base, target.offset), Imm(size), g.address(source))
    return g.b.alu("sub", copied, Imm(1))


def string_length(g: Generation, source: Memory, size: int) -> Operand:
    """The number of characters of a string of at most `size` bytes. Only copying tells it in one call."""
    with g.released():
        return copy_characters(g, source, size, g.temporary(size))


# Into memory


def constant(g: Generation, e: tree.Expr, memory: Memory, size: int) -> None:
    assert isinstance(e, tree.StringConst)
    store_text(g, e.value, memory, size)


def store_text(g: Generation, text: bytes, memory: Memory, size: int) -> None:
    """Constant text, by stores of words; a long one is copied from a map."""
    text = text[: limit(g, size) - 1].split(b"\0")[0]
    end = whole_words(len(text) + 1)
    if end > INLINE_WORDS * 8:
        copy(g, Memory(g.b.map_value(*g.shared.maps.text(text)), 0), memory, end)
    else:
        padded = text.ljust(end, b"\0")
        for start in range(0, end, 8):
            word = int.from_bytes(padded[start : start + 8], "little")
            g.b.store(memory.base, memory.offset + start, 8, Imm(signed(word)))
    zero(g, Memory(memory.base, memory.offset + end), size - end)


def builtin(g: Generation, e: tree.Expr, memory: Memory, size: int) -> None:
    assert isinstance(e, tree.Builtin)
    if e.name == "execname":
        execname.store(g, memory, size)
        if size > COMM_SIZE:
            zero(g, Memory(memory.base, memory.offset + COMM_SIZE), size - COMM_SIZE)
        return
    text = only_text(g, e.name)
    if text is not None:
        store_text(g, text, memory, size)
    else:
        copy_string(g, name_text(g, e.name), g.shared.name_width, memory, size)


def variable(g: Generation, e: tree.Expr, memory: Memory, size: int) -> None:
    place = g.place(e)
    if is_member(e):
        read(g, place, memory, size, g.shared.settings.strsize)
    elif isinstance(place, Memory):
        copy_string(g, place, g.shared.settings.string_capacity, memory, size)
    else:
        read(g, place, memory, size)


def copy_string(g: Generation, source: Memory, source_size: int, memory: Memory, size: int) -> None:
    """From one padded string to another, cut where the second is smaller."""
    common = min(source_size, size)
    copy(g, source, memory, common)
    if size > common:
        zero(g, Memory(memory.base, memory.offset + common), size - common)
    elif source_size > size:
        g.b.store(memory.base, memory.offset + limit(g, size) - 1, 1, Imm(0))


def conditional(g: Generation, e: tree.Expr, memory: Memory, size: int) -> None:
    assert isinstance(e, tree.Conditional)
    yes, no, end = g.b.label(), g.b.label(), g.b.label()
    g.branch(e.test, yes, no)
    g.b.place(yes)
    g.string_into(e.then, memory, size)
    g.b.jump(end)
    g.b.place(no)
    g.string_into(e.otherwise, memory, size)
    g.b.place(end)


def cast(g: Generation, e: tree.Expr, memory: Memory, size: int) -> None:
    """stringof: of characters in an array, behind a pointer or at an address."""
    assert isinstance(e, tree.Cast)
    base = resolve(e.operand.type)
    if is_zero(e):
        store_null(g, memory, size)
    elif isinstance(base, String):
        g.string_into(e.operand, memory, size)
    elif isinstance(base, Array):
        read(g, g.place(e.operand), memory, size, base.length)
    else:
        user = isinstance(base, Pointer) and base.user
        place = pointer_place(g, e.operand)
        read(g, place if isinstance(place, Remote) else Remote(address_of(g, place), 0, user), memory, size)


def read(g: Generation, place: Place, memory: Memory, size: int, length: int | None = None) -> None:
    """A C string at an address, at most `length` characters of it; a bad address is a fault."""
    most = limit(g, size) if length is None else min(limit(g, size), length + 1)
    if isinstance(place, Remote) and place.scratch:
        _read_scratch(g, place, memory, size, most)
        return
    if isinstance(place, Remote) and place.anywhere:
        by_space(g, place, lambda one: read(g, one, memory, size, length))
        return
    zero(g, memory, size)
    user = isinstance(place, Remote) and place.user
    address = source_address(g, place)
    if user:
        require_read(g, read_user(g, "probe_read_user_str", memory, Imm(most), address), address)
        return
    result = g.call("probe_read_kernel_str", g.argument_of(memory.base, memory.offset), Imm(most), address)
    if g.firing_record is not None:
        firing_records.read(g, firing_record.KERNEL_STRING, address, Imm(most), result, memory)
    with g.b.when("slt", result, Imm(0)):
        fault_or_go_on(g, BAD_ADDRESS, address)


def _read_scratch(g: Generation, place: Remote, memory: Memory, size: int, most: int) -> None:
    """A C string in scratch memory: it ends where what has been allocated ends, if not before."""
    source, room = available(g, place)
    zero(g, memory, size)
    bytes_ = g.b.copy(g.b.alu("add", room, Imm(1)))
    with g.b.when("gt", bytes_, Imm(most)):
        g.b.move(bytes_, Imm(most))
    g.call("probe_read_kernel_str", g.argument_of(memory.base, memory.offset), bytes_, g.address(source))


def source_address(g: Generation, place: Place) -> Operand:
    """An address that a helper reads from; pointers the verifier tracks may be given as they are."""
    if isinstance(place, Memory):
        return g.address(place)
    if isinstance(place, Remote):
        return g.b.alu("add", place.address, Imm(place.offset))
    return address_of(g, place)


def assignment(g: Generation, e: tree.Expr, memory: Memory, size: int) -> None:
    assert isinstance(e, (tree.Assign, tree.Comma))
    if isinstance(e, tree.Comma):
        g.statement(tree.Evaluate(e.position, e.left))
        g.string_into(e.right, memory, size)
        return
    g.statement(tree.Evaluate(e.position, e))
    g.string_into(e.target, memory, size)


# Comparisons


def compare(g: Generation, e: tree.Binary, then: int, otherwise: int) -> None:
    """Compare two strings as strcmp does, and jump."""
    left, right = e.left, e.right
    if isinstance(left, tree.StringConst) and not isinstance(right, tree.StringConst) and e.op in ("==", "!="):
        left, right = right, left
    if e.op in ("==", "!="):
        equal, unequal = (then, otherwise) if e.op == "==" else (otherwise, then)
        if isinstance(right, tree.StringConst):
            _equals_text(g, left, right.value, equal, unequal)
            return
    a, a_size = in_memory(g, left)
    b, b_size = in_memory(g, right)
    size = min(a_size, b_size)
    if size > _SHORT and has_loops(g):
        order = g.routine(f"compare_long_{size}", g.address(a), g.address(b))
    else:
        order = g.routine("compare_strings", g.address(a), g.address(b), Imm(size))
    g.b.branch(_RELATIONS[e.op], order, Imm(0), then, otherwise)


def _function_of(g: Generation, name: str, text: bytes) -> bytes | None:
    """What a system call is called as a probe, where descriptions may also use its own name, which this is."""
    if name != "probefunc" or not any(isinstance(each.firing, Syscall) for each in g.context.probes):
        return None

    return call_numbers.implemented_by(text.decode(errors="surrogateescape")).encode() or None


def _equals_text(g: Generation, e: tree.Expr, text: bytes, equal: int, unequal: int) -> None:
    text = text.split(b"\0")[0]
    if isinstance(e, tree.StringConst):
        g.b.jump(equal if e.value.split(b"\0")[0] == text else unequal)
        return
    if isinstance(e, tree.Builtin) and is_name(e.name):
        names = {name.encode() for name in names_of(g, e.name)}
        found = [each for each in (text, _function_of(g, e.name, text)) if each in names]
        if not found:
            g.b.jump(unequal)
            return
        for each in found[:-1]:
            g.b.branch("eq", probe_name(g, e.name), Imm(g.intern(each)), equal)
        g.b.branch("eq", probe_name(g, e.name), Imm(g.intern(found[-1])), equal, unequal)
        return
    if isinstance(e, tree.Builtin) and e.name == "execname" and execname.equals(g, text, equal, unequal):
        return
    memory, size = in_memory(g, e)
    words = (len(text) + 8) // 8
    if words * 8 > size:
        g.b.jump(unequal)
        return
    padded = text.ljust(words * 8, b"\0")
    for start in range(0, words * 8, 8):
        word = g.b.load(memory.base, memory.offset + start, 8)
        expected = Imm(signed(int.from_bytes(padded[start : start + 8], "little")))
        following = g.b.label() if start + 8 < words * 8 else equal
        g.b.branch("eq", word, expected, following, unequal)
        if following != equal:
            g.b.place(following)


def truth(g: Generation, e: tree.Expr, then: int, otherwise: int) -> None:
    """A string is true unless it is NULL."""
    memory = None if isinstance(e, (tree.StringConst, tree.Builtin)) else in_memory(g, e)[0]
    if memory is None or not is_nullable(g, e):
        g.b.jump(then)
    else:
        g.b.branch("ne", mark(g, memory), Imm(NULL_MARK), then, otherwise)
