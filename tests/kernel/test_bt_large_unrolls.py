"""Unrolled loops with many copies: the same results as of loops, in programs that the kernel has room for."""

from support.bpftrace import bt_compiling
from support.command.command import sonde

from sonde.library.compiling import For, compiled

BOARD = """
begin {
  $i = 0; $n = (int64)0;
  unroll(50) {
    $j = 0;
    unroll(20) {
      if (($i + $j) % 3 == 0) { @cells[$i, $j] = $i * $j; $n += @cells[$i, $j]; } else { $n -= 1; }
      $j += 1;
    }
    let $part = 1; $part += $j; $n += $part;
    $i += 1;
  }
  printf("%d %d %d\\n", $n, $i, len(@cells));
  unroll(90) {
    printf("row %d\\n", $i);
    $i += 1;
    if ($i == 60) { clear(@cells); return; }
    $n += 1; $n -= 1;
  }
  print("not reached");
}
"""
MOST = 5_000


def results():
    cells = {(i, j): i * j for i in range(50) for j in range(20) if not (i + j) % 3}
    return sum(cells.values()) - (1000 - len(cells)) + 50 * 21, len(cells)


def test_large_unrolls_do_what_their_copies_would():
    number, cells = results()
    done = sonde("bt", "-q", "--no-warnings", "-e", BOARD)
    rows = [f"row {at}" for at in range(50, 60)]
    assert [line for line in done.stdout.splitlines() if line] == [f"{number} 50 {cells}", *rows]


def test_large_unrolls_are_small_programs():
    made = compiled("bpftrace", (("text", BOARD),), bt_compiling.options(), (), For("embedded"), "bpftrace")
    assert sum(len(program.code) // 8 for program in made.spec.programs) < MOST


def test_what_leaves_a_loop_around_stays_unrolled():
    text = "begin { for ($i : 0..3) { unroll(90) { $a = 1; $b = 2; $c = 3; if ($i == 1) { continue; } } print($i); } }"
    done = sonde("bt", "-q", "--no-warnings", "-e", text)
    assert done.stdout.split() == ["0", "2"]
