"""Random D programs with branches and loops: their text, and what they do by an interpreter of the same tree."""

from __future__ import annotations

MASK = (1 << 64) - 1
NAMES = ("g0", "g1", "g2", "this->t0", "this->t1", "self->s0")
LIMIT = 40
"""What maxloop is to be set to: no loop that is made needs more, but those made to run into it."""


class BreakError(Exception):
    pass


class ContinueError(Exception):
    pass


class TooLongError(Exception):
    """A loop needs more than LIMIT iterations."""


def signed(value):
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


class Maker:
    """Makes statements as (kind, ...) tuples; loops nest at most twice."""

    def __init__(self, random):
        self.random = random

    def block(self, depth, in_loop, size):
        return [self.statement(depth, in_loop) for _ in range(self.random.randint(1, size))]

    def statement(self, depth, in_loop):
        kinds = ["set", "set", "add", "record", "count", "element", "if", "if", "loop", "while", "call"]
        kinds += ["break", "continue"] * in_loop
        kind = self.random.choice(kinds if depth < 3 else kinds[:6])
        make = getattr(self, f"make_{kind}")
        return make(depth, in_loop)

    def value(self, depth=0):
        if depth > 1 or self.random.random() < 0.4:
            return self.random.choice([*NAMES, self.random.randint(-9, 9), self.random.randint(0, 3)])
        if self.random.random() < 0.1:
            return ("a", self.value(2))
        return (self.random.choice(["+", "-", "*", "&", "|", "^", "<", "==", "?"]), self.value(depth + 1),
                self.value(depth + 1), self.value(depth + 1))  # fmt: skip

    def make_set(self, *_):
        return ("set", self.random.choice(NAMES), self.value())

    def make_add(self, *_):
        return ("add", self.random.choice(NAMES), self.value())

    def make_record(self, *_):
        return ("record", self.value(), self.value())

    def make_count(self, *_):
        return ("count", self.value(), self.value())

    def make_element(self, *_):
        return ("element", self.value(), self.value())

    def make_call(self, *_):
        return ("length", self.random.choice(NAMES), self.value())

    def make_if(self, depth, in_loop):
        return ("if", self.value(), self.block(depth + 1, in_loop, 3),
                self.block(depth + 1, in_loop, 2) if self.random.random() < 0.6 else [])  # fmt: skip

    def make_loop(self, depth, _in_loop):
        if depth > 1:
            return self.make_record()
        return ("loop", f"this->i{depth}", self.random.randint(0, 5), self.block(depth + 1, True, 3))

    def make_while(self, depth, _in_loop):
        if depth > 0:
            return self.make_set()
        return ("while", self.value(), self.block(depth + 2, True, 2))

    def make_break(self, *_):
        return ("break",)

    def make_continue(self, *_):
        return ("continue",)


def expression_text(e):
    if not isinstance(e, tuple):
        return f"({e})" if isinstance(e, int) else e
    if e[0] == "a":
        return f"a[{expression_text(e[1])}]"
    op, x, y, z = e
    if op == "?":
        return f"({expression_text(x)} ? {expression_text(y)} : {expression_text(z)})"
    return f"((long){expression_text(x)} {op} {expression_text(y)})"


def block_text(block):
    return "{ " + " ".join(map(statement_text, block)) + " }"


def statement_text(s):
    e = expression_text
    match s:
        case ("set", name, x):
            return f"{name} = {e(x)};"
        case ("add", name, x):
            return f"{name} += {e(x)};"
        case ("record", x, y):
            return f'printf("%d %d", (long){e(x)}, (long){e(y)});'
        case ("count", x, y):
            return f"@[(long){e(x)}] = sum({e(y)});"
        case ("element", x, y):
            return f"a[{e(x)}] = {e(y)};"
        case ("length", name, x):
            return f'{name} = strlen({e(x)} ? strjoin("abc", "de") : "xy");'
        case ("if", x, then, otherwise):
            return f"if ({e(x)}) {block_text(then)}" + (f" else {block_text(otherwise)}" if otherwise else "")
        case ("loop", name, bound, body):
            return f"for ({name} = 0; {name} < {bound}; {name}++) {block_text(body)}"
        case ("while", x, body):
            return f"while ({e(x)}) {block_text(body)}"
        case (word,):
            return f"{word};"


class Interpreter:
    """Runs statements; `records`, `sums` and `values` are what they leave."""

    def __init__(self):
        self.values = {}
        self.elements = {}
        self.records = []
        self.sums = {}

    def get(self, e):
        if isinstance(e, int):
            return e
        if isinstance(e, str):
            return self.values.get(e, 0)
        if e[0] == "a":
            return self.elements.get(self.get(e[1]), 0)
        op, x, y, z = e
        if op == "?":
            return self.get(y) if self.get(x) else self.get(z)
        a, b = self.get(x), self.get(y)
        return signed({"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b,
                       "<": int(a < b), "==": int(a == b)}[op])  # fmt: skip

    def run(self, block):
        for s in block:
            self.one(s)

    def one(self, s):
        match s:
            case ("set", name, x):
                self.values[name] = self.get(x)
            case ("add", name, x):
                self.values[name] = signed(self.values.get(name, 0) + self.get(x))
            case ("record", x, y):
                self.records.append([self.get(x), self.get(y)])
            case ("count", x, y):
                key = self.get(x)
                self.sums[key] = signed(self.sums.get(key, 0) + self.get(y))
            case ("element", x, y):
                key = self.get(x)
                self.elements[key] = self.get(y)
            case ("length", name, x):
                self.values[name] = 5 if self.get(x) else 2
            case ("if", x, then, otherwise):
                self.run(then if self.get(x) else otherwise)
            case ("loop", name, bound, body):
                self.values[name] = 0
                self.loop(lambda: self.values[name] < bound, body, ("add", name, 1))
            case ("while", x, body):
                self.loop(lambda: self.get(x), body, ("set", "none", 0))
            case ("break",):
                raise BreakError
            case ("continue",):
                raise ContinueError

    def loop(self, test, body, step):
        count = 0
        while test():
            if count == LIMIT:
                raise TooLongError
            count += 1
            try:
                self.run(body)
            except BreakError:
                return
            except ContinueError:
                pass
            self.one(step)
