"""Integer expressions: arithmetic on 64-bit registers.

What is loaded is extended to 64 bits as its type says. A result is what 64 bits give, be its type narrower: the checker
has a `Cast` where it is to be one that the type holds, and what is stored keeps as many bytes as there is room for.
"""

from __future__ import annotations

from sonde.codegen.basis import kept_reads
from sonde.codegen.basis.faults import DIVIDE_BY_ZERO, fault_if, fault_or_go_on
from sonde.codegen.basis.generation import REPLAYS, Generation, Unsupported
from sonde.codegen.basis.maps import NULL_MARK
from sonde.codegen.basis.nullable import can_be_null
from sonde.codegen.basis.places import Memory, Place, Remote, Trusted
from sonde.codegen.expressions import processors
from sonde.codegen.expressions.access import address_of, as_number, load, load_bits, plain
from sonde.codegen.intermediate.arithmetic import signed
from sonde.codegen.intermediate.ir import Imm, Operand, Reg
from sonde.model import program as tree
from sonde.model.ranges import is_held
from sonde.model.scratch import is_scratch
from sonde.model.types import Array, Enum, Int, Pointer, String, Struct, Type, is_signed, resolve, size_of

_OPS = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "lsh"}


def constant(g: Generation, e: tree.Const) -> Operand:
    return Imm(signed(e.value))


def narrow(g: Generation, value: Operand, type_: Type) -> Operand:
    """The value as `type_` holds it."""
    base = resolve(type_)
    if isinstance(base, Int) and base.name == "_Bool":
        return g.b.truth("ne", value, Imm(0))
    return g.b.extend(value, size_of(base) or 8, is_signed(base))


def binary(g: Generation, e: tree.Binary) -> Operand:
    left = g.value(e.left)
    right = g.value(e.right)
    if g.shared.goes_on and e.op in ("/", "%"):
        g.at(e.position)
    return operate(g, e.op, left, right, e.type)


def operate(g: Generation, op: str, left: Operand, right: Operand, type_: Type) -> Operand:
    """`left op right`; quotients, remainders and right shifts are signed ones if `type_` is."""
    if op in ("/", "%"):
        return divide(g, op, left, right, is_signed(type_))
    if op == ">>":
        return g.b.alu("arsh" if is_signed(type_) else "rsh", left, right)
    return g.b.alu(_OPS[op], left, right)


def divide(g: Generation, op: str, left: Operand, right: Operand, is_signed_: bool) -> Operand:
    """Division truncating toward zero; by zero it is a fault. Older kernels have no signed division."""
    if g.shared.goes_on and right == Imm(0):
        fault_or_go_on(g, DIVIDE_BY_ZERO, Imm(0))
        return Imm(1)
    if g.shared.goes_on and not isinstance(right, Imm):
        return _divide_or_go_on(g, op, left, right, is_signed_)
    fault_if(g, "eq", right, Imm(0), DIVIDE_BY_ZERO, Imm(0))
    return _divided(g, op, left, right, is_signed_)


def _divide_or_go_on(g: Generation, op: str, left: Operand, right: Operand, is_signed_: bool) -> Operand:
    """1 where the divisor is 0."""
    result = g.b.copy(Imm(1))
    bad, good, end = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("eq", right, Imm(0), bad, good)
    g.b.place(bad)
    fault_or_go_on(g, DIVIDE_BY_ZERO, Imm(0))
    g.b.jump(end)
    g.b.place(good)
    g.b.move(result, _divided(g, op, left, right, is_signed_))
    g.b.place(end)
    return result


def _divided(g: Generation, op: str, left: Operand, right: Operand, is_signed_: bool) -> Operand:
    operation = "div" if op == "/" else "mod"
    if not is_signed_:
        return g.b.alu(operation, left, right)
    left_sign = g.b.alu("arsh", left, Imm(63))
    right_sign = g.b.alu("arsh", right, Imm(63))
    a = g.b.alu("sub", g.b.alu("xor", left, left_sign), left_sign)
    b = g.b.alu("sub", g.b.alu("xor", right, right_sign), right_sign)
    sign = g.b.alu("xor", left_sign, right_sign) if op == "/" else left_sign
    result = g.b.alu(operation, a, b)
    return g.b.alu("sub", g.b.alu("xor", result, sign), sign)


