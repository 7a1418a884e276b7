"""Integer expressions of D, on both engines, against the model of D's integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command.command import sonde
from support.d.d_model import COMPOUND, FIELDS, LONG, binary, cast, expressions, reduced, types, variables
from support.d.d_run import Run
from support.suite.example_counts import long_run

pytestmark = pytest.mark.examples

relaxed = long_run(20)


def run(text, given_variables):
    """The globals after BEGIN ran with these values in them.

    The kernel refuses a thread its storage while that of another one on the same CPU is being changed; that is counted,
    and then the program runs once more.
    """
    while (result := run_once(text, given_variables)) is None:
        continue
    return result


def run_once(text, given_variables):
    with Run(text) as program:
        ((key, data),) = program.tracing.read_map("globals")
        data = bytearray(data)
        places = {v.name: where for v, where in program.compilation.shared.variables.items()}
        for v in given_variables.all:
            _, offset = places[v.text]
            data[offset : offset + v.type.size] = v.value.to_bytes(v.type.size, "little", signed=v.type.signed)
        program.tracing.write_map("globals", key, bytes(data))
        program.begin()
        assert program.faults() == []
        return None if "variables" in program.lost() else program.globals()


@relaxed
@given(st.data())
def test_expressions_give_what_the_model_gives(data):
    """Operators, conversions, casts and ?: on operands of all integer types."""
    known = data.draw(variables)
    wanted = [data.draw(expressions(known)) for _ in range(12)]
    declared = " ".join(f"long r{n};" for n in range(len(wanted)))
    body = " ".join(f"r{n} = {e.text};" for n, e in enumerate(wanted))
    got = run(f"{known.declarations} {declared} BEGIN {{ {known.setup} {body} }}", known)
    for number, e in enumerate(wanted):
        assert got[f"r{number}"] == LONG.keep(e.value), e.text


@relaxed
@given(st.data())
def test_conditions_go_where_the_model_goes(data):
    """The same expressions as predicates: a clause runs if the value is not 0."""
    known = data.draw(variables)
    wanted = [data.draw(expressions(known)) for _ in range(8)]
    declared = " ".join(f"int r{n};" for n in range(len(wanted)))
    clauses = " ".join(f"BEGIN /{e.text}/ {{ r{n} = 1; }}" for n, e in enumerate(wanted))
    got = run(f"{known.declarations} {declared} BEGIN {{ {known.setup} }} {clauses}", known)
    for number, e in enumerate(wanted):
        assert got[f"r{number}"] == int(e.value != 0), e.text


SCOPES = ("", "self->", "this->")


@relaxed
@given(st.data())
def test_compound_assignments_keep_what_the_variable_holds(data):
    """`x op= e` for x of every type and scope, and the value of the assignment itself."""
    known = data.draw(variables)
    body, declared, wanted = [], [], {}
    for number in range(10):
        kind, op = data.draw(types), data.draw(st.sampled_from(COMPOUND))
        start, operand = data.draw(st.sampled_from(known.all)), data.draw(expressions(known, 1))
        scope = data.draw(st.sampled_from(SCOPES))
        name = f"x{number}"
        declared.append(f"{scope}{kind.name} {name};" if scope else f"{kind.name} {name};")
        declared.append(f"long r{number}; long s{number};")
        before = cast(kind, start)._replace(text=f"{scope}{name}")
        after = cast(kind, binary(op, before, operand)).value
        operand_text = binary(op, before, operand).text[1:-1].removeprefix(f"{before.text} {op} ")
        body.append(f"{scope}{name} = {start.text}; r{number} = ({scope}{name} {op}= {operand_text});")
        body.append(f"s{number} = {scope}{name};")
        wanted[f"r{number}"] = wanted[f"s{number}"] = LONG.keep(after)
    got = run(f"{known.declarations} {' '.join(declared).replace('self->', 'self ').replace('this->', 'this ')} "
              f"BEGIN {{ {known.setup} {' '.join(body)} }}", known)  # fmt: skip
    assert {name: got[name] for name in wanted} == wanted, body


@relaxed
@given(st.data())
def test_bit_fields_take_what_fits(data):
    """Assignments, compound assignments, ++ and -- on bit-fields; their neighbours stay as they are."""
    known = data.draw(variables)
    members = " ".join(f"{kind.name} m{n} : {kind.bits};" for n, kind in enumerate(FIELDS))
    body, declared, wanted = [known.setup], [], {}
    for number, kind in enumerate(FIELDS):
        op, operand = data.draw(st.sampled_from(("=", "++", "--", *COMPOUND))), data.draw(expressions(known, 1))
        before = cast(kind, data.draw(st.sampled_from(known.all)))._replace(text=f"g.m{number}")
        body.append(f"{before.text} = {before.value};")
        if op in COMPOUND:
            result = binary(op, before, operand)
            rest = result.text[1:-1].removeprefix(f"{before.text} {op} ")
            body.append(f"r{number} = ({before.text} {op}= {rest});")
            after = kind.keep(result.value)
        elif op == "=":
            body.append(f"r{number} = ({before.text} = {operand.text});")
            after = kind.keep(operand.value)
        else:
            body.append(f"r{number} = {op}{before.text};")
            after = kind.keep(before.value + (1 if op == "++" else -1))
        declared.append(f"long r{number}; long s{number};")
        wanted[f"r{number}"] = wanted[f"s{number}"] = LONG.keep(after)
    body += [f"s{number} = g.m{number};" for number in range(len(FIELDS))]
    got = run(f"{known.declarations} struct g {{ {members} }}; struct g g; {' '.join(declared)} "
              f"BEGIN {{ {' '.join(body)} }}", known)  # fmt: skip
    assert {name: got[name] for name in wanted} == wanted, body


@relaxed
@given(st.data())
def test_increments_wrap_in_the_variables_type(data):
    """++ and --, before and behind, on variables of every type and scope."""
    known = data.draw(variables)
    body, declared, wanted = [], [], {}
    for number in range(12):
        kind, scope = data.draw(types), data.draw(st.sampled_from(SCOPES))
        start = data.draw(st.sampled_from(known.all))
        step, prefix = data.draw(st.sampled_from((1, -1))), data.draw(st.booleans())
        sign = "++" if step > 0 else "--"
        name = f"{scope}x{number}"
        declared.append(f"{scope.replace('->', ' ')}{kind.name} x{number}; long r{number}; long s{number};")
        body.append(f"{name} = {start.text}; r{number} = {sign + name if prefix else name + sign}; s{number} = {name};")
        old = kind.keep(start.value)
        new = kind.keep(old + step)
        wanted[f"r{number}"] = LONG.keep(new if prefix else old)
        wanted[f"s{number}"] = LONG.keep(new)
    got = run(f"{known.declarations} {' '.join(declared)} BEGIN {{ {' '.join(body)} }}", known)
    assert {name: got[name] for name in wanted} == wanted, body


def test_the_least_number_divided_by_minus_one():
    """Of `int` it is a number of 64 bits, of `long` itself."""
    body = "a = m / n; b = (m / n) > 0; c = m % n; d = k / n; i = m / n;"
    with Run(f"int m; int n; long k; long a; long b; long c; long d; int i; "
             f"BEGIN {{ n = -1; m = -2147483647 + n; k = 1L << 63; {body} }}") as program:  # fmt: skip
        got = program.begin().globals()
    assert (got["a"], got["b"], got["c"], got["d"], got["i"]) == (1 << 31, 1, 0, -(1 << 63), -(1 << 31))


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@long_run(8)
@given(data=st.data())
def test_both_engines_give_and_keep_what_the_model_does(engine, data):
    """What is computed, and what is left of it in a record, a key and a variable."""
    known = data.draw(variables)
    wanted = [data.draw(expressions(known)) for _ in range(12)]
    values = " ".join(f"{v.text} = (({v.type.name}){v.value & (1 << 64) - 1:#x}UL);" for v in known.all)
    body = " ".join(
        f'printf("%d %d %d\\n", (long)({e.text}), {e.text}, x{n} = {e.text});' for n, e in enumerate(wanted)
    )
    declared = " ".join(f"{e.type.name} x{n};" for n, e in enumerate(wanted))
    sums = " ".join(f"@s{n}[{e.text}] = sum({e.text});" for n, e in enumerate(wanted))
    program = f"{known.declarations} {declared} BEGIN {{ {values} {known.setup} {body} {sums} exit(0); }}"
    lines = sonde("--engine", engine, "-qn", program).stdout.split("\n")
    shown = [[int(word) for word in line.split()] for line in lines[: len(wanted)]]
    assert shown == [[LONG.keep(e.value), e.type.keep(e.value), e.type.keep(e.value)] for e in wanted], program
    rows = [[int(word) for word in line.split()] for line in lines[len(wanted) :] if line.strip()]
    assert rows == [[key_of(e), LONG.keep(e.value)] for e in wanted], program


def key_of(e):
    """As dtrace shows a key: of two bytes and less without a sign, else with one."""
    return reduced(e.type.keep(e.value), 8 * e.type.size, e.type.size >= 4)


@pytest.mark.parametrize(
    ("statement", "steps", "element"),
    [("a[i++] += 5", 1, 5), ("a[i++]++", 1, 1), ("--a[i++]", 1, -1), ("a[i++] = 7", 1, 7), ("a[(i++, 3)] -= 2", 1, -2)],
)
def test_keys_of_a_target_are_evaluated_once(statement, steps, element):
    """A side effect in the key of what is assigned happens once."""
    with Run(f'int i; int a[int]; BEGIN {{ i = 3; {statement}; printf("%d %d", i, a[3]); }}') as program:
        assert program.begin().values() == [[3 + steps, element]]


TARGETS = ("a[{}] = {}", "self->a[{}] = {}", "s[{}] = lltostr({})", "o[{}] = {} ? v : v", "t[{}] = {}", "o[{}].x = {}")


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize("target", TARGETS)
def test_values_are_evaluated_before_the_keys_of_their_target(target, engine):
    declared = "struct S { int x; } o[int], v; int a[int]; self int a[int]; string s[int]; int t[9]; int i;"
    statement = target.format("i = 2 * i", "(i = i + 3)")
    done = sonde("--engine", engine, "-qn", f'{declared} BEGIN {{ {statement}; printf("%d", i); exit(0); }}')
    assert done.stdout.strip() == "6", done.stderr


SHIFTS = (
    ("a >> sizeof (char)", -4), ("a << sizeof (char)", -16), ('a >> strlen("ab")', -2), ("a >> b", -1),
    ('b << strlen("ab")', 12), ("u >> b", 0x1FFFFFFF), ("-8 >> sizeof (char)", -4), ('-8 >> strlen("a")', -4),
    (f'(long)a >> strlen("{"s" * 70}")', -1), ("c >> (unsigned long)1", -4), ("this->once >> sizeof (char)", -4),
)  # fmt: skip
"""Of these variables: the value, the type being that of the left operand."""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_shifts_have_the_type_of_their_left_operand(engine):
    body = " ".join(f'printf("%d ", (long)({text}));' for text, _ in SHIFTS)
    declared = "int a, b; unsigned int u; char c; this int once;"
    setup = "a = -8; b = 3; u = 0xffffffff; c = -8; this->once = -8;"
    done = sonde("--engine", engine, "-qn", f"{declared} BEGIN {{ {setup} {body} exit(0); }}")
    assert [int(word) for word in done.stdout.split()] == [value for _, value in SHIFTS]
