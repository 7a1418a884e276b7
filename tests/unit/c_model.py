"""C's integer arithmetic in Python: random expressions as D text, with the type and value C gives them.

`Expr.c` is what a C compiler is given: C has no `^^`. `test_c_model.py` compares the model with the compiler.
Arithmetic wraps around where C leaves overflow undefined. Shift counts stay below the width, divisors are not 0.
"""

from typing import NamedTuple

from hypothesis import strategies as st


class CType(NamedTuple):
    """`bits` is 0 unless it is the type of a bit-field of that width."""

    name: str
    size: int
    signed: bool
    bits: int = 0

    def wrap(self, value):
        if self.name == "_Bool":
            return int(value != 0)
        bits = self.bits or 8 * self.size
        value &= (1 << bits) - 1
        return value - (1 << bits) if self.signed and value >> (bits - 1) else value


CHAR, UCHAR = CType("char", 1, True), CType("unsigned char", 1, False)
SHORT, USHORT = CType("short", 2, True), CType("unsigned short", 2, False)
INT, UINT = CType("int", 4, True), CType("unsigned int", 4, False)
LONG, ULONG = CType("long", 8, True), CType("unsigned long", 8, False)
SIDES = "enum sides { LEFT = -2147483647, RIGHT = 2147483647 };"
BOOL, ENUM = CType("_Bool", 1, False), CType("enum sides", 4, True)
TYPES = (CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, BOOL, ENUM)
FIELDS = (CType("int", 4, True, 3), CType("unsigned int", 4, False, 7), CType("char", 1, True, 5),
          CType("unsigned short", 2, False, 16), CType("int", 4, True, 32), CType("unsigned int", 4, False, 32),
          CType("unsigned int", 4, False, 31), CType("_Bool", 1, False, 1), CType("long", 8, True, 17))  # fmt: skip
