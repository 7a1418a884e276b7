"""Random programs of bpftrace's language, each with what it prints: an evaluator of its own makes both at once.

Integers are those of docs/language.md of bpftrace 0.26: literals have the smallest signed type, arithmetic is done in
64 bits, unsigned where both sides are and nothing is subtracted, and what is assigned to a name is cast to its type.
Literals that are not negative, and variables that hold nothing else, are signed as what stands on the other side is;
what is made of literals alone is exact.
"""

import random
from typing import NamedTuple

SIZES = (8, 16, 32, 64)
EDGES = (0, 1, 2, 3, 7, 11, 97, 127, 128, 129, 255, 256, 32767, 32768, 65535, 65537, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
         2**63 - 101, 2**63, 2**64 - 106)  # fmt: skip
WORDS = ("", "a", "ab", "three", "seventeen letters", "13 columns...")


class Kind(NamedTuple):
    """A type of integers; `flexible` ones are signed as others are."""

    bits: int
    signed: bool
    flexible: bool = False

    def __str__(self):
        return f"{'' if self.signed else 'u'}int{self.bits}"

    def wrap(self, value):
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value


LONG, ULONG, BOOL = Kind(64, True), Kind(64, False), Kind(1, False)
KINDS = tuple(Kind(bits, signed) for bits in SIZES for signed in (True, False))


class Value(NamedTuple):
    """An expression: its text, its type and its value."""

    text: str
    kind: Kind
    value: int
    is_literal: bool = False


def literal(number, text=None):
    kinds = (Kind(bits, True, number >= 0) for bits in SIZES if -(1 << (bits - 1)) <= number < 1 << (bits - 1))
    return Value(text or str(number), next(kinds, ULONG), number, True)


def common(op, left, right):
    """The type that an operation is done in: of a shift that of what is shifted."""
    known = [each for each in (left, right) if not each.flexible]
    if op in ("<<", ">>") and not left.flexible:
        return LONG if left.signed else ULONG
    return LONG if op == "-" or not known or any(each.signed for each in known) else ULONG


def folded(op, left, right):
    """What two literals come to, None where no type holds it."""
    if op in ("/", "%"):
        value = divided(op, left, right)
    elif op == "<<":
        value = (LONG if left < 0 else ULONG).wrap(left << right)
    else:
        value = {"+": left + right, "-": left - right, "*": left * right, "&": left & right, "|": left | right,
                 "^": left ^ right, ">>": left >> right if op == ">>" else 0}[op]  # fmt: skip
    return value if -(1 << 63) <= value < 1 << 64 else None


def divided(op, left, right):
    """As C divides: towards 0."""
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if op == "/" else left - quotient * right


