"""Values that conditions choose, also when the program is compiled, on both engines."""

import pytest
from support.command.command import sonde

PROGRAM = r"""
config = { unstable_typeinfo = enable; print_maps_on_exit = false }
macro of_kind(x) { if comptime (is_str(x)) { "text" } else if comptime (is_integer(x)) { 5 } else { fail("neither") } }
macro larger(a, b) { if (a > b) { a } else { b } }
begin {
    $n = if (pid == 0) { "none" } else if (pid > 0) { @seen++; "some" } else { @never++; "less" };
    print(($n, @seen, of_kind("a"), of_kind(3), larger(4, 9), larger(pid, 1) == pid));
    if comptime (sizeof(uint16) == 3) { print(nosuch); } else { print(comptime (3 * 4)); }
    $t = (uint16)7;
    print((typeinfo($t).base_type, typeinfo($t).full_type, typeinfo(("a", 1)).base_type, typeinfo(curtask).base_type));
    if comptime (typeinfo($t).full_type == "uint16") { print("short"); }
    @first[1] = @later[2]; $later = @later[1]; @later[1] = "set further on";
    print((@later[1], @first[1] == "", $later == ""));
    if (pid) { print("in") } else { print("out") }
}
"""
SHOWN = """(some, 1, text, 5, 9, true)
12
(int, uint16, tuple, pointer)
short
(set further on, true, true)
in
"""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_conditions_choose_values(engine):
    done = sonde("bt", "-q", "--engine", engine, "-c", "true", "-e", PROGRAM)
    assert (done.stdout.strip(), done.returncode) == (SHOWN.strip(), 0), done.stderr
