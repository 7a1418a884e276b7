"""Expressions and variables of D in Python, from docs/reference.md: every node has its text and its meaning.

Integers are those of `d_model.py`. A string is bytes without NUL, NULL is None. What has been recorded, aggregated
and left in variables after given firings is for a tracer to show.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from support.d import d_model, string_model
from support.d.d_model import INT, LONG, ULONG, Expr

STRING = "string"


class FaultError(Exception):
    """A clause ends here."""


class Firing(NamedTuple):
    probe: str
    thread: str
    arguments: tuple[int, ...] = (0, 0, 0)
    text: bytes = b""
    """What copyinstr(arg3) gives."""
    function: bytes = b""
    name: bytes = b""
    errno: int = 0


class State:
    """What a program has made so far; `firing` is the one that it is in, `rest` where its strtok(NULL, ...) goes on."""

    def __init__(self, strsize):
        self.strsize = strsize
        self.globals, self.threads, self.locals = {}, {}, {}
        self.aggregations = {}
        self.lines, self.pending = [], []
        self.faults = 0
        self.rest = None
        self.firing = None

    def place(self, scope):
        if scope == "self->":
            return self.threads.setdefault(self.firing.thread, {})
        return self.locals if scope == "this->" else self.globals

    def flush(self):
        """What has been recorded stays."""
        self.lines += self.pending
        self.pending = []


class Node(NamedTuple):
    """An expression: `run` gives its value in a State; `model` is what d_model knows of it, None of strings."""

    text: str
    type: Any
    run: Callable[[State], Any]
    model: Expr | None = None


def lazy(combine, *parts):
    """What d_model's function makes of these, computed when the program runs."""
    static = combine(*(part.model for part in parts))

    def run(state):
        return combine(*(part.model._replace(value=part.run(state)) for part in parts)).value

    return Node(static.text, static.type, run, static)


def constant(kind, value):
    model = d_model.constant(kind, value)
    return Node(model.text, kind, lambda state: model.value, model)


def integer(text, kind, run):
    """A number that is known only when the program runs."""
    return Node(text, kind, lambda state: kind.keep(run(state)), Expr(text, kind, 1))


def needed(value):
    """The characters of a string, which NULL has none of."""
    if value is None:
        raise FaultError
    return value


def is_true(node, state):
    return node.run(state) != 0


def logic(op, a, b):
    def run(state):
        left = is_true(a, state)
        if op == "^^":
            return int(left != is_true(b, state))
        return int(left and is_true(b, state) if op == "&&" else left or is_true(b, state))

    return integer(f"({a.text} {op} {b.text})", INT, run)


def negated(a):
    return integer(f"(!{a.text})", INT, lambda state: not is_true(a, state))


def conditional(test, a, b):
    text = f"({test.text} ? {a.text} : {b.text})"
    if a.type == STRING:
        return Node(text, STRING, lambda state: (a if is_true(test, state) else b).run(state))
    kind = d_model.common(a.type, b.type)
    return Node(text, kind, lambda state: kind.word((a if is_true(test, state) else b).run(state)), Expr(text, kind, 1))


_ORDER = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
ORDER = tuple(_ORDER)


def compared(op, a, b):
    """Strings by their bytes; NULL is less than all others."""

    def run(state):
        return _ORDER[op](*(b"" if v is None else b"\1" + v for v in (a.run(state), b.run(state))))

    return integer(f"({a.text} {op} {b.text})", INT, run)


# Strings


def text_constant(value):
    return Node('"' + value.decode() + '"', STRING, lambda state: value)


def text_function(form, compute, *parts):
    """A string that a subroutine makes; NULL among what it is given is a fault."""

    def run(state):
        given = [part.run(state) if part.type != STRING else needed(part.run(state)) for part in parts]
        made = compute(*given)
        return made if made is None else made[: state.strsize]

    return Node(form.format(*(part.text for part in parts)), STRING, run)


def number_function(form, kind, compute, *parts):
    def run(state):
        return compute(*(part.run(state) if part.type != STRING else needed(part.run(state)) for part in parts))

    return integer(form.format(*(part.text for part in parts)), kind, run)


UNARY_STRINGS = {
    "basename({})": string_model.basename, "dirname({})": string_model.dirname,
    "cleanpath({})": string_model.cleanpath, "strchr({}, 'a')": lambda s: string_model.strchr(s, 97),
    "strrchr({}, '/')": lambda s: string_model.strrchr(s, 47), "substr({}, 1)": lambda s: string_model.substr(s, 1),
    "substr({}, -3, 2)": lambda s: string_model.substr(s, -3, 2),
    "substr({}, 2, 4)": lambda s: string_model.substr(s, 2, 4),
}  # fmt: skip
BINARY_STRINGS = {"strjoin({}, {})": lambda a, b: a + b, "strstr({}, {})": string_model.strstr}
NUMBERS_OF_STRINGS = {
    "strlen({})": (ULONG, len, 1),
    "index({}, {})": (INT, string_model.index, 2),
    "rindex({}, {})": (INT, string_model.rindex, 2),
}


def strtok(text, delimiters):
    """The next token of the text, or of what the last call in the firing has left if that is written as NULL."""

    def run(state):
        given = needed(state.rest if text is NULL else text.run(state))
        found = needed(delimiters.run(state))
        before = given.lstrip(found)
        token = next((before[:end] for end, c in enumerate(before) if c in found), before)
        state.rest = before[len(token) :]
        return token or None

    return Node(f"strtok({text.text}, {delimiters.text})", STRING, run)


NULL = Node("NULL", STRING, lambda state: None)


def lltostr(node):
    return text_function("lltostr({})", lambda n: str(LONG.keep(n)).encode(), node)


# Variables


class Variable(NamedTuple):
    """`keys` are the types of an associative array's keys; `length` is that of an array."""

    scope: str
    name: str
    type: Any
    keys: tuple[Any, ...] = ()
    length: int = 0

    @property
    def declaration(self):
        kind = self.type if self.type == STRING else self.type.name
        brackets = f"[{', '.join(k if k == STRING else k.name for k in self.keys)}]" if self.keys else ""
        brackets = f"[{self.length}]" if self.length else brackets
        return f"{self.scope.replace('->', ' ')}{kind} {self.name}{brackets};"

    def key(self, subscripts, state):
        """Which element these are; an array has only so many."""
        if self.length:
            index = subscripts[0].run(state)
            if not 0 <= index < self.length:
                raise FaultError
            return (self.scope, self.name, index)
        return (
            self.scope,
            self.name,
            *(kept_key(k, node, state) for k, node in zip(self.keys, subscripts, strict=True)),
        )

    def unset(self):
        if self.type != STRING:
            return 0
        return None if self.scope == "self->" or self.keys else b""

    def text(self, subscripts):
        inner = ", ".join(node.text for node in subscripts)
        return f"{self.scope}{self.name}{f'[{inner}]' if subscripts else ''}"

    def read(self, *subscripts):
        """The node of the variable or its element."""

        def run(state):
            key = self.key(subscripts, state)
            return state.place(self.scope).get(key, self.unset())

        text = self.text(subscripts)
        model = None if self.type == STRING else Expr(text, self.type, 1)
        return Node(text, self.type, run, model)


def kept_key(kind, node, state):
    return needed(node.run(state)) if kind == STRING else kind.keep(node.run(state))
