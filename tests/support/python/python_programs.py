"""Random functions in the Python that probes are written in, and the numbers by which Python evaluates them itself.

A function takes numbers of 64 bits, and gives one. Its source is run twice: by Python, with `Word` for all numbers and
the integer types, and in a probe. Constants are given to the types where they would meet each other, since Python
computes with constants when the program is compiled, without bounds.
"""

import random

WORD = 1 << 64
EDGES = (
    0, 1, -1, 2, 7, 8, 63, 64, 255, 256, -128, 1000, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1,
    -(2**63),
)  # fmt: skip


def wrapped(value):
    """As a signed number of 64 bits."""
    value %= WORD
    return value - WORD if value >= WORD // 2 else value


class Word:
    """A signed number of 64 bits, which wraps around."""

    def __init__(self, value):
        self.value = wrapped(int(value))

    def __index__(self):
        return self.value

    def __bool__(self):
        return self.value != 0

    def __hash__(self):
        return hash(self.value)

    def __abs__(self):
        return Word(abs(self.value))


def _operator(name):
    plain = getattr(int, name)

    def applied(self, other):
        found = plain(self.value, int(other))
        return found if isinstance(found, bool) else Word(found)

    return applied


def _sign(name):
    plain = getattr(int, name)
    return lambda self: Word(plain(self.value))


