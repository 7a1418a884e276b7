"""Functions of bpftrace's language on both engines: `return` from branches and loops, calls in calls, texts, void."""

import pytest
from support.command.command import sonde

PROGRAM = r"""
fn add($a : int64, $b : int64): int64 { return $a + $b; }
fn sign($a : int64): int64 { if ($a < 0) { return -1; } if ($a == 0) { return 0; } return 1; }
fn first($n : int64): int64 {
    for ($i : 0..10) {
        for ($j : 0..10) { if ($i * $j == $n) { return $i * 100 + $j; } }
        @inner++;
    }
    return -7;
}
fn tell($a : int64): void { if ($a > 2) { return; } @told[$a] = count(); }
fn counted($a : int64): int64 { $x = 0; unroll(5) { $x++; if ($x == $a) { return $x * 10; } } return $x; }
fn name($a : int64): string { if ($a) { return "yes"; } return "no"; }
fn early($a : int64): int64 { $x = { if ($a > 1) { return 4; } $a + 1 }; for ($kv : @told) { return $x; } return 0; }
fn twice($a : int64): int64 { return add($a, $a); }
begin {
    $a = 5;
    print((add(3, $a), sign(-4), sign(0), sign(9), first(6), first(97), counted(3), counted(9)));
    tell(1); tell(3);
    print((name(1), name(0), twice(add(1, twice(2)))));
    if (sign(3) == 1 && sign(-1) == -1) { print("both"); }
    $i = 0; while (add($i, 1) < 5) { $i++; }
    print(($i, $a));
    for ($j : 0..3) { if (first($j) < 0) { break; } $a = early($j); print($a); }
}
"""
SHOWN = """(8, -1, 0, 1, 106, -7, 30, 5)
(yes, no, 10)
both
(4, 5)
1
2
4


@inner: 13
@told[1]: 1
"""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_functions_return_what_they_come_to(engine):
    done = sonde("bt", "-q", "--engine", engine, "-c", "true", "-e", PROGRAM)
    assert (done.stdout.strip(), done.returncode) == (SHOWN.strip(), 0), done.stderr


def test_a_string_that_is_cut_is_warned_of():
    program = 'config = { max_strlen = 8 } begin { $a = "abcdefgh"; $b = "abcdefghi"; }'
    done = sonde("bt", "-q", "-e", program)
    assert done.stderr.count("String of 9 bytes is cut to 8, which max_strlen sets.") == 1
