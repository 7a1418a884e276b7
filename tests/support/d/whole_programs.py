"""Random whole programs for `d_statements.py`: variables of every scope, strings, arrays, aggregations and branches, in
clauses for the calls of getpgid() that a process of several threads makes."""

from typing import NamedTuple

from support.d import d_aggregating, d_model
from support.d import d_evaluator as d
from support.d import d_statements as statements
from support.d.d_evaluator import STRING, Firing, Node, Variable
from support.d.d_model import INT, LONG, UCHAR, UINT, ULONG, USHORT, Expr
from support.d.d_statements import Clause

ENTRY, RETURN = "syscall::getpgid:entry", "syscall::getpgid:return"
THREADS = ("main", "other")
WORDS = (b"/", b",;", b"a", b"abc", b"/usr/lib/a.so", b"x", b"", b"key=value", b"./a/../b//c")
NO_PROCESS = 3
"""The error of getpgid() for a number that no process has (ESRCH)."""

NUMBERS = (
    Variable("", "gc", d_model.CHAR), Variable("", "gs", USHORT), Variable("", "gi", INT), Variable("", "gu", UINT),
    Variable("", "gl", LONG), Variable("", "gz", ULONG), Variable("self->", "si", INT), Variable("self->", "sl", LONG),
    Variable("self->", "sc", UCHAR), Variable("this->", "ti", INT), Variable("this->", "tl", LONG),
    Variable("this->", "tb", d_model.BOOL), Variable("this->", "ts", d_model.SHORT),
)  # fmt: skip
ELEMENTS = (
    Variable("", "al", LONG, (STRING,)), Variable("", "ai", INT, (LONG, STRING)), Variable("", "ac", UCHAR, (INT,)),
    Variable("self->", "as", USHORT, (INT,)), Variable("", "ap", INT, length=5),
    Variable("this->", "at", LONG, length=3), Variable("self->", "aw", UINT, length=4),
)  # fmt: skip
TEXTS = (Variable("", "gt", STRING), Variable("self->", "st", STRING), Variable("this->", "tt", STRING))
TEXT_ELEMENTS = (Variable("", "at1", STRING, (INT,)), Variable("self->", "at2", STRING, (STRING,)))
TURN = Variable("this->", "turn", INT)
DECLARED = (*NUMBERS, *ELEMENTS, *TEXTS, *TEXT_ELEMENTS, TURN)

ARGUMENTS = tuple(d.integer(f"arg{n}", LONG, lambda state, n=n: state.firing.arguments[n]) for n in range(3))
ERRNO = d.integer("errno", INT, lambda state: state.firing.errno)
OURS = Node("pid == $target", INT, lambda state: 1, Expr("pid == $target", INT, 1))
FUNCTION = Node("probefunc", STRING, lambda state: state.firing.function)
NAME = Node("probename", STRING, lambda state: state.firing.name)
GIVEN = Node("copyinstr(arg3)", STRING, lambda state: state.firing.text)

CASTS = (*d_model.TYPES[:9],)


class Program(NamedTuple):
    text: str
    clauses: list[Clause]
    aggregations: dict[str, tuple[d_aggregating.Function, tuple]]
    """Function and the types of the keys, by name."""
    calls: list[tuple[str, tuple[int, ...], bytes]]
    """Of each call: its thread, its first three arguments, the text that the fourth leads to."""

    def expected(self, strsize):
        return statements.run(self.clauses, list(self._firings()), strsize)

    def _firings(self):
        yield Firing("BEGIN", "sonde", name=b"BEGIN")
        for thread, arguments, text in self.calls:
            yield Firing(ENTRY, thread, arguments, text, b"getpgid", b"entry")
            result = (-NO_PROCESS, -NO_PROCESS, 0)
            yield Firing(RETURN, thread, result, b"", b"getpgid", b"return", NO_PROCESS)
        yield Firing("END", "sonde", name=b"END")


