"""Random D programs of string subroutines, aggregating functions and conditions, several a clause."""

FUNCTIONS = (
    "count()", "sum({n})", "avg({n})", "min({n})", "max({n})", "stddev({n})", "quantize({n})",
    "lquantize({n}, 0, 1000, 100)", "lquantize({n}, -50, 50, 5)", "llquantize({n}, 10, 0, 6, 20)",
    "llquantize({n}, 2, 0, 9, 2)",
)  # fmt: skip
NUMBERS = (
    "arg0", "arg1", "arg2", "pid", "tid", "timestamp", "g", "this->n", "self->n", "a[{s}]", "strlen({s})",
    "index({s}, {s})", "rindex({s}, {s})", "({n} + {n})", "({n} * 3)", "({n} > {n} ? {n} : {n})", "({n} == {n})",
    "({n} >> 2)", "({n} & 0xff)", "(int){n}", "({s} == {s})", "({s} < {s} ? 1 : 2)",
)  # fmt: skip
STRINGS = (
    "copyinstr(arg1)", "copyinstr(arg0)", "execname", "probefunc", '"a/b.c"', "h", "this->s", "self->s", "t[{n}]",
    "basename({s})", "dirname({s})", "cleanpath({s})", "strtok({s}, {c})", "strchr({s}, 'a')", "strrchr({s}, '/')",
    "strstr({s}, {c})", "strjoin({s}, {s})", "substr({s}, 1)", "substr({s}, {n}, 5)", "lltostr({n})",
    "({n} > 5 ? {s} : {s})",
)  # fmt: skip
STATEMENTS = (
    "@x{k}[{s}] = {f};", "@x{k}[{s}] = {f};", "@y{k}[{n}, {s}] = {f};", "@z{k} = {f};", "this->n = {n};", "g = {n};",
    "self->n = {n};", "this->s = {s};", "h = {s};", "self->s = {s};", "a[{s}] = {n};", "t[{n}] = {s};", "trace({s});",
    'printf("%s %d %s", {s}, {n}, {s});', "if ({n} > {n}) {{ {b} }} else {{ {b} }}", "if ({s} == {c}) {{ {b} }}",
    "for (this->i = 0; this->i < 3; this->i++) {{ {b} }}", "{b} {b}",
)  # fmt: skip
CONSTANTS = ('"/"', '",;"', '"abc"', '"a-long-constant-of-a-text"')
DECLARED = (
    "long g; string h; this long n; this string s; this int i; self long n; self string s; "
    "long a[string]; string t[long];"
)


class _Maker:
    def __init__(self, random):
        self.random = random
        self.used = 0

    def number(self, depth):
        some = NUMBERS if depth else NUMBERS[:9]
        return self.filled(self.random.choice(some), depth)

    def text(self, depth):
        some = STRINGS if depth else STRINGS[:8]
        return self.filled(self.random.choice(some), depth)

    def block(self, depth):
        return " ".join(self.filled(self.random.choice(STATEMENTS[:14]), depth) for _ in range(2))

    def filled(self, form, depth):
        """The form with everything that it leaves open."""
        parts = {
            "{n}": lambda: self.number(depth - 1 if depth else 0), "{s}": lambda: self.text(depth - 1 if depth else 0),
            "{f}": lambda: self.filled(self.random.choice(FUNCTIONS), depth),
            "{c}": lambda: self.random.choice(CONSTANTS), "{b}": lambda: self.block(depth), "{k}": self.next_name,
        }  # fmt: skip
        for mark, make in parts.items():
            while mark in form:
                form = form.replace(mark, make(), 1)
        return form.replace("{{", "{").replace("}}", "}")

    def next_name(self):
        self.used += 1
        return str(self.used)


def program(random, clauses=3, statements=5):
    """The text of a D program."""
    maker, found = _Maker(random), []
    for _ in range(random.randrange(1, clauses + 1)):
        body = " ".join(
            maker.filled(random.choice(STATEMENTS), random.randrange(3))
            for _ in range(random.randrange(1, statements + 1))
        )
        predicate = f"/{maker.number(1)} > 1/ " if random.random() < 0.4 else ""
        found.append(f"{random.choice(('syscall:::entry', 'syscall:::entry', 'profile-97'))} {predicate}{{ {body} }}")
    return "\n".join((DECLARED, *found))
