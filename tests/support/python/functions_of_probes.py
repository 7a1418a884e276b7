"""Functions that mean the same run by Python and called in a probe, with arguments for each.

Arguments come to the probe in variables of the thread, so that nothing is known of them when it is compiled.
"""

import os

import sonde
from sonde import probe, thread

LOW, NAMES = 3, ("read", "write")
MASK = {"bits": 0xFF}["bits"]


def first_of(a, b):
    if a > b:
        return a
    return b


def nested(a, b):
    if a > 0:
        if b > 0:
            return 1
        if b == 0:
            return 2
        a = a + 10
    elif b < -5:
        return 3
    a = a * 2
    if a > 25 and b < 0:
        return a
    return a + b


def summed(a, b):
    total = 0
    for n in range(a, b):
        total += n
    return total


def searched(a, b):
    for n in range(1, 50):
        for m in range(n, 50, 7):
            if n * m == a:
                return n
            if m > b:
                break
    return -1


def counted_down(a, b):
    text = 0
    for n in range(a, 0, -3):
        if n % 2:
            continue
        text = text * 10 + n
    return text + b


def after_loop(a, b):
    n = 0
    for n in range(a):
        if n == b:
            break
    return n


def changed_within(a, b):
    seen = 0
    for n in range(5):
        n = n * 2 + a
        seen += n
    return seen - b


def greatest_common(a, b):
    while b:
        a, b = b, a % b
    return abs(a)


def collatz(a, b):
    steps = 0
    while a != 1 and steps < b:
        a = a // 2 if a % 2 == 0 else 3 * a + 1
        steps += 1
    return steps


def floors(a, b):
    b = b or 7
    return (a // b) * 100 + a % b


def constant_floors(a, b):
    return (a // 7, a % 7, a // 8, a % 8, a // -7, a % -7, b // 1000000007)[2] + a // 7 * 3 + a % 7 + a // -3 + b % 10


def chained(a, b):
    return (0 < a < b < 100) + 2 * (a == b == 5) + 4 * (a < b > 2) + 8 * (not 1 <= a <= 3)


def decided(a, b):
    return (a or b) * 10 + (a and b)


def decided_late(a, b):
    return 1000 * (first_of(a, b) > 3 and nested(a, b) != 2) + (a or nested(a, b) or 5)


def contained(a, b):
    return (a in (1, 5, 9)) + 10 * (b not in (2, 4))


def conditional(a, b):
    return "same" if a == b else "less" if a < b else "more"


def in_turn(a, b):
    c = d = 0 if a else 1
    return c + d + b


def of_tuples(a, b):
    pair = (a + 1, b + 2)
    x, y = pair
    x, y = y, x
    return x * 100 + y + len(pair) + pair[0] - pair[-1]


def bits(a, b):
    return (a & MASK) | (b ^ 0x55) << 3 | (a >> 2) & ~b


def with_defaults(a, b=4, *, c=2):
    return a * 100 + b * 10 + c


def given_by_name(a, b):
    return with_defaults(a) + with_defaults(a, b) + with_defaults(b, c=a)


def walrus(a, b):
    if (n := a + b) > 5:
        return n * 2
    return n


def extremes(a, b):
    return max(a, b, 3) * 1000 + min(a, b) + abs(a - b)


def texts(a, b):
    name = "read" if a > b else "written"
    return f"{name}:{a}/{b}" + "." + str(a) + name[1] + name[1:3] + name[2:]


def lengths(a, b):
    name = "one" if a > b else "three"
    return len(name) + int("12") + int(a) + bool(b) + ("re" in name)


def empty(a, b):
    name = "" if a > b else "x"
    return 1 if name else 2 if not name and b else 3


def constants(a, b):
    if LOW > 5:
        return nothing_of_the_kind(a)  # noqa: F821
    return LOW + os.O_CREAT + len(NAMES) + 2**10 + (7 // 2) + (-7 // 2) + (-7 % 3) + a + b


def compared_texts(a, b):
    name = NAMES[0] if a > b else NAMES[1]
    return (name == "read") + 2 * (name != "write") + 4 * (name < "s") + 8 * (name in NAMES)


def early(a, b):
    result = 0
    while True:
        result += 1
        if result > a:
            return result
        if result > 20:
            break
    result = -result
    return result + b


def changed_operand(a, b):
    c = a
    return c + (c := b) * 10 + c


def changed_by_calls(a, b):
    total = 5
    total += nested(a, b)
    total //= 3
    total -= first_of(a, b) if searched(a, b) > 0 else collatz(abs(a) + 1, 9)
    pair = (total, a)
    total *= 2
    return total * 1000 + pair[0] + of_pair((total, b))


def of_pair(pair):
    first, second = pair
    return first * 3 - second


def skipped(a, b):
    if a:
        pass
    elif b:
        return 4
    else:
        ...
    return a - b


ARGUMENTS = [(0, 0), (1, 2), (5, 5), (12, -7), (-13, 4), (27, 3), (6, 100)]

FUNCTIONS = [
    first_of, nested, summed, searched, counted_down, after_loop, changed_within, greatest_common, collatz, floors,
    constant_floors, chained, decided, decided_late, contained, conditional, of_tuples, bits, given_by_name, walrus,
    extremes, texts, lengths, empty, constants, compared_texts, early, changed_operand, skipped, changed_by_calls,
]  # fmt: skip


def asking(function, first, second):
    """A probe function that prints what a function gives."""

    @probe("BEGIN")
    def asked(p):
        thread.first = first
        thread.second = second
        print(function(thread.first, thread.second))

    return asked


@probe("BEGIN")
def done():
    exit(0)


def given(functions, arguments, engine):
    """What functions give in probes: for each function the results for each of the arguments."""
    probes = [asking(function, *each) for function in functions for each in arguments]
    with sonde.run(*probes, done, engine=engine, options={"strsize": 64}) as run:
        events = [*run]
    assert not [each for each in events if isinstance(each, (sonde.ProbeError, sonde.Loss))]
    found = iter([event[0] for event in events if isinstance(event, sonde.Record)])
    results = {function.__name__: [next(found) for _ in arguments] for function in functions}
    assert next(found, None) is None
    return results


def expected(functions, arguments):
    """The same, run by Python."""
    return {function.__name__: [function(*each) for each in arguments] for function in functions}
