"""--fmt: a program in its usual layout says the same, and is laid out as it is the second time."""

import pytest
from support.bpftrace import bt_programs

from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.formatting.layout import laid_out
from sonde.frontends.bpftrace.formatting.words import words
from sonde.frontends.bpftrace.syntax.program import items, stream_of

UGLY = """#!/usr/bin/env bpftrace
#define FEW \\
    3
struct pair {int a;char b[8];};
config={max_map_keys=5;stack_mode=perf}
let @m=hash(10);
macro add(x,$y){let $z:uint8=x;$y+=$z;  $y}
fn sign($a:int64,$b:string):int64{if($a>1){return 1;}return -$a;}


begin{$x=1;if($x==1&&!comm){print("a")}else if ($x<-2){print(-1)}else{print("b");}@a[1,2]=count();
for($i:0..5){print($i);}for $kv:@m{print($kv.0)}while($x<5){$x++}unroll(3){@++}

$p=(struct pair*)arg0;$q=*$p;$r=&$x;$s=$p->b[0];$t=(1,"a",(2,));$v=$x?1:2;$w=$x?:3;_=5;--$x;return;}
tracepoint:syscalls:sys_enter_*,kprobe:vfs_read /pid==1&&
comm!="x"/{printf("%d %s\\n",pid,
comm);/* kept */$y=~5*-3; // tail
// own
@h=hist((uint64)$y/1000);$m=$y*$z&7|1<<2;$z={let $k=3;$k+1};}
uprobe:/bin/bash:readline+4{print(sizeof(struct pair*));$a=(typeof($x))5;$b=(int32*)(5+3);$c=(uint8[8])$x;}
interval:s:1,END{exit()}
"""
NEAT = """#!/usr/bin/env bpftrace
#define FEW \\
    3
struct pair {int a;char b[8];};
config = {
  max_map_keys = 5;
  stack_mode = perf
}

let @m = hash(10);
macro add(x, $y)
{
  let $z: uint8 = x;
  $y += $z;
  $y
}

fn sign($a: int64, $b: string): int64
{
  if ($a > 1) {
    return 1;
  }
  return -$a;
}

begin
{
  $x = 1;
  if ($x == 1 && !comm) {
    print("a")
  } else if ($x < -2) {
    print(-1)
  } else {
    print("b");
  }
  @a[1, 2] = count();
  for ($i : 0..5) {
    print($i);
  }
  for $kv : @m {
    print($kv.0)
  }
  while ($x < 5) {
    $x++
  }
  unroll (3) {
    @++
  }

  $p = (struct pair*)arg0;
  $q = *$p;
  $r = &$x;
  $s = $p->b[0];
  $t = (1, "a", (2,));
  $v = $x ? 1 : 2;
  $w = $x ?: 3;
  _ = 5;
  --$x;
  return;
}

tracepoint:syscalls:sys_enter_*,
kprobe:vfs_read
/pid == 1 &&
 comm != "x"/
{
  printf("%d %s\\n", pid,
         comm); /* kept */
  $y = ~5 * -3; // tail
  // own
  @h = hist((uint64)$y / 1000);
  $m = $y * $z & 7 | 1 << 2;
  $z = {
    let $k = 3;
    $k + 1
  };
}

uprobe:/bin/bash:readline+4
{
  print(sizeof(struct pair*));
  $a = (typeof($x))5;
  $b = (int32*)(5 + 3);
  $c = (uint8[8])$x;
}

interval:s:1,
END
{
  exit()
}
"""


def meaning(node):
    """A syntax tree without the places of its nodes."""
    if isinstance(node, SourceSpan):
        return None
    if isinstance(node, (tuple, list)):
        return (type(node).__name__, *map(meaning, node))
    return node


def test_a_program_is_laid_out():
    assert laid_out(UGLY) == NEAT
    assert laid_out(NEAT) == NEAT


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(60))
def test_random_programs_say_the_same(seed):
    text = bt_programs.made(seed, 3).text
    neat = laid_out(text)
    assert [each[:2] for each in words(neat)] == [each[:2] for each in words(text)]
    assert laid_out(neat) == neat
    assert meaning(tuple(items(stream_of(neat)))) == meaning(tuple(items(stream_of(text))))