for _name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift", "floordiv", "mod", "pow"):
    for _prefix in ("", "r"):
        setattr(Word, f"__{_prefix}{_name}__", _operator(f"__{_prefix}{_name}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Word, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("neg", "invert", "pos"):
    setattr(Word, f"__{_name}__", _sign(f"__{_name}__"))


def _integer_type(bits, is_signed):
    def cut(value):
        value = int(value) % (1 << bits)
        return Word(value - (1 << bits) if is_signed and value >> (bits - 1) else value)

    return cut


class _Range:
    """Of words, which is looked into without going through it."""

    def __init__(self, *ends):
        self.numbers = range(*map(int, ends))

    def __iter__(self):
        return map(Word, self.numbers)

    def __contains__(self, number):
        return int(number) in self.numbers


MODEL = {
    **{f"i{bits}": _integer_type(bits, True) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": _integer_type(bits, False) for bits in (8, 16, 32)},
    "range": _Range,
}
"""What names mean to Python where it evaluates a function itself."""

HELPERS = """
def clamped(n, low, high):
    if n < low:
        return low
    if n > high:
        return high
    return n


def digits(n):
    found = 0
    while n > 0:
        n //= 10
        found += 1
        if found == 19:
            break
    return found


def mixed(a, b):
    return (a ^ (b >> 7)) * 31 + b
"""
_CALLS = {"clamped": 3, "digits": 1, "mixed": 2}
_TYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32")


class Expressions:
    """Makes expressions of some variables."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["a", "b", "c"]

    def leaf(self):
        chosen = self.random.random()
        if chosen < 0.75:
            return self.random.choice(self.names)
        return f"i64({self.constant()})"

    def constant(self):
        return self.random.choice((*EDGES, self.random.randrange(-(2**63), 2**63), self.random.randrange(-99, 99)))

    def number(self, depth):
        if depth == 0:
            return self.leaf()
        make = self.random.choice((
            self._binary, self._binary, self._binary, self._shift, self._divided, self._divided, self._sign,
            self._choice, self._cut, self._call, self._decided, self._extreme, self._truth,
        ))  # fmt: skip
        return make(depth - 1)

    def _binary(self, depth):
        op = self.random.choice("+-*&|^")
        left = self.number(depth)
        right = self.number(depth) if self.random.random() < 0.8 else f"({self.constant()})"
        return f"({left} {op} {right})"

    def _shift(self, depth):
        op = self.random.choice(("<<", ">>"))
        count = str(self.random.randrange(64)) if self.random.random() < 0.5 else f"({self.number(depth)} & 63)"
        return f"({self.number(depth)} {op} {count})"

    def _divided(self, depth):
        op = self.random.choice(("//", "%"))
        if self.random.random() < 0.5:
            divisor = str(self.constant() or 3)
        else:
            divisor = f"({self.number(depth)} | 1)"
        return f"({self.number(depth)} {op} {divisor})"

    def _sign(self, depth):
        return f"({self.random.choice('-~+')}{self.number(depth)})"

    def _choice(self, depth):
        return f"({self.number(depth)} if {self.test(depth)} else {self.number(depth)})"

    def _cut(self, depth):
        return f"{self.random.choice(_TYPES)}({self.number(depth)})"

    def _call(self, depth):
        name = self.random.choice([*_CALLS])
        return f"{name}({', '.join(self.number(depth) for _ in range(_CALLS[name]))})"

    def _decided(self, depth):
        return f"({self.number(depth)} {self.random.choice(('and', 'or'))} {self.number(depth)})"

    def _extreme(self, depth):
        name = self.random.choice(("min", "max"))
        return f"{name}({self.number(depth)}, {self.number(depth)})"

    def _truth(self, depth):
        return f"i64({self.test(depth)})"

    def test(self, depth):
        make = self.random.choice((self._compared, self._compared, self._chain, self._joined, self._not, self._inside))
        return make(max(depth - 1, 0))

    def _compared(self, depth):
        return f"({self.number(depth)} {self.random.choice(('<', '<=', '>', '>=', '==', '!='))} {self.number(depth)})"

    def _chain(self, depth):
        first, second = (self.random.choice(("<", "<=", "!=", ">")) for _ in range(2))
        return f"({self.number(depth)} {first} {self.number(depth)} {second} {self.number(depth)})"

    def _joined(self, depth):
        return (
            f"({self.test(depth)} {self.random.choice(('and', 'or'))} {self.test(depth)})"
            if depth
            else self._compared(0)
        )

    def _not(self, depth):
        return f"(not {self.number(depth)})"

    def _inside(self, depth):
        return f"({self.number(depth)} {self.random.choice(('in', 'not in'))} (1, -1, {self.constant()}))"


class Functions(Expressions):
    """Makes whole functions of statements."""

    def function(self, name, statements=6):
        self.names = ["a", "b", "c"]
        self._loops = 0
        lines = [f"def {name}(a, b, c):", "    d = a ^ b", "    e = i64(0)"]
        self.names += ["d", "e"]
        for _ in range(statements):
            lines += self._statement("    ", 2)
        lines.append(f"    return {self.number(2)} + d * 3 + e")
        return "\n".join(lines)

    def _target(self):
        return self.random.choice(("a", "b", "d", "e"))

    def _statement(self, indent, depth):
        make = self.random.choice((self._set, self._set, self._changed, self._if, self._for, self._while, self._return,
                                   self._swapped))  # fmt: skip
        if depth == 0:
            make = self.random.choice((self._set, self._changed))
        return make(indent, depth)

    def _block(self, indent, depth):
        return [
            line for _ in range(self.random.randrange(1, 3)) for line in self._statement(indent + "    ", depth - 1)
        ]

    def _set(self, indent, _depth):
        return [f"{indent}{self._target()} = {self.number(2)}"]

    def _swapped(self, indent, _depth):
        one, other = self._target(), self._target()
        return [f"{indent}{one}, {other} = {other} + 1, {one}"] if one != other else self._set(indent, 0)

    def _changed(self, indent, _depth):
        op = self.random.choice(("+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>"))
        value = self.number(1)
        value = f"({value} | 1)" if op in ("//", "%") else f"({value} & 63)" if op in ("<<", ">>") else value
        return [f"{indent}{self._target()} {op}= {value}"]

    def _if(self, indent, depth):
        lines = [f"{indent}if {self.test(1)}:", *self._block(indent, depth)]
        if self.random.random() < 0.4:
            lines += [f"{indent}elif {self.test(1)}:", *self._block(indent, depth)]
        if self.random.random() < 0.6:
            lines += [f"{indent}else:", *self._block(indent, depth)]
        return lines

    def _for(self, indent, depth):
        self._loops += 1
        name = f"n{self._loops}"
        ends = self.random.choice(("5", "2, 9", "0, 12, 3", "7, -3, -2", "(a & 3), 6", "(d & 7)", "4, 4"))
        lines = [f"{indent}for {name} in range({ends}):"]
        self.names.append(name)
        lines += self._block(indent, depth)
        if self.random.random() < 0.4:
            lines += [f"{indent}    if {self.test(1)}:", f"{indent}        {self.random.choice(('break', 'continue'))}"]
            lines += self._block(indent, depth)
        self.names.remove(name)
        return lines

    def _while(self, indent, depth):
        self._loops += 1
        name = f"w{self._loops}"
        lines = [f"{indent}{name} = i64({self.random.randrange(6)})", f"{indent}while {name} > 0 and {self.test(1)}:"]
        lines += [f"{indent}    {name} -= 1", *self._block(indent, depth)]
        return lines

    def _return(self, indent, depth):
        return [f"{indent}if {self.test(1)}:", f"{indent}    return {self.number(1)}"]


class SmallFunctions(Functions):
    """Makes functions of small numbers, of which nothing wraps around: signs mean the same in any width."""

    def constant(self):
        return self.random.randrange(-99, 99)

    def _binary(self, depth):
        op = self.random.choice("+-&|^")
        right = self.number(depth) if self.random.random() < 0.7 else f"({self.constant()})"
        return f"({self.number(depth)} {op} {right})"

    def _shift(self, depth):
        return f"({self.number(depth)} >> {self.random.randrange(9)})"

    def _cut(self, depth):
        return f"i64({self.number(depth)})"

    def _changed(self, indent, _depth):
        op = self.random.choice(("+", "-", "&", "|", "^", "//", "%"))
        value = self.number(1)
        return [f"{indent}{self._target()} {op}= {f'({value} | 1)' if op in ('//', '%') else value}"]


def evaluated(source, name, arguments):
    """What Python gives for a function of a source."""
    names = dict(MODEL)
    exec(compile(HELPERS + source, "<model>", "exec"), names)
    return int(names[name](*map(Word, arguments)))