class Generator:
    """One program; `lines` are what it prints, `maps` what is shown of its maps at the end."""

    def __init__(self, seed, name):
        self.random = random.Random(f"{seed} {name}")
        self.name = name
        self.numbers, self.texts = {}, {}
        self.counts, self.elements = {}, {}
        self.body, self.lines, self.maps = [], [], []
        self.names = 0

    def fresh(self):
        """A part of a name that no other variable has."""
        self.names += 1
        return f"{self.names}x"

    # Expressions

    def number(self, depth=0):
        choice = self.random.random()
        if depth > 3 or choice < 0.25:
            return literal(self.random.choice(EDGES) + self.random.choice((0, 0, 0, 5, 100)))
        if choice < 0.4 and self.numbers:
            return self.random.choice(list(self.numbers.values()))
        if choice < 0.5:
            return self.casted(self.random.choice(KINDS), self.number(depth + 1))
        if choice < 0.57:
            return self.signed(depth)
        if choice < 0.65:
            return self.chosen(depth)
        if choice < 0.75:
            return self.compared(depth)
        return self.computed(depth)

    def casted(self, kind, of):
        return Value(f"({kind})({of.text})", kind, kind.wrap(of.value))

    def signed(self, depth):
        of = self.number(depth + 1)
        if of.kind == BOOL:
            of = self.casted(self.random.choice(KINDS), of)
        op = self.random.choice("-~")
        if of.is_literal:
            value = ULONG.wrap(~of.value) if op == "~" else -of.value
            return literal(value, f"({op}({of.text}))") if value >= -(1 << 63) else of
        kind = ULONG if op == "~" and not of.kind.signed else LONG
        return Value(f"({op}({of.text}))", kind, kind.wrap(-of.value if op == "-" else ~of.value))

    def test(self, depth=1):
        """A condition, and whether it holds."""
        left = self.compared(depth)
        if self.random.random() < 0.3:
            right, op = self.compared(depth + 1), self.random.choice(("&&", "||"))
            holds = (left.value and right.value) if op == "&&" else (left.value or right.value)
            return Value(f"({left.text} {op} {right.text})", BOOL, int(bool(holds)))
        if self.random.random() < 0.2:
            return Value(f"!({left.text})", BOOL, int(not left.value))
        return left

    def compared(self, depth):
        if self.texts and self.random.random() < 0.2:
            name, word = self.random.choice(list(self.texts.items()))
            other, op = self.random.choice(WORDS), self.random.choice(("==", "!="))
            return Value(f'({name} {op} "{other}")', BOOL, int((word == other) == (op == "==")))
        left, right = self.number(depth + 1), self.number(depth + 1)
        kind = common("", left.kind, right.kind)
        one, other = kind.wrap(left.value), kind.wrap(right.value)
        op = self.random.choice(("==", "!=", "<", ">", "<=", ">="))
        holds = {"==": one == other, "!=": one != other, "<": one < other, ">": one > other, "<=": one <= other,
                 ">=": one >= other}[op]  # fmt: skip
        return Value(f"({left.text} {op} {right.text})", BOOL, int(holds))

    def chosen(self, depth):
        test, then, other = self.test(depth + 1), self.number(depth + 1), self.number(depth + 1)
        kind = self.random.choice(KINDS)
        then, other = self.casted(kind, then), self.casted(kind, other)
        value = then.value if test.value else other.value
        return Value(f"({test.text} ? {then.text} : {other.text})", kind, value)

    def computed(self, depth):
        op = self.random.choice(("+", "-", "*", "&", "|", "^", "/", "%", "<<", ">>"))
        left, right = self.number(depth + 1), self.number(depth + 1)
        if op in ("<<", ">>"):
            right = literal(self.random.randrange(63))
        elif op in ("/", "%"):
            right = literal(self.random.choice((1, 2, 3, 7, 97, 1000)))
        text = f"({left.text} {op} {right.text})"
        if left.is_literal and right.is_literal:
            value = folded(op, left.value, right.value)
            return literal(value, text) if value is not None else left
        kind = common(op, left.kind, right.kind)
        one, other = kind.wrap(left.value), kind.wrap(right.value)
        match op:
            case "/" | "%":
                value = divided(op, one, other)
            case "<<":
                value = one << other
            case ">>":
                value = one >> other
            case _:
                value = {"+": one + other, "-": one - other, "*": one * other, "&": one & other, "|": one | other,
                         "^": one ^ other}[op]  # fmt: skip
        return Value(text, kind, kind.wrap(value))

    # Statements

    def assign(self):
        name = f"${self.random.choice('abcd')}{self.name}"
        kind = self.numbers[name].kind if name in self.numbers else self.random.choice(KINDS)
        made = self.casted(kind, self.number())
        self.numbers[name] = Value(name, kind, made.value)
        self.body.append(f"{name} = {made.text};")

    def assign_literal(self):
        """A variable that is signed as others are."""
        name, of = f"$f{self.fresh()}{self.name}", literal(self.random.choice(EDGES))
        self.numbers[name] = Value(name, of.kind, of.value)
        self.body.append(f"{name} = {of.text};")

    def assign_text(self):
        name = f"$t{self.random.choice('xy')}{self.name}"
        word = self.random.choice(WORDS)
        text = f'"{word}"'
        if self.random.random() < 0.3:
            test, other = self.test(), self.random.choice(WORDS)
            text, word = f'({test.text} ? "{word}" : "{other}")', word if test.value else other
        # The first string that a variable holds says how long it may be.
        if name not in self.texts:
            self.body.append(f'{name} = "{max(WORDS, key=len)}";')
        self.texts[name] = word
        self.body.append(f"{name} = {text};")

    def show(self):
        """printf() with conversions of each width."""
        pieces, values, shown = [], [], []
        for _ in range(self.random.randrange(1, 4)):
            form, kind, show = self.random.choice(CONVERSIONS)
            of = self.number(1)
            width, flag = self.random.choice(("", "", "7", "23")), self.random.choice(("", "-", "0"))
            pieces.append(f"%{flag if width else ''}{width}{form}")
            values.append(of.text)
            text = show(kind.wrap((LONG if of.kind.signed else ULONG).wrap(of.value)))
            shown.append(padded(text, width, flag))
        if self.texts:
            name, word = self.random.choice(list(self.texts.items()))
            pieces.append("%-9s")
            values.append(name)
            shown.append(f"{word:9}")
        self.body.append(f'printf("{"|".join(pieces)}\\n", {", ".join(values)});')
        self.lines.append("|".join(shown))

    def show_tuple(self):
        parts = [self.casted(self.random.choice(KINDS), self.number(2)) for _ in range(self.random.randrange(1, 4))]
        test, name = self.test(), f"$p{self.fresh()}{self.name}"
        word = self.random.choice(WORDS)
        text = ", ".join([part.text for part in parts])
        self.body.append(f'{name} = ({text}, "{word}", ({test.text}, 5)); print({name}); print({name}.0);')
        values = ", ".join(str(part.value) for part in parts)
        self.lines += [f"({values}, {word}, ({str(bool(test.value)).lower()}, 5))", str(parts[0].value)]

    def show_record(self):
        one, other = self.casted(self.random.choice(KINDS), self.number(2)), self.test()
        self.body.append(f"print((one={one.text}, other={other.text}));")
        self.lines.append(f"{{ .one = {one.value}, .other = {str(bool(other.value)).lower()} }}")

    def put(self):
        """An element of a map."""
        key, of = self.random.randrange(5), self.casted(LONG, self.number(1))
        self.elements[key] = of.value
        self.body.append(f"@m{self.name}[{key}] = {of.text};")

    def add(self):
        """What an aggregation counts."""
        key = self.random.choice(WORDS[1:4])
        for _ in range(self.random.randrange(1, 4)):
            self.counts[key] = self.counts.get(key, 0) + 1
            self.body.append(f'@c{self.name}["{key}"] = count();')

    def branch(self):
        test = self.test()
        outside = self.body, self.lines, dict(self.numbers), dict(self.texts), dict(self.elements), dict(self.counts)
        parts = []
        for taken in (bool(test.value), not test.value):
            self.body, self.lines = [], []
            self.numbers, self.texts = dict(outside[2]), dict(outside[3])
            self.elements, self.counts = dict(outside[4]), dict(outside[5])
            self.statements(2)
            # What only a branch knows is not known behind it.
            numbers = {name: value for name, value in self.numbers.items() if name in outside[2]}
            texts = {name: value for name, value in self.texts.items() if name in outside[3]}
            parts.append((taken, " ".join(self.body), self.lines, numbers, texts, self.elements, self.counts))
        self.body, self.lines = outside[0], outside[1]
        self.body.append(f"if ({test.text}) {{ {parts[0][1]} }} else {{ {parts[1][1]} }}")
        _, _, lines, self.numbers, self.texts, self.elements, self.counts = next(each for each in parts if each[0])
        self.lines += lines

    def loop(self):
        """A sum over a range, which leaves some numbers out and ends before others."""
        first, count, out = self.random.randrange(-3, 4), self.random.randrange(1, 13), self.random.randrange(7)
        name, end = f"$s{self.fresh()}{self.name}", self.random.randrange(20)
        kind, total = self.random.choice(KINDS), 0
        for number in range(first, first + count):
            if number == out:
                continue
            if number > end:
                break
            total = kind.wrap(total * 3 + number)
        self.body.append(
            f"{name} = ({kind})0; for ($i : {first}..{first + count}) {{ if ($i == {out}) {{ continue; }} "
            f"if ($i > {end}) {{ break; }} {name} = ({kind})({name} * 3 + $i); }} print({name});"
        )
        self.lines.append(str(total))

    def count_down(self):
        name, start = f"$n{self.fresh()}{self.name}", self.random.randrange(1, 9)
        step = self.random.choice(("unroll", "while"))
        if step == "while":
            self.body.append(f"{name} = (int64){start}; while ({name} > 0) {{ {name}--; }} print({name});")
            self.lines.append("0")
        else:
            self.body.append(f"{name} = (int64)0; unroll ({start}) {{ {name} += 5; {name}++; }} print({name});")
            self.lines.append(str(6 * start))

    def statements(self, count):
        for _ in range(count):
            self.random.choice(STATEMENTS)(self)

    def probe(self):
        """The program as a probe, which other programs may stand beside."""
        self.statements(self.random.randrange(4, 9))
        self.maps = [f"@m{self.name}[{key}]: {value}" for key, value in self.elements.items()]
        self.maps += [f"@c{self.name}[{key}]: {value}" for key, value in self.counts.items()]
        self.lines.append(f"end of {self.name}")
        return f'begin {{ {" ".join(self.body)} printf("end of {self.name}\\n"); }}'