"""Bit-fields; compilers disagree about the type of those wider than int."""
EDGES = (0, 1, 2, 3, 7, 127, 128, 255, 32767, 32768, 65535, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32,
         (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -1, -2, -128, -129, -32768, -(1 << 31))  # fmt: skip


class Expr(NamedTuple):
    text: str
    type: CType
    value: int
    c: str


def promote(kind):
    if kind.bits:
        return UINT if (kind.bits, kind.signed) == (32, False) else INT
    return INT if kind.size < 4 or kind == ENUM else kind


def common(a, b):
    """The usual arithmetic conversions."""
    a, b = promote(a), promote(b)
    if a.size != b.size:
        return a if a.size > b.size else b
    return a if not a.signed else b


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": truncated,
    "%": lambda a, b: a - b * truncated(a, b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_COMPARISONS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_LOGIC = {
    "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
    "^^": lambda a, b: bool(a) != bool(b),
}
SHIFTS = ("<<", ">>")
OPERATORS = (*_ARITHMETIC, *_COMPARISONS, *_LOGIC, *SHIFTS)
COMPOUND = (*_ARITHMETIC, *SHIFTS)


def binary(op, a, b):
    """`a op b`; divisors and shift counts are made valid in the text as well."""
    if op in SHIFTS:
        kind = promote(a.type)
        most = kind.size * 8 - 1
        count = b.value & most
        value = kind.wrap(a.value) << count if op == "<<" else kind.wrap(a.value) >> count
        return Expr(f"({a.text} {op} ({b.text} & {most}))", kind, kind.wrap(value), f"({a.c} {op} ({b.c} & {most}))")
    if op in ("/", "%"):
        kind = common(b.type, INT)
        value = kind.wrap(b.value) if b.value else 7
        b = Expr(f"({b.text} ? {b.text} : 7)", kind, value, f"({b.c} ? {b.c} : 7)")
    kind = common(a.type, b.type)
    left, right = kind.wrap(a.value), kind.wrap(b.value)
    text = f"({a.text} {op} {b.text})"
    c = f"(!{a.c} != !{b.c})" if op == "^^" else f"({a.c} {op} {b.c})"
    if op in _ARITHMETIC:
        return Expr(text, kind, kind.wrap(_ARITHMETIC[op](left, right)), c)
    if op in _COMPARISONS:
        return Expr(text, INT, int(_COMPARISONS[op](left, right)), c)
    return Expr(text, INT, int(_LOGIC[op](a.value, b.value)), c)


def unary(op, a):
    if op == "!":
        return Expr(f"(!{a.text})", INT, int(not a.value), f"(!{a.c})")
    kind = promote(a.type)
    value = {"-": -kind.wrap(a.value), "~": ~kind.wrap(a.value), "+": kind.wrap(a.value)}[op]
    return Expr(f"({op} {a.text})", kind, kind.wrap(value), f"({op} {a.c})")


def cast(kind, a):
    return Expr(f"(({kind.name}){a.text})", kind, kind.wrap(a.value), f"(({kind.name}){a.c})")


def conditional(test, a, b):
    kind = common(a.type, b.type)
    value = kind.wrap(a.value if test.value else b.value)
    return Expr(f"({test.text} ? {a.text} : {b.text})", kind, value, f"({test.c} ? {a.c} : {b.c})")


def comma(a, b):
    """`a, b`; a bit-field is promoted, as it has no type of its own that a name could tell."""
    if b.type.bits:
        b = unary("+", b)
    return Expr(f"({a.text}, {b.text})", b.type, b.value, f"({a.c}, {b.c})")


def constant(kind, value):
    """A constant of that type; hexadecimal, so that no decimal literal is too large."""
    value = kind.wrap(value)
    digits = f"{value & ((1 << 64) - 1):#x}"
    text = f"(({kind.name}){digits}{'UL' if value < 0 or value >> 63 else ''})"
    return Expr(text, kind, value, text)


class Variables:
    """Global variables of every type, filled in before the program runs: two of each, `v0` and so on.

    `fields` are the bit-fields of the structure `f`, to which `setup` gives their values; `declarations` declare all.
    """

    def __init__(self, numbers):
        kinds = (*TYPES, *TYPES)
        self.all = [_named(f"v{n}", kind, number) for n, (kind, number) in enumerate(zip(kinds, numbers, strict=False))]
        self.fields = [
            _named(f"f.b{n}", kind, number)
            for n, (kind, number) in enumerate(zip(FIELDS, numbers[len(kinds) :], strict=True))
        ]
        self.operands = self.all + self.fields
        members = " ".join(f"{v.type.name} {v.text[2:]} : {v.type.bits};" for v in self.fields)
        self.setup = " ".join(f"{v.text} = {v.value};" for v in self.fields)
        self.declarations = f"{SIDES} struct fields {{ {members} }}; struct fields f; " + " ".join(
            f"{v.type.name} {v.text};" for v in self.all
        )


def _named(name, kind, number):
    return Expr(name, kind, kind.wrap(number), name)


words = st.one_of(st.sampled_from(EDGES), st.integers(-(1 << 63), (1 << 64) - 1), st.integers(-40, 40))
COUNT = 2 * len(TYPES) + len(FIELDS)
variables = st.lists(words, min_size=COUNT, max_size=COUNT).map(Variables)
types = st.sampled_from(TYPES)


@st.composite
def expressions(draw, variables, depth=3):
    """An expression over these variables and constants; over constants alone if `variables` is None."""
    kind = draw(st.integers(0, 12)) if depth else draw(st.integers(0, 3))
    if kind <= 2 and variables is not None:
        return draw(st.sampled_from(variables.operands))
    if kind <= 3:
        return constant(draw(types), draw(words))
    inner = expressions(variables, depth - 1)
    if kind <= 8:
        return binary(draw(st.sampled_from(OPERATORS)), draw(inner), draw(inner))
    if kind == 9:
        return unary(draw(st.sampled_from("-~!+")), draw(inner))
    if kind == 10:
        return cast(draw(types), draw(inner))
    if kind == 11 and variables is not None:
        return comma(draw(inner), draw(inner))
    return conditional(draw(inner), draw(inner), draw(inner))
