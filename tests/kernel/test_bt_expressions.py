"""Expressions of integers in both languages: what bpftrace's language leaves to its rules is written out in D, as C
has it, and all come to the same on both engines, and to what Python computes."""

import random

import pytest
from support.bpftrace.bt_programs import EDGES, KINDS, SIZES, Kind, common, divided
from support.command.command import sonde

COUNT = 60
"""Expressions of a run."""


class Written:
    """An expression: in bpftrace's language, in D, its type and its value."""

    def __init__(self, bt, d, kind, value):
        self.bt, self.d, self.kind, self.value = bt, d, kind, value

    def as_(self, kind):
        """In D, converted to a type."""
        return f"({kind}_t)({self.d})"


def operand(numbers, draw):
    """A literal or a variable; one in five is a variable that only a literal was assigned to."""
    choice = draw.random()
    value = draw.choice([edge for edge in EDGES if edge < 2**63])
    if choice < 0.3:
        bits = next(bits for bits in SIZES if value < 1 << (bits - 1))
        return Written(str(value), f"{value}ull", Kind(bits, True, True), value)
    number = len(numbers)
    if choice < 0.5:
        bits = next(bits for bits in SIZES if value < 1 << (bits - 1))
        kind, text = Kind(bits, True, True), str(value)
    else:
        kind = draw.choice(KINDS)
        value = kind.wrap(value)
        text = f"({kind}){value}"
    numbers.append((f"$v{number} = {text};", f"this->v{number} = ({kind}_t){value}{'' if value < 0 else 'ull'};"))
    return Written(f"$v{number}", f"this->v{number}", kind, value)


def expression(numbers, draw, depth=0):
    if depth > 2 or draw.random() < 0.15:
        return operand(numbers, draw)
    of = expression(numbers, draw, depth + 1)
    choice = draw.random()
    if choice < 0.15:
        kind = draw.choice(KINDS)
        return Written(f"({kind})({of.bt})", of.as_(kind), kind, kind.wrap(of.value))
    # What is made of literals alone is exact, which C does not have: one operand is none.
    number = len(numbers)
    kind = draw.choice(KINDS)
    value = kind.wrap(draw.choice(EDGES))
    numbers.append(
        (f"$v{number} = ({kind}){value};", f"this->v{number} = ({kind}_t){value}{'' if value < 0 else 'ull'};")
    )
    other = Written(f"$v{number}", f"this->v{number}", kind, value)
    left, right = (of, other) if draw.random() < 0.5 else (other, of)
    op = draw.choice(("+", "-", "*", "&", "|", "^", "/", "%", "<", "<=", "==", "!=", ">", ">="))
    kind = common(op, left.kind, right.kind)
    if op in ("<", "<=", "==", "!=", ">", ">="):
        kind = common("", left.kind, right.kind)
    one, two = kind.wrap(left.value), kind.wrap(right.value)
    bt, d = f"({left.bt} {op} {right.bt})", f"({left.as_(kind)} {op} {right.as_(kind)})"
    if op in ("/", "%"):
        if not two or (kind.signed and (one < 0 or two < 0)):
            return of
        return Written(bt, d, kind, kind.wrap(divided(op, one, two)))
    if op in ("<", "<=", "==", "!=", ">", ">="):
        value = {"<": one < two, "<=": one <= two, "==": one == two, "!=": one != two, ">": one > two,
                 ">=": one >= two}[op]  # fmt: skip
        # A truth value is none of 64 bits.
        return Written(f"(int32)({bt})", f"(int32_t)({d})", Kind(32, True), int(value))
    value = {"+": one + two, "-": one - two, "*": one * two, "&": one & two, "|": one | two, "^": one ^ two}[op]
    return Written(bt, d, kind, kind.wrap(value))


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_expressions_come_to_the_same_in_both_languages(engine, seed):
    draw, bt, d, wanted = random.Random(f"expressions {seed}"), [], [], []
    for _ in range(COUNT):
        numbers = []
        made = expression(numbers, draw)
        wanted.append(str(made.value))
        conversion = "%lld" if made.kind.signed else "%llu"
        before = [" ".join(part) for part in zip(*numbers, strict=True)] or ["", ""]
        bt.append(f'begin {{ {before[0]} printf("{conversion}\\n", {made.bt}); }}')
        d.append(
            f'BEGIN {{ {before[1]} printf("{conversion}\\n", {made.as_("int64" if made.kind.signed else "uint64")}); }}'
        )
        d[-1] = d[-1].replace("this->v", f"this->v{len(d)}_")
    in_bt = sonde("bt", "-q", "--engine", engine, "-e", "\n".join(bt), "-c", "true").stdout.splitlines()
    in_d = sonde("--engine", engine, "-qn", "\n".join([*d, "BEGIN { exit(0); }"]), "-c", "true").stdout.splitlines()
    assert in_bt[: len(wanted)] == wanted
    assert in_d[: len(wanted)] == wanted