STATEMENTS = (
    Generator.assign, Generator.assign, Generator.assign, Generator.assign_literal, Generator.assign_text,
    Generator.show, Generator.show, Generator.show_tuple, Generator.show_record, Generator.put, Generator.add,
    Generator.branch, Generator.loop, Generator.count_down,
)  # fmt: skip

CONVERSIONS = (
    ("d", Kind(32, True), str), ("u", Kind(32, False), str), ("lld", LONG, str), ("llu", ULONG, str),
    ("hd", Kind(16, True), str), ("hhu", Kind(8, False), str), ("x", Kind(32, False), "{:x}".format),
    ("llx", ULONG, "{:x}".format), ("lX", ULONG, "{:X}".format), ("o", Kind(32, False), "{:o}".format),
)  # fmt: skip
"""Of printf(), each with the type that it shows."""


def padded(text, width, flag):
    if not width:
        return text
    if flag == "-":
        return text.ljust(int(width))
    return text.zfill(int(width)) if flag == "0" else text.rjust(int(width))


class Made(NamedTuple):
    """Programs as one text, the lines that they print, and those of their maps at the end, sorted."""

    text: str
    lines: tuple[str, ...]
    maps: tuple[str, ...]


def made(first, count):
    """The programs of the numbers from `first` on."""
    programs = [Generator(number, f"{number}") for number in range(first, first + count)]
    text = "\n".join([each.probe() for each in programs])
    lines = tuple(line for each in programs for line in each.lines)
    return Made(text, lines, tuple(sorted(line for each in programs for line in each.maps)))


def shown(output):
    """The lines that a run has printed, and those of its maps."""
    printed, _, maps = output.partition("\n\n\n")
    rows = [line for line in maps.splitlines() if line]
    return tuple(printed.splitlines()), tuple(sorted(rows))
