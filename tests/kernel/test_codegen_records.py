"""Records, faults, losses and exit() of programs in the kernel."""

import struct

import pytest
from support.d.d_run import Run, text

from sonde.model.named_maps import ACTIVE, DRAINING

FAULT_PROGRAMS = [
    ("trace(1 / (this->x - this->x));", 4),
    ("trace(7 % this->x);", 4),
    ("self->x = 1; trace(self->x / this->x);", 4),
    ("trace(*(int *)8);", 1),
    ("trace(stringof((char *)16));", 1),
    ('trace(copyinstr(24));', 1),
    ("k[this->x = 1] = *(long *)(this->x + 1);", 1),
]  # fmt: skip


def test_fields_of_every_size_follow_each_other():
    """Integers of 1 to 8 bytes, signed and not, strings between them."""
    form = "%d %d %s %d %d %s %d %d %d"
    body = f"""printf("{form}", (char)-2, (unsigned short)65535, "ab", (int)-3, (unsigned char)200, execname,
               (unsigned long)-1, (short)-300, 5)"""
    with Run(f"BEGIN {{ {body} }}") as program:
        (values,) = program.begin().values()
    numbers = [v for v in values if isinstance(v, int)]
    assert numbers == [-2, 65535, -3, 200, 2**64 - 1, -300, 5]
    assert text(values[2]) == b"ab"


def test_nothing_of_an_earlier_record_shows():
    """A ring that has been around has zeros behind every string all the same."""
    with Run('string s; int n; BEGIN { s = n++ & 1 ? "x" : "0123456789abcdef0123456789"; trace(s); }',
             bufsize=4096) as program:  # fmt: skip
        for n in range(100):
            (values,) = program.begin().values()
            assert text(values[0]) == (b"0123456789abcdef0123456789", b"x")[n & 1]


@pytest.mark.parametrize(("statements", "code"), FAULT_PROGRAMS)
def test_a_fault_takes_the_record_back(statements, code):
    """No record of the clause, one of the fault; the clause's later statements do not run, other clauses do."""
    first, second = f"BEGIN {{ trace(1); {statements} after = 1; }}", "BEGIN { later = 1; trace(2); }"
    with Run(f"int after; int later; this int x; {first} {second}") as program:
        records = program.begin().raw_records()
        assert [r.clause for r in records] == [0, 2]
        clause, _, _, found, _ = struct.unpack_from("<IIqQQ", records[0].data, 16)
        assert (clause, found) == (1, code)
        assert program.globals() == {"after": 0, "later": 1}


def test_a_fault_in_a_predicate_runs_no_clause():
    """Nothing was reserved, the fault is reported."""
    with Run("int x; BEGIN /1 / x/ { trace(1); } BEGIN /x == 0/ { x = 5; }") as program:
        assert [fault[2] for fault in program.begin().faults()] == [4]
        assert program.globals() == {"x": 5}


def test_error_clauses_see_the_fault():
    """arg2 is the clause, counted from 0, arg4 the fault, arg5 its value; a fault in ERROR is only counted."""
    with Run("long a[int]; BEGIN { trace(*(int *)24); } ERROR { a[2] = arg2 + 10; a[4] = arg4; a[5] = arg5; } "
             "ERROR { trace(1 / (arg4 - 1)); }") as program:  # fmt: skip
        faults = program.begin().faults()
        assert [fault[0] for fault in faults] == [1]
        found = {struct.unpack("<i", k[:4])[0]: struct.unpack("<q", v)[0] for k, v in program.elements("a")}
        assert found == {2: 10, 4: 1, 5: 24}
        assert program.lost() == {"errors": 1}


def test_a_full_ring_loses_records_and_nothing_else():
    """Assignments and aggregations still happen; records there and records lost make up all firings."""
    with Run('int n; BEGIN { n++; @ = count(); printf("%d %s", n, execname); a[n] = n; }', bufsize=4096) as program:
        for _ in range(211):
            program.begin()
        kept = program.values()
        assert 0 < len(kept) < 211
        assert [v[0] for v in kept] == list(range(1, len(kept) + 1))
        assert program.lost() == {"records": 211 - len(kept)}
        assert program.globals() == {"n": 211}
        assert list(program.aggregation().values()) == [(211,)]
        assert len(program.elements("a")) == 211


def test_exit_stops_later_clauses():
    """The clause with exit() is the firing's last, its own record is complete; END still runs."""
    with Run("int n; BEGIN { n = 1; exit(3); n = 2; } BEGIN { n = 9; trace(1); } END { n = n + 10; }") as program:
        records = program.begin().raw_records()
        assert [r.clause for r in records] == [1]
        assert program.activity() == DRAINING
        assert program.globals() == {"n": 2}
        program.tracing.run("BEGIN")
        assert program.end().globals() == {"n": 12}


def test_nothing_fires_before_and_after_its_time():
    """BEGIN only before tracing, END only after it."""
    with Run("int b; int e; BEGIN { b++; } END { e++; }") as program:
        program.tracing.run("END")
        program.begin()
        program.activate(ACTIVE)
        program.tracing.run("BEGIN")
        program.tracing.run("END")
        assert program.globals() == {"b": 1, "e": 0}
        assert program.end().globals() == {"b": 1, "e": 1}


def test_variables_of_every_scope_and_element_freed_by_zero():
    """self-> and arrays keep their values from firing to firing, this-> begins at zero."""
    source = """BEGIN { this->n++; self->n++; g++; a["x", 1]++; self->b[g] = g; }
                BEGIN { printf("%d %d %d %d %d %d", this->n, self->n, g, a["x", 1], self->b[g], a["y", 1]); }
                BEGIN /g == 3/ { a["x", 1] = 0; self->b[1] = 0; }"""
    with Run(source) as program:
        for n in (1, 2, 3):
            assert program.begin().values() == [[1, n, n, n, n, 0]]
        assert program.elements("a") == []
        assert len(program.elements("b")) == 2


def test_a_timestamp_is_the_same_all_through_a_clause():
    """Also where it is read first inside a conditional."""
    source = """BEGIN { this->x = 0; this->a = !this->x ? timestamp : 0; this->b = timestamp;
                this->c = this->x ? 1 : timestamp; printf("%d %d %d", this->a, this->b, this->c); }"""
    with Run(source) as program:
        ((a, b, c),) = program.begin().values()
        assert a == b == c != 0
