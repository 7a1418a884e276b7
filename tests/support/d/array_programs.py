"""Random D programs that index arrays by constants of every sort, and what they must print.

An index of a given value is a number in the text, a name for one, or what becomes a constant only later: while code is
generated (`strlen("abc")`), when its values are numbered (a variable that is set once), or not at all. One within the
array is read or written; any other is a fault of its clause, and nothing beside the array changes.
"""

from typing import NamedTuple

DECLARED = """
struct row { int before; int items[4]; int after; };
int g_before, global[5], g_after; struct row whole; struct row element[int]; int table[3][4], t_after;
self int s_before; self int own[5]; self int s_after;
this int c_before; this int local[5]; this int c_after; this long once;
string text; long zero;
"""


class Target(NamedTuple):
    """An array by its name in the model: the text with its index left open, its length, and whether it is written.

    A string's length is its room: whole words for strsize characters, here 256, and a NUL."""

    name: str
    text: str
    length: int
    is_written: bool = True


TARGETS = (
    Target("global", "global[{}]", 5),
    Target("whole", "whole.items[{}]", 4),
    Target("element", "element[7].items[{}]", 4),
    Target("inner", "table[1][{}]", 4),
    Target("outer", "table[{}][2]", 3),
    Target("own", "self->own[{}]", 5),
    Target("local", "this->local[{}]", 5),
    Target("scratch", "this->scratch[{}]", 8),
    Target("text", "text[{}]", 264, False),
    Target("constant", '"abc"[{}]', 8, False),
)
NEIGHBOURS = (
    "g_before", "g_after", "whole.before", "whole.after", "element[7].before", "element[7].after", "self->s_before",
    "self->s_after", "this->c_before", "this->c_after", "table[0][3]", "table[2][0]", "t_after", "text[0]",
)  # fmt: skip
"""What no access may change; all are 'x' (120)."""

MARK = 120


def _literal(number):
    return str(number) if number >= 0 else f"({number})"


def early(random, number):
    """An index that the checker folds."""
    forms = (
        f"{_literal(number)}", f"({_literal(number + 3)} - 3)", f"(1 ? {_literal(number)} : 0)",
        f"((int)sizeof (long) + {_literal(number - 8)})", f"((int)(({number}LL << 2) >> 2))",
    )  # fmt: skip
    return random.choice(forms)


def late(random, number):
    """(statement before, index) that is folded when code is generated or later, or is computed."""
    some = "s" * random.randrange(1, 9)
    distance = number - len(some)
    forms = [
        ("", f'((long)strlen("{some}") + {_literal(distance)})'),
        ("", f'(strlen("{some}") == {len(some)} ? {_literal(number)} : 0)'),
        ("", f'(zero * strlen("{some}") + {_literal(number)})'),
        (f"this->once = {_literal(number)};", "this->once"),
        (f"this->once = {_literal(number + 5)};", "(this->once - 5)"),
        (f'this->once = (long)strlen("{some}") + {_literal(distance)};', "this->once"),
        ("", f"(zero + {_literal(number)})"),
    ]
    if number >= 0:
        forms.append(("", f'strlen("{"s" * number}")' if number < 200 else f"(strlen(text) + {number - 1})"))
        if number % 2 == 0:
            forms.append(("", f'(strlen("{"s" * (number // 2 % 100)}") << 1) + {number - number // 2 % 100 * 2}'))
    return random.choice(forms)


class Model:
    """What the arrays hold."""

    def __init__(self):
        self.items = {t.name: dict.fromkeys(range(t.length), 0) for t in TARGETS}
        self.items["text"][0], self.items["outer"][0] = MARK, 0
        self.items["constant"].update(enumerate(b"abc"))

    def same(self, target, index):
        """The model's name and index of an element that two targets share."""
        return ("inner", 2) if (target.name, index) == ("outer", 1) else (target.name, index)

    def get(self, target, index):
        name, place = self.same(target, index)
        return self.items[name][place]

    def set(self, target, index, value):
        name, place = self.same(target, index)
        self.items[name][place] = value


SETUP = (
    "BEGIN { "
    + " ".join(f"{n} = {MARK};" for n in NEIGHBOURS if n != "text[0]")
    + ' text = "x"; element[7].items[0] = 0; self->own[0] = 0; }'
)


def program(random, clauses):
    """(text, the lines it prints, the index of each fault in order)."""
    model, body, lines, faults = Model(), [], [], []
    for number in range(clauses):
        target = random.choice(TARGETS)
        length = target.length
        outside = random.choice((-1, -2, length, length + 1, length + 2, 2 * length, 300, 1 << 20, -(1 << 33)))
        index = random.choice((random.randrange(length), outside))
        if 0 <= index < length and random.random() < 0.3:
            before, where = "", early(random, index)
        else:
            before, where = late(random, index)
        if target.name == "scratch":
            # Each clause has a pointer of its own: what a pointer brings from an earlier clause would be within reach.
            before += f" this->scratch{number} = (char *)alloca(8);"
            model.items["scratch"] = dict.fromkeys(range(length), 0)
        place = target.text.format(where).replace("->scratch", f"->scratch{number}")
        inside = 0 <= index < length
        kind = random.choice(("=", "+=", "++")) if target.is_written and random.random() < 0.6 else "read"
        if kind == "read":
            action = f'printf("{number} %d\\n", {place});'
            value = model.get(target, index) if inside else 0
        else:
            old = model.get(target, index) if inside else 0
            value = {"=": number % 100, "+=": old + 3, "++": old + 1}[kind]
            change = {"=": f"{place} = {number % 100};", "+=": f"{place} += 3;", "++": f"{place}++;"}[kind]
            action = f'{change} printf("{number}\\n");'
        body.append(f"BEGIN {{ {before} {action} }}")
        if not inside:
            faults.append((target.name, index))
            continue
        if kind != "read":
            model.set(target, index, value)
        lines.append(f"{number} {value}" if kind == "read" else f"{number}")
    shown = list(NEIGHBOURS)
    values = [MARK] * len(NEIGHBOURS)
    for target in TARGETS:
        if target.is_written and target.name != "scratch":
            shown += [target.text.format(n) for n in range(target.length)]
            values += [model.get(target, n) for n in range(target.length)]
    ends = [f'BEGIN {{ printf("%d\\n", {each}); }}' for each in shown]
    lines += [str(value) for value in values]
    return "\n".join((DECLARED, SETUP, *body, *ends, "BEGIN { exit(0); }")), lines, faults
