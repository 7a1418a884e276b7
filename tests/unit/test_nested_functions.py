"""Functions within functions, and lines that begin with an inlined call, have their variables; a table is read once."""

import re

import pytest
from support.machine import compilers, packages
from support.symbols.compiled_objects import compiled, needs_gcc, needs_gdb
from support.symbols.gdb_comparison import compared

from sonde.cli.main import main
from sonde.symbols.dwarf.breakpoints import stops
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.line_table import LineTable
from sonde.symbols.dwarf.points import Points

pytestmark = needs_gcc

NESTED = """
volatile long sink;
struct Item { int price; };
static inline __attribute__((always_inline)) int scaled(int value, int by)
{
    static int calls = 0;
    calls++;                                   // counted
    int product = value * by;
    sink = product;
    return product;
}
__attribute__((noinline)) int total(const Item *items, int factor)
{
    int sum = 0;
    auto add = [&sum, factor](const Item &item) {
        int part = item.price * factor;
        sum += part;                           // lambda
        sink = sum;
    };
    struct Local {
        int kept;
        __attribute__((noinline)) int more(int by) {
            int result = kept + by;
            sink = result;                     // method
            return result;
        }
    } local = { factor };
    add(items[0]);
    add(items[1]);
    sum = scaled(sum, 3);                      // call
    sink = sum;
    return sum + local.more(4);
}
template <typename F> __attribute__((noinline)) void apply(F f) { Item item = { 7 }; f(item); }
int main(int argc, char **argv)
{
    Item items[] = { { argc }, { 2 } };
    int result = total(items, 4);
    apply([&](const Item &each) {
        int inner = each.price + result;
        sink = inner;                          // unnamed
    });
    return result == 42;
}
"""
EXPECTED = {
    "counted": {"value", "by", "calls", "product"}, "lambda": {"item", "part"},
    "method": {"this", "by", "result"}, "call": {"items", "factor", "sum", "add", "local"},
    "unnamed": {"inner"},
}  # fmt: skip
OF_GNU = """
volatile int sink;
static int apply(int (*f)(int), int x) { return f(x); }
__attribute__((noinline)) int outer(int base)
{
    __attribute__((noinline)) int inner(int by)
    {
        int got = base + by;
        sink = got;
        return got;
    }
    return apply(inner, 5) + inner(3);
}
int main(int argc, char **argv) { return outer(argc) == 3; }
"""
COMPILERS = [pytest.param(each, marks=packages.needs(each)) for each in ("g++", "clang++")]


def line_of(text, mark):
    return text[: text.index(mark)].count("\n") + 1


def built(compiler, text, name, *flags):
    return compilers.built(name, text, compiler, "-g", *flags)


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_line_has_the_variables_of_its_function(compiler, level):
    points = Points(open_information(built(compiler, NESTED, "nested.cc", level)))
    for mark, expected in EXPECTED.items():
        for point in points.at_line("nested.cc", line_of(NESTED, f"// {mark}\n")):
            found = {each.name for each in point.nameable}
            # What clang says of a static variable is in no function that has a name.
            found |= {"calls"} if compiler == "clang++" else set()
            assert expected <= found, (mark, point.what, found)


@pytest.mark.share(2)
@pytest.mark.parametrize("mark", EXPECTED)
def test_vars_prints_them(mark, capfd):
    """`sonde vars` at a line of a lambda, of a local class and of an inlined copy."""
    path = built("g++", NESTED, "nested.cc", "-O0")
    assert main(["sonde", "vars", path, f"nested.cc@{line_of(NESTED, f'// {mark}')}"]) == 0
    out, err = capfd.readouterr()
    assert not err
    listed = re.findall(r"^  (?:parameter|variable) +(\w+) .* here; live in all of its scope$", out, re.MULTILINE)
    assert set(listed) >= EXPECTED[mark]


def test_statics_of_a_function_are_in_each_inlined_copy():
    """One place, whichever copy asks."""
    text = NESTED.replace("sink = sum;\n    return sum +", "sink = scaled(sink, 5);\n    return sum +")
    points = Points(open_information(built("g++", text, "nested.cc", "-O2")))
    found = points.at_line("nested.cc", line_of(text, "// counted\n"))
    assert len(found) == 2
    places = [each.fetches for point in found for each in points.named(point) if each.variable.name == "calls"]
    assert len(places) == 2
    assert places[0] == places[1] != ()


@pytest.mark.long
@needs_gdb
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_values_within_functions_are_those_gdb_prints(level):
    pairs = [each for each in compared(built("g++", NESTED, "nested.cc", level), "nested.cc") if each["gdb"]]
    assert [each for each in pairs if each["sonde"] not in (None, each["gdb"])] == []
    known = {each["path"] for each in pairs if each["sonde"] is not None}
    assert {"part", "calls", "result"} <= known | ({"result"} if level == "-O2" else set())


def test_nested_functions_of_c_have_their_own_variables():
    points = Points(open_information(built("gcc", OF_GNU, "nested.c", "-O0", "-Wl,-z,execstack")))
    (point,) = points.at_line("nested.c", line_of(OF_GNU, "        sink = got"))
    assert {each.name for each in point.nameable} == {"by", "got"}
    assert [point.what for point in points.at_function("inner")] == ["inner"]


def test_a_line_in_no_function_is_an_error():
    """Assembly has lines, and no functions in its debug information."""
    program = compilers.built("bare.s", ".globl _start\n_start:\n nop\n nop\n", "gcc", "-g", "-nostdlib")
    with pytest.raises(DebugInfoError, match=r"bare.s:3 is in no function"):
        Points(open_information(program)).at_line("bare.s", 3)


def test_a_table_of_lines_is_read_once(monkeypatch):
    information = open_information(compiled("-O2"))
    read = []
    original = LineTable.rows
    monkeypatch.setattr(LineTable, "rows", lambda table: read.append(table) or original(table))
    for line in (32, 34, 36, 41, 43):
        assert stops(information, "program.c", line)
    assert len(read) == 1
