"""Programs larger than one instruction, or one map for each thing, can reach."""

import random

import pytest
from support.command.command import sonde
from support.d.clause_programs import program as clause_program
from support.d.d_run import Run

from sonde.codegen.basis.uses import MAPS_FOR_ARRAYS


def test_more_arrays_than_a_program_may_have_maps():
    """Global and thread-local ones with keys and values of different sizes; each array's elements are its own."""
    count = 2 * MAPS_FOR_ARRAYS
    declared = "".join(f"string s{n}[int, string]; self int t{n}[string]; " for n in range(count))
    set_all = "".join(f's{n}[1, "x"] = "v{n}"; a{n}[{n}] = {n}; self->t{n}["q"] = {n} + 1; ' for n in range(count))
    with Run(
        f"""
        {declared} BEGIN {{ {set_all} }}
        BEGIN {{ printf("%d %d %d %d", a7[7], a{count - 1}[{count - 1}], self->t7["q"], self->t{count - 1}["q"]); }}
        BEGIN {{ a7[7] = 0; printf("%d %d %d", a7[7], a8[7], a8[8]); printf("%d", s3[1, "x"] == "v3"); }}
        BEGIN {{ s3[1, "x"] = 0; printf("%d %d", s3[1, "x"] == NULL, s4[1, "x"] == "v4"); }}
        """
    ).begin() as run:
        assert run.values() == [[7, count - 1, 8, count], [0, 0, 8, 1], [1, 1]]
        assert not run.lost()


@pytest.mark.long
def test_a_clause_longer_than_a_jump_reaches():
    """Its faults, and its end, are tens of thousands of instructions away."""
    body = "".join(f"c[{n}] = {n}; d[0] = c[{n}] + d[0]; " for n in range(450))
    with Run(f'long long c[int], d[int]; BEGIN {{ {body} printf("%d", d[0]); }}') as run:
        assert max(len(each.code) // 8 for each in run.spec.programs) > 16000
        run.begin()
        assert run.values() == [[sum(range(450))]]


@pytest.mark.long
def test_more_aggregations_than_a_program_may_have_maps():
    """With and without keys, of several functions; each has its own values, and is cleared and truncated alone."""
    functions = ("count()", "sum(7)", "max(9)", "quantize(3)", "count()")
    keys = ("", "[1]", '["x"]')
    update = "".join(f"@a{n}{keys[n % 3]} = {functions[n % 5]}; " for n in range(150))
    show = "".join(rf'printa("a{n} %@d\n", @a{n}); ' for n in (5, 6, 7, 12, 17, 20, 147))
    done = sonde(
        "-qn",
        f"""
        BEGIN {{ {update} }}
        BEGIN {{ trunc(@a5); clear(@a7); clear(@a20); exit(0); }}
        END {{ @a6 = sum(4); @a7[1] = max(2); {show} }}
        """,
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("a")] == [
        "a6 11", "a7 2", "a12 9", "a17 9", "a20 0", "a147 9",
    ]  # fmt: skip
    assert len([line for line in done.stdout.splitlines() if line.strip()]) > 150


def test_aggregations_of_too_many_sizes_are_one_message():
    update = "".join(f"@a{n} = lquantize(1, 0, {n + 1}, 1); " for n in range(70))
    done = sonde("-n", f"BEGIN {{ {update} }}", status=1)
    assert "the clauses of dtrace:::BEGIN need 7" in done.stderr
    assert "maps, and a BPF program may use 64" in done.stderr


NUMBERS = range(24)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "form",
    [
        "if (g > {i}) {{ this->x{i} = 1; }} else {{ this->x{i} = 2; }}",
        "if (g > {i}) {{ this->x{i} = g > 100 ? 3 : 1; }} if (g <= {i}) {{ this->x{i}++; this->x{i}++; }}",
        "if (g > {i}) {{ this->x{i}++; }}",
        "this->x{i} = g > {i} ? 1 : 2;",
        "this->x{i} = 2 - (g > {i} && g < 100);",
        "this->x{i} = g > {i} ? 1 : g + 2 - g;",
    ],
)
def test_what_is_set_on_one_of_two_paths_does_not_double_them(form):
    """The verifier would follow 2 to the 24th combinations of values otherwise."""
    set_ = " ".join(form.format(i=i) for i in NUMBERS)
    used = " ".join(f"if (this->x{i} == 1) {{ more += {1 << i}; }}" for i in NUMBERS)
    with Run(f"int g; int more; BEGIN {{ g = 7; }} BEGIN {{ {set_} {used} }}") as run:
        assert run.begin().globals()["more"] == (1 << 7) - 1


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(12))
def test_random_clauses_are_taken(seed):
    """Those of which the embedded engine's verifier is shown that it copes with them."""
    with Run(clause_program(random.Random(seed))) as run:
        assert run.spec.programs