class Maker:
    """Draws a program; where a clause is fired says what it may ask for."""

    def __init__(self, random):
        self.random = random
        self.aggregations = {}
        self.marks = 0
        self.probes = ()
        self.numbers, self.texts = list(NUMBERS), list(TEXTS)
        self.elements, self.text_elements = list(ELEMENTS), list(TEXT_ELEMENTS)

    def number(self, depth):
        random = self.random
        if not depth or random.random() < 0.15:
            return self.operand()
        kind = random.randrange(10)
        if kind <= 4:
            op = random.choice(d_model.OPERATORS)
            a, b = self.number(depth - 1), self.number(depth - 1)
            if op in ("&&", "||", "^^"):
                return d.logic(op, a, b)
            return d.lazy(lambda a, b: d_model.binary(op, a, b), a, b)
        if kind == 5:
            op = random.choice("-~+")
            return d.lazy(lambda a: d_model.unary(op, a), self.number(depth - 1))
        if kind == 6:
            cast = random.choice(CASTS)
            return d.lazy(lambda a: d_model.cast(cast, a), self.number(depth - 1))
        if kind == 7:
            return d.conditional(self.test(depth - 1), self.number(depth - 1), self.number(depth - 1))
        if kind == 8:
            return self.test(depth)
        form, (type_, compute, takes) = random.choice(list(d.NUMBERS_OF_STRINGS.items()))
        return d.number_function(form, type_, compute, *(self.text(depth - 1) for _ in range(takes)))

    def test(self, depth):
        random = self.random
        kind = random.randrange(5) if depth else 0
        if kind == 0:
            op = random.choice(d.ORDER)
            return d.lazy(lambda a, b: d_model.binary(op, a, b), self.changing(), self.number(0))
        if kind == 1:
            return d.compared(random.choice(d.ORDER), self.text(depth - 1), self.text(depth - 1))
        if kind == 2:
            return d.negated(self.changing())
        if kind == 3:
            return d.compared(random.choice(("==", "!=")), self.text(depth - 1), d.NULL)
        a, b = self.number(depth - 1), self.number(depth - 1)
        return d.logic(random.choice(("&&", "||", "^^")), a, b)

    def changing(self):
        """A number that is no constant."""
        kind = self.random.randrange(4)
        if kind == 0 and self.probes and self.probes[0].startswith("syscall"):
            return self.random.choice((*ARGUMENTS, ERRNO) if RETURN in self.probes else ARGUMENTS)
        if kind == 1:
            return self.element(self.elements).read(*self.subscripts)
        return self.random.choice(self.numbers).read()

    def operand(self):
        if self.random.random() < 0.3:
            kind = self.random.choice(CASTS[:8])
            return d.constant(kind, self.random.choice((*d_model.EDGES, *range(-9, 30))))
        return self.changing()

    def element(self, some):
        """A variable of these; `subscripts` are then for one of its elements."""
        variable = self.random.choice(some)
        if variable.length:
            self.subscripts = (self.index(variable.length),)
        else:
            self.subscripts = tuple(
                self.text(0) if key == STRING else self.random.choice((self.small, self.changing))()
                for key in variable.keys
            )
        return variable

    def index(self, length):
        """A constant that is inside, or a number that mostly is."""
        if self.random.random() < 0.6:
            return d.constant(INT, self.random.randrange(length))
        most = d.constant(INT, length - 1 if self.random.random() < 0.9 else length)
        masked = self.masked(self.random.choice(self.numbers).read(), 255)
        return d.lazy(lambda a, b: d_model.binary("%", a, b), masked, d.lazy(lambda a: d_model.unary("+", a), most))

    def small(self):
        return d.constant(INT, self.random.randrange(4))

    def text(self, depth):
        random = self.random
        if not depth or random.random() < 0.3:
            return self.plain_text()
        kind = random.randrange(7)
        if kind <= 1:
            form, compute = random.choice(list(d.UNARY_STRINGS.items()))
            return d.text_function(form, compute, self.text(depth - 1))
        if kind <= 3:
            form, compute = random.choice(list(d.BINARY_STRINGS.items()))
            return d.text_function(form, compute, self.text(depth - 1), self.text(depth - 1))
        if kind == 6:
            source = d.NULL if random.random() < 0.6 else self.text(depth - 1)
            return d.strtok(source, d.text_constant(random.choice((b"/", b"./", b",;=", b"a"))))
        if kind == 4:
            return d.lltostr(self.number(depth - 1))
        return d.conditional(self.test(depth - 1), self.text(depth - 1), self.text(depth - 1))

    def plain_text(self):
        kind = self.random.randrange(6)
        if kind == 0:
            return self.element(self.text_elements).read(*self.subscripts) if self.random.random() < 0.5 else NAME
        if kind == 1:
            return GIVEN if self.probes == (ENTRY,) else FUNCTION
        if kind <= 3:
            return self.random.choice(self.texts).read()
        return d.text_constant(self.random.choice(WORDS))

    def statement(self, depth):
        simple = (
            self.number_assigned, self.number_assigned, self.element_assigned, self.text_assigned,
            self.text_element_assigned, self.compound, self.stepped, self.printed, self.aggregation, self.aggregation,
            self.made,
        )  # fmt: skip
        nested = (self.branch, self.branch, self.loop) if depth else ()
        chosen = self.random.choice((*simple, *nested))
        return chosen(depth - 1) if chosen in nested else chosen()

    def number_assigned(self):
        return statements.assigned(self.random.choice(self.numbers), (), self.number(2))

    def element_assigned(self):
        return statements.assigned(self.element(self.elements), self.subscripts, self.number(1))

    def text_assigned(self):
        return statements.assigned(self.random.choice(self.texts), (), self.text(2))

    def text_element_assigned(self):
        return statements.assigned(self.element(self.text_elements), self.subscripts, self.text(1))

    def compound(self):
        op = self.random.choice(d_model.COMPOUND)
        return statements.compound(self.random.choice(self.numbers), (), op, self.number(1))

    def stepped(self):
        variable = self.element((*self.elements, *self.numbers))
        subscripts = self.subscripts if variable in self.elements else ()
        return statements.stepped(variable, subscripts, self.random.choice("+-"), self.random.random() < 0.5)

    def printed(self):
        self.marks += 1
        nodes = [self.random.choice((self.number, self.text))(2) for _ in range(self.random.randrange(1, 4))]
        return statements.printed(f"p{self.marks}", nodes)

    def branch(self, depth):
        test = self.test(2)
        yes = [self.statement(depth) for _ in range(self.random.randrange(1, 3))]
        no = [self.statement(depth) for _ in range(self.random.randrange(3))]
        return statements.branch(test, yes, no)

    def loop(self, _):
        body = [self.statement(0) for _ in range(self.random.randrange(1, 3))]
        return statements.loop(TURN, self.random.randrange(4), body)

    def made(self):
        """The first assignment to a variable that is not declared, which gives it its type, or to an element."""
        self.marks += 1
        scope, name = self.random.choice(("", "self->", "this->")), f"u{self.marks}"
        is_text, keys = self.random.random() < 0.3, ()
        if scope != "this->" and self.random.random() < 0.4:
            keys = tuple(self.random.choice((self.number, self.text))(1) for _ in range(self.random.randrange(1, 3)))
        value = self.text(2) if is_text else self.number(2)
        variable = Variable(scope, name, value.type, tuple(key.type for key in keys))
        known = (self.text_elements if is_text else self.elements) if keys else self.texts if is_text else self.numbers
        known.append(variable)
        return statements.assigned(variable, keys, value)

    def aggregation(self):
        random = self.random
        if self.aggregations and random.random() < 0.3:
            name = random.choice(list(self.aggregations))
        else:
            name = f"a{len(self.aggregations)}"
            kinds = tuple(random.choice((STRING, LONG, INT, UINT)) for _ in range(random.randrange(4)))
            self.aggregations[name] = (random.choice(d_aggregating.FUNCTIONS), kinds)
        function, kinds = self.aggregations[name]
        keys = [self.text(1) if kind == STRING else self.cast(kind, self.number(1)) for kind in kinds]
        return statements.aggregated(name, keys, function, [self.taken(function) for _ in range(function.takes)])

    def taken(self, function):
        """A value for the function; where a sum of squares or of weights must fit, a small one."""
        number = self.number(2)
        if function.name == "llquantize":
            return self.masked(number, 0x1FFFFF)
        if function.name in ("avg", "stddev", "lquantize"):
            thousand = d.constant(LONG, 1009)
            return d.lazy(lambda a, b: d_model.binary("%", a, b), self.cast(LONG, number), thousand)
        return number

    def masked(self, number, mask):
        return d.lazy(lambda a, b: d_model.binary("&", a, b), number, d.constant(LONG, mask))

    def cast(self, kind, node):
        return d.lazy(lambda a: d_model.cast(kind, a), node)

    def clause(self):
        random = self.random
        self.probes = random.choice(
            (("BEGIN",), (ENTRY,), (ENTRY,), (ENTRY,), (RETURN,), (RETURN,), (ENTRY, RETURN), ("END",))
        )
        predicate = self.test(2) if random.random() < 0.5 else None
        if self.probes[0].startswith("syscall"):
            predicate = d.logic("&&", OURS, predicate) if predicate else OURS
        return Clause(self.probes, predicate, [self.statement(2) for _ in range(random.randrange(1, 6))])


def program(random):
    maker = Maker(random)
    clauses = [maker.clause() for _ in range(random.randrange(1, 6))]
    declared = "\n".join(variable.declaration for variable in DECLARED)
    shown = "\n".join(_shown(name, *what) for name, what in maker.aggregations.items())
    text = "\n".join(
        (declared, *(clause.text for clause in clauses), f"ERROR {{ @faults = count(); }}\nEND {{ {shown} }}")
    )
    text += '\nEND { printa("faults %@d\\n", @faults); }'
    return Program(text, clauses, maker.aggregations, [_call(random) for _ in range(random.randrange(1, 7))])


def _shown(name, function, kinds):
    form = "".join("<%s>" if kind == STRING else "<%d>" for kind in kinds)
    return f'printa("{name} {form} %@d\\n", @{name});'


def _call(random):
    """The number of the process has its highest bit set: there is none."""
    first = random.choice(d_model.EDGES) & ~0xFFFFFFFF | random.randrange(1 << 31, 1 << 32)
    others = (random.choice(d_model.EDGES), random.randrange(-20, 1000))
    return random.choice(THREADS), tuple(LONG.keep(n) for n in (first, *others)), random.choice(WORDS)