def unary(g: Generation, e: tree.Unary) -> Operand:
    if e.op == "!":
        return truth_value(g, e)
    value = g.value(e.operand)
    return g.b.negate(value) if e.op == "-" else g.b.alu("xor", value, Imm(-1))


def truth_value(g: Generation, e: tree.Expr) -> Operand:
    """A condition as 0 or 1."""
    result = g.b.register()
    yes, no, end = g.b.label(), g.b.label(), g.b.label()
    g.branch(e, yes, no)
    g.b.place(yes)
    g.b.move(result, Imm(1))
    g.b.jump(end)
    g.b.place(no)
    g.b.move(result, Imm(0))
    g.b.place(end)
    return forgotten(g, result, False)


def forgotten(g: Generation, value: Reg, is_signed_: bool) -> Operand:
    """The same integer of at most four bytes, unknown to the verifier (`Builder.forgotten`)."""
    return g.b.forgotten(value, is_signed_)


def can_be_forgotten(type_: Type) -> bool:
    base = resolve(type_)
    return isinstance(base, (Int, Enum)) and size_of(base) <= 4


def conditional(g: Generation, e: tree.Conditional) -> Operand:
    result = g.b.register()
    yes, no, end = g.b.label(), g.b.label(), g.b.label()
    g.branch(e.test, yes, no)
    g.b.place(yes)
    then = g.value(e.then)
    g.b.move(result, then)
    g.b.jump(end)
    g.b.place(no)
    otherwise = g.value(e.otherwise)
    g.b.move(result, otherwise)
    g.b.place(end)
    is_known = isinstance(then, Imm) or isinstance(otherwise, Imm)
    may_be = can_be_forgotten(e.type) and all(_is_held_alike(each, e.type) for each in (e.then, e.otherwise))
    return forgotten(g, result, is_signed(e.type)) if is_known and may_be else result


def _is_held_alike(e: tree.Expr, type_: Type) -> bool:
    """Whether the value is one of four bytes, signed as those of the type are."""
    return is_held(e) and size_of(e.type) <= 4 and is_signed(e.type) == is_signed(type_)


def comma(g: Generation, e: tree.Comma) -> Operand:
    g.statement(tree.Evaluate(e.position, e.left))
    return g.value(e.right)


def cast(g: Generation, e: tree.Cast) -> Operand:
    source = resolve(e.operand.type)
    if isinstance(source, (Array, Struct)):
        return address_of(g, g.place(e.operand))
    if isinstance(source, String):
        return string_address(g, e.operand)
    value = g.value(e.operand)
    if size_of(e.type) >= 8 or isinstance(resolve(e.type), Pointer):
        return value
    return narrow(g, value, e.type)


def string_address(g: Generation, e: tree.Expr) -> Operand:
    """The address of a string's characters, of a copy where it is not in memory; 0 if it is NULL."""
    memory = _string_memory(g, e)
    if not can_be_null(e, g.shared.nullable):
        return as_number(g, memory)
    first = g.b.load(memory.base, memory.offset, 2)
    return g.b.choose("eq", first, Imm(NULL_MARK), lambda: Imm(0), lambda: as_number(g, memory))


def _string_memory(g: Generation, e: tree.Expr) -> Memory:
    if isinstance(e, (tree.Var, tree.Element)):
        place = g.place(e)
        assert isinstance(place, Memory)
        return place
    capacity = g.shared.settings.string_capacity
    memory = g.framed(capacity)
    g.string_into(e, memory, capacity)
    return memory


def address(g: Generation, e: tree.AddressOf) -> Operand:
    return address_of(g, g.place(e.object))


def from_place(g: Generation, e: tree.Expr) -> Operand:
    """The content of an lvalue: integers and pointers; of an array or structure its address."""
    if isinstance(e, tree.Index) and isinstance(e.object, tree.Builtin) and e.object.name == "uregs":
        return processors.user_register(g, e)
    base = resolve(e.type)
    place = g.place(e)
    if isinstance(base, (Array, Struct)):
        return address_of(g, place)
    if isinstance(base, String):
        raise Unsupported("a string in this place", e.position)
    if isinstance(e, tree.MemberOf) and e.member.bits:
        return load_bits(g, g.place(e.object), e.type, e.member.offset, e.member.bits)
    value = _load_of(g, e, place)
    return plain(g, value) if isinstance(place, Trusted) and _is_followed(base) else value


