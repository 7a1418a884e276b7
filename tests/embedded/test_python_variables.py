"""Variables of probe functions: of the thread, of modules, of functions around them; what is set by others."""

import sonde
from sonde import count, probe, thread

first_number, first_text, untouched = 40, "start", 7
table = {}


@probe("BEGIN")
def done(p):
    exit(0)


def printed(*probes):
    """The values of all records of a run."""
    with sonde.run(*probes, done, engine="embedded") as run:
        events = [*run]
    assert not [each for each in events if isinstance(each, (sonde.ProbeError, sonde.Loss))]
    return [event.values for event in events if isinstance(event, sonde.Record)]


def test_variables_of_a_module_begin_as_they_are_in_python():
    @probe("BEGIN")
    def changed():
        global first_number, first_text
        print(first_number, first_text)
        first_number += 2
        first_text = first_text + "ed"

    @probe("BEGIN")
    def looked():
        print(first_number, first_text, untouched)

    assert printed(changed, looked) == [(40, "start"), (42, "started", 7)]
    assert (first_number, first_text) == (40, "start")


def test_variables_of_functions_around_a_probe_are_shared():
    def counting():
        number = 5

        @probe("BEGIN")
        def up():
            nonlocal number
            number += 1

        @probe("BEGIN")
        def told():
            print(number)

        return up, told

    one, other = counting(), counting()
    assert printed(one[0], one[0], one[1], other[1]) == [(7,), (5,)]


def test_functions_may_use_what_later_ones_set():
    @probe("END")
    def last(p):
        print(thread.c, thread.b, table["x", 1], table["y", 2])

    @probe("BEGIN")
    def third(p):
        thread.c = thread.b + 1

    @probe("BEGIN")
    def second(p):
        thread.b = thread.a * 2
        table["x", thread.a] = thread.b

    @probe("BEGIN")
    def first(p):
        thread.a = p.pid - p.pid + 1

    found = printed(last, first, second, third)
    assert found == [(3, 2, 2, 0)]


def test_a_variable_is_the_type_of_what_sets_it_first():
    @probe("BEGIN")
    def named(p):
        thread.name = p.execname
        thread.size = 0
        thread.size += 1 << 40
        print(thread.size, thread.name == p.execname, len(thread.name) > 0)

    assert printed(named) == [(1 << 40, 1, 1)]


def test_functions_of_one_name_have_variables_of_their_own():
    def numbered():
        @probe("BEGIN")
        def same(p):
            value = 5
            print(value)

        return same

    def named():
        @probe("BEGIN")
        def same(p):
            value = "five"
            print(value)

        return same

    assert printed(numbered(), named(), numbered()) == [(5,), ("five",), (5,)]


def test_probe_functions_call_each_other():
    calls = count()

    @probe("BEGIN")
    def inner(p):
        calls[p.probename].add()
        print("inner")

    @probe("END")
    def outer(p):
        inner(p)
        print("outer")

    with sonde.run(inner, outer, done, engine="embedded") as run:
        values = [event[0] for event in run if isinstance(event, sonde.Record)]
    assert values == ["inner", "inner", "outer"]
    assert run.aggregations["calls"].snapshot() == {("BEGIN",): 1, ("END",): 1}


def doubled(n):
    if n > 100:
        return 100
    return n * 2


def test_a_variable_that_nothing_has_set_is_zero_where_it_is_added_to():
    @probe("BEGIN")
    def added():
        thread.never += doubled(4)
        table["sum", 1] += doubled(400)
        thread.never -= doubled(1)
        print(thread.never, table["sum", 1])

    assert printed(added) == [(6, 100)]


def test_elements_that_are_deleted_are_zero():
    @probe("BEGIN")
    def freed(p):
        table["x", 5] = 7
        thread.kept = 7
        print(table["x", 5], thread.kept)
        del table["x", 5], thread.kept
        print(table["x", 5], thread.kept)

    assert printed(freed) == [(7, 7), (0, 0)]
