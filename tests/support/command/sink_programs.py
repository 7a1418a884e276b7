"""A program of each language with constant results: all kinds of values and aggregations, an error, a loss, a stack."""

import sonde
from sonde import avg, count, llquantize, lquantize, max, min, quantize, stddev, sum, ustack

D = r"""
#pragma D option quiet
#pragma D option nspec=1
struct point { int x; char name[4]; };
struct point p;
BEGIN { printf("say %d %s %x\n", 7, "word", 255); trace(42); printf("\n"); }
BEGIN { p.x = 3; p.name[0] = 'a'; print(p); self->a = speculation(); self->b = speculation(); }
BEGIN { @c = count(); @s["k", 1] = sum(5); @s["l", 2] = sum(6); @mn = min(3); @mx = max(9); @av = avg(4); }
BEGIN { @sd = stddev(2); @q = quantize(9); @lin = lquantize(5, 0, 10, 5); @ll = llquantize(50, 10, 0, 3, 10); }
BEGIN { this->z = 0; trace(1 / this->z); }
ERROR { printf("fault %d\n", arg4); }
syscall::exit_group:entry /pid == $target/ { @st[ustack(1)] = count(); printa("%k", @st); }
END { printa("%s %d %@d\n", @s); }
"""

BT = r"""
config = { max_map_keys = 2; }
begin { printf("say %d %s %x\n", 7, "word", 255); print((1, "two", 3)); print("plain"); @v = 5; }
begin { @t[1, "k"] = (2, "x"); }
begin { @c = count(); @s["k", 1] = sum(5); @s["l", 2] = sum(6); @mn = min(3); @mx = max(9); @av = avg(4); }
begin { @sts = stats(4); @q = hist(9); @lin = lhist(5, 0, 10, 5); $z = (uint64)@none; print((uint64)1 / $z); }
begin { @none = 0; errorf("told %d", 4); @full[1] = 1; @full[2] = 1; @full[3] = 1; }
tracepoint:syscalls:sys_enter_exit_group /pid == cpid/ { @st[ustack(1)] = count(); print(@s, 1); }
"""

c, s, mn, mx, av, sd = count("c"), sum("s"), min("mn"), max("mx"), avg("av"), stddev("sd")
q, st = quantize("q"), count("st")
lin, ll = lquantize("l", base=0, limit=10, step=5), llquantize("ll", factor=10, low=0, high=3, steps=10)


@sonde.probe("BEGIN")
def begin(p):
    print("say", 7, "word", 255)
    c.add()
    s["k", 1].add(5)
    s["l", 2].add(6)
    mn.add(3)
    mx.add(9)
    av.add(4)
    sd.add(2)
    q.add(9)
    lin.add(5)
    ll.add(50)


@sonde.probe("BEGIN")
def fault(p):
    print(1 // (p.pid - p.pid))


@sonde.probe("syscall::exit_group:entry")
def left(p):
    if p.pid == p.target:
        st[ustack(1)].add()


PYTHON = [begin, fault, left]
PROGRAMS = {"d": D, "bpftrace": BT, "python": PYTHON}
