"""Macros chosen by what they are given, types as their arguments, maps whose types come late, on both engines."""

import pytest
from support.command.command import sonde

PROGRAM = r"""
config = { print_maps_on_exit = false }
macro more($x) { $x + 1 } macro more(@x) { @x + 2 } macro more(x) { x + 3 }
macro both($x, y) { "first" } macro both(x, $y) { "second" }
macro room(t) { sizeof(t*) + sizeof(t[5]) } macro as(t, v) { (t)v } macro whole(t) { sizeof(struct t) }
macro place(t, f) { offsetof(t, f) } macro kept(t) { let $x: t = 3; sizeof($x) }
begin {
    $a = 1; @b = 1;
    print((more($a), more(@b), more(1), both($a, 5), both(5, $a)));
    print((room(typeof(uint16)), as(typeof(uint8), 300), kept(typeof(uint32))));
    print((whole(typeof(task_struct)) == sizeof(struct task_struct),
        place(typeof(struct task_struct), comm) == offsetof(struct task_struct, comm)));
    @n = 0; @keyed[1, "x"] = 1; let $k: typeof(@keyed) = (2, "y"); print((@n, $k.0));
    print((is_scalar(@n), is_scalar(@keyed), 1e1_0, *(int16*)"ab"));
    let $t; let $u: typeof($t); $u = "late"; $t = "text"; print($u);
    printf("%y %p %p %*d|%-3d|%s\n", 0, 7, 5, 6, (username_t)0);
    @number = (uint8)1; @count = count(); @number = @count; print(@number);
}
interval:s:1 { @j = @i; @i = @h; @h = @g; @g = @f; @f = @e; @e = @d; @d = @c; @c = @z; @z = @y; @y = "s"; exit(); }
"""
SHOWN = """(2, 3, 4, first, second)
(18, 44, 4)
(true, true)
(0, 2)
(true, false, 10000000000, 25185)
late
%y 0 0x7 5|6  |root
@number: 1
"""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_macros_and_types(engine):
    done = sonde("bt", "-q", "--engine", engine, "-c", "sleep 3", "-e", PROGRAM)
    assert (done.stdout.strip(), done.returncode) == (SHOWN.strip(), 0), done.stderr