def _load_of(g: Generation, e: tree.Expr, place: Place) -> Operand:
    """What is at the place of an expression."""
    if g.kept is None:
        return load(g, place, e.type)

    return kept_reads.load_once(g, e, lambda: load(g, place, e.type))


def _is_followed(type_: Type) -> bool:
    """Whether the verifier knows what a loaded pointer points to: structures (btf_struct_walk, kernel/bpf/btf.c)."""
    return isinstance(type_, Pointer) and isinstance(resolve(type_.to), Struct)


def pointer_place(g: Generation, e: tree.Expr) -> Remote | Trusted | Memory:
    """What a pointer expression points to: directly readable if the verifier trusts the pointer."""
    if isinstance(e, tree.Builtin) and e.name == "curthread":
        if REPLAYS in g.shared.target.features:
            return Remote(plain(g, g.current_task()), 0)
        return Trusted(g.current_task(), 0)
    if isinstance(e, tree.Builtin) and e.name == "curcpu":
        return processors.cpu_place(g)
    if isinstance(e, tree.Cast) and isinstance(resolve(e.operand.type), Pointer):
        inner = e.operand
        if isinstance(inner, tree.Argument) and _same_structure(e.type, inner.type):
            return pointer_place(g, inner)
    if isinstance(e, tree.Argument) and is_trusted(g, e):
        value = g.b.in_register(trusted_argument(g, e))
        if value != g.ctx:
            fault_if(g, "eq", value, Imm(0), 1, Imm(0))
        return Trusted(value, 0)
    base = resolve(e.type)
    address, tracked = _address_in(g, e)
    if not isinstance(base, Pointer):
        return Remote(address, 0, False, is_scratch(e, g.shared.scratch), tracked)
    return Remote(address, 0, base.user, is_scratch(e, g.shared.scratch), tracked, base.anywhere)


def _address_in(g: Generation, e: tree.Expr) -> tuple[Operand, bool]:
    """A pointer's value, and whether the verifier may know its type."""
    if id(e) in g.subscripts:
        return g.subscripts[id(e)], False
    number = argument_number(e)
    if number is not None:
        return g.context.argument(g, number), g.context.is_trusted(number)
    if isinstance(resolve(e.type), Pointer):
        if isinstance(e, tree.Cast) and size_of(e.operand.type) == size_of(e.type):
            return _address_in(g, e.operand)
        if isinstance(e, (tree.Deref, tree.MemberOf)):
            place = g.place(e)
            return _load_of(g, e, place), isinstance(place, Trusted) and _is_followed(resolve(e.type))
        if isinstance(e, tree.Argument) and is_trusted(g, e):
            return trusted_argument(g, e), True
    return g.value(e), False


def compared(g: Generation, e: tree.Expr) -> Operand:
    """The value of an operand that is only found equal or not: a pointer as the verifier knows it, which so learns
    whether it is NULL."""
    return _address_in(g, e)[0] if isinstance(resolve(e.type), Pointer) else g.value(e)


def argument_number(e: tree.Expr) -> int | None:
    """The number of one of arg0, arg1 ..., None for anything else."""
    if isinstance(e, tree.Builtin) and e.name.startswith("arg") and e.name[3:].isdigit():
        return int(e.name[3:])
    return None


def is_trusted(g: Generation, e: tree.Argument) -> bool:
    """Whether an argument is a pointer that programs may load through directly."""
    return isinstance(resolve(e.type), Pointer) and g.context.is_trusted(e.number)


def trusted_argument(g: Generation, e: tree.Argument) -> Operand:
    value = g.context.typed_argument(g, e.number, e.type)
    assert isinstance(value, (Reg, Imm))
    return value


def _same_structure(a: Type, b: Type) -> bool:
    left, right = resolve(a), resolve(b)
    return isinstance(left, Pointer) and isinstance(right, Pointer) and resolve(left.to) is resolve(right.to)


def object_address(g: Generation, e: tree.Expr) -> Operand:
    """The address a pointer expression gives, as a number."""
    place = pointer_place(g, e)
    return g.b.alu("add", place.base, Imm(place.offset)) if isinstance(place, Trusted) else address_of(g, place)


def source_of(g: Generation, place: Trusted | Memory) -> Operand:
    """The address of an object, as a helper that reads kernel memory takes it."""
    return g.address(place) if isinstance(place, Memory) else g.b.alu("add", place.base, Imm(place.offset))
