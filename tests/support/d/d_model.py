"""D's integers in Python, from docs/reference.md, "Integers": random expressions as D text, with type and value.

A value is a whole number of 64 bits, signed if the type is, which need not be one that the type holds.
"""

from typing import NamedTuple

from hypothesis import strategies as st

WORD = (1 << 64) - 1


class DType(NamedTuple):
    """`bits` is 0 unless it is the type of a bit-field of that width."""

    name: str
    size: int
    signed: bool
    bits: int = 0

    def keep(self, value):
        """What is kept of a value where it is assigned."""
        if self.name == "_Bool":
            return int(value & WORD != 0)
        return reduced(value, self.bits or 8 * self.size, self.signed)

    def word(self, value):
        """The value as 64 bits."""
        return reduced(value, 64, self.signed)


def reduced(value, bits, signed):
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


CHAR, UCHAR = DType("char", 1, True), DType("unsigned char", 1, False)
SHORT, USHORT = DType("short", 2, True), DType("unsigned short", 2, False)
INT, UINT = DType("int", 4, True), DType("unsigned int", 4, False)
LONG, ULONG = DType("long", 8, True), DType("unsigned long", 8, False)
SIDES = "enum sides { LEFT = -2147483647, RIGHT = 2147483647 };"
BOOL, ENUM = DType("_Bool", 1, False), DType("enum sides", 4, True)
TYPES = (CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, BOOL, ENUM)
FIELDS = (DType("int", 4, True, 3), DType("unsigned int", 4, False, 7), DType("char", 1, True, 5),
          DType("unsigned short", 2, False, 16), DType("int", 4, True, 32), DType("unsigned int", 4, False, 32),
          DType("unsigned int", 4, False, 31), DType("_Bool", 1, False, 1), DType("long", 8, True, 17))  # fmt: skip
"""Bit-fields."""
EDGES = (0, 1, 2, 3, 7, 127, 128, 255, 32767, 32768, 65535, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32,
         (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -1, -2, -128, -129, -32768, -(1 << 31))  # fmt: skip


class Expr(NamedTuple):
    text: str
    type: DType
    value: int
    constant: bool = False


def counts_as(kind):
    if kind == ENUM:
        return INT
    return UCHAR if kind.name == "_Bool" else kind._replace(bits=0)


def common(a, b):
    """The type of what an operator makes of two."""
    a, b = counts_as(a), counts_as(b)
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


def result(text, kind, value, constant, widens):
    value = kind.word(value)
    if constant and widens and kind.keep(value) != value:
        kind = LONG if kind.signed else ULONG
    return Expr(text, kind, value, constant)


def binary(op, a, b):
    """`a op b`; divisors are made other than 0 in the text as well."""
    if op in SHIFTS:
        kind, count = counts_as(a.type), b.value & 63
        value = kind.word(a.value) << count if op == "<<" else kind.word(a.value) >> count
        constant = a.constant and b.constant
        return result(f"({a.text} {op} {b.text})", kind, value, constant, kind.signed or op == "<<")
    if op in ("/", "%"):
        b = conditional(b, b, Expr("7", INT, 7, True))
    kind, constant = common(a.type, b.type), a.constant and b.constant
    left, right = kind.word(a.value), kind.word(b.value)
    text = f"({a.text} {op} {b.text})"
    if op in _ARITHMETIC:
        return result(text, kind, _ARITHMETIC[op](left, right), constant, kind.signed)
    if op in _COMPARISONS:
        return Expr(text, INT, int(_COMPARISONS[op](left, right)), constant)
    return Expr(text, INT, int(_LOGIC[op](a.value, b.value)), constant)


def unary(op, a):
    if op == "!":
        return Expr(f"(!{a.text})", INT, int(not a.value), a.constant)
    kind = counts_as(a.type)
    value = {"-": -kind.word(a.value), "~": ~kind.word(a.value), "+": a.value}[op]
    return result(f"({op} {a.text})", kind, value, a.constant, kind.signed and op != "+")


def cast(kind, a):
    return Expr(f"(({kind.name}){a.text})", kind, kind.keep(a.value), a.constant)


def conditional(test, a, b):
    text, chosen = f"({test.text} ? {a.text} : {b.text})", a if test.value else b
    if test.constant:
        return chosen._replace(text=text)
    kind = common(a.type, b.type)
    return Expr(text, kind, kind.word(chosen.value), False)


def comma(a, b):
    """`a, b`; of a bit-field its declared type."""
    return Expr(f"({a.text}, {b.text})", b.type, b.value)


def constant(kind, value):
    """A constant of that type; hexadecimal, so that no decimal literal is too large."""
    value = kind.keep(value)
    digits = f"{value & ((1 << 64) - 1):#x}"
    text = f"(({kind.name}){digits}{'UL' if value < 0 or value >> 63 else ''})"
    return Expr(text, kind, value, True)


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
    return Expr(name, kind, kind.keep(number))


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
