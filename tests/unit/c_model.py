"""C's integer arithmetic in Python: random expressions as D text, with the type and value C gives them.

Unlike in C, both operands of a shift are brought to their common type, as DTrace does.
Arithmetic wraps around where C leaves overflow undefined. Shift counts stay below the width, divisors are not 0.
"""

from typing import NamedTuple

from hypothesis import strategies as st


class CType(NamedTuple):
    name: str
    size: int
    signed: bool

    def wrap(self, value):
        value &= (1 << 8 * self.size) - 1
        return value - (1 << 8 * self.size) if self.signed and value >> (8 * self.size - 1) else value


CHAR, UCHAR = CType("char", 1, True), CType("unsigned char", 1, False)
SHORT, USHORT = CType("short", 2, True), CType("unsigned short", 2, False)
INT, UINT = CType("int", 4, True), CType("unsigned int", 4, False)
LONG, ULONG = CType("long", 8, True), CType("unsigned long", 8, False)
TYPES = (CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG)
EDGES = (0, 1, 2, 3, 7, 127, 128, 255, 32767, 32768, 65535, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32,
         (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -1, -2, -128, -129, -32768, -(1 << 31))  # fmt: skip


class Expr(NamedTuple):
    text: str
    type: CType
    value: int


def promote(kind):
    return INT if kind.size < 4 else kind


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
        kind = common(a.type, b.type)
        count = Expr(f"({b.text} & {kind.size * 8 - 1})", kind, b.value & (kind.size * 8 - 1))
        value = kind.wrap(a.value) << count.value if op == "<<" else kind.wrap(a.value) >> count.value
        return Expr(f"({a.text} {op} {count.text})", kind, kind.wrap(value))
    if op in ("/", "%"):
        kind = common(b.type, INT)
        b = Expr(f"({b.text} ? {b.text} : 7)", kind, kind.wrap(b.value) if b.value else 7)
    kind = common(a.type, b.type)
    left, right = kind.wrap(a.value), kind.wrap(b.value)
    text = f"({a.text} {op} {b.text})"
    if op in _ARITHMETIC:
        return Expr(text, kind, kind.wrap(_ARITHMETIC[op](left, right)))
    if op in _COMPARISONS:
        return Expr(text, INT, int(_COMPARISONS[op](left, right)))
    return Expr(text, INT, int(_LOGIC[op](a.value, b.value)))


def unary(op, a):
    if op == "!":
        return Expr(f"(!{a.text})", INT, int(not a.value))
    kind = promote(a.type)
    value = {"-": -kind.wrap(a.value), "~": ~kind.wrap(a.value), "+": kind.wrap(a.value)}[op]
    return Expr(f"({op} {a.text})", kind, kind.wrap(value))


def cast(kind, a):
    return Expr(f"(({kind.name}){a.text})", kind, kind.wrap(a.value))


def conditional(test, a, b):
    kind = common(a.type, b.type)
    return Expr(f"({test.text} ? {a.text} : {b.text})", kind, kind.wrap(a.value if test.value else b.value))


def constant(kind, value):
    """A constant of that type; hexadecimal, so that no decimal literal is too large."""
    value = kind.wrap(value)
    digits = f"{value & ((1 << 64) - 1):#x}"
    return Expr(f"(({kind.name}){digits}{'UL' if value < 0 or value >> 63 else ''})", kind, value)


class Variables:
    """Global variables of every type, filled in before the program runs: two of each, `v0` ... `v15`."""

    def __init__(self, numbers):
        self.all = [
            Expr(f"v{n}", TYPES[n % len(TYPES)], TYPES[n % len(TYPES)].wrap(number)) for n, number in enumerate(numbers)
        ]
        self.declarations = " ".join(f"{v.type.name} {v.text};" for v in self.all)


words = st.one_of(st.sampled_from(EDGES), st.integers(-(1 << 63), (1 << 64) - 1), st.integers(-40, 40))
variables = st.lists(words, min_size=2 * len(TYPES), max_size=2 * len(TYPES)).map(Variables)
types = st.sampled_from(TYPES)


@st.composite
def expressions(draw, variables, depth=3):
    """An expression over these variables and constants."""
    kind = draw(st.integers(0, 11)) if depth else draw(st.integers(0, 3))
    if kind <= 2:
        return draw(st.sampled_from(variables.all))
    if kind == 3:
        return constant(draw(types), draw(words))
    inner = expressions(variables, depth - 1)
    if kind <= 8:
        return binary(draw(st.sampled_from(OPERATORS)), draw(inner), draw(inner))
    if kind == 9:
        return unary(draw(st.sampled_from("-~!+")), draw(inner))
    if kind == 10:
        return cast(draw(types), draw(inner))
    return conditional(draw(inner), draw(inner), draw(inner))
