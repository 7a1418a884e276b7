"""alloca() and its like in the kernel: random stores and loads against a bytearray, and what is outside is a fault."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.command.command import build, sonde
from support.d.d_model import TYPES
from support.d.d_run import Run

SIZE = 256

relaxed = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

OPERATIONS = {"+": int.__add__, "-": int.__sub__, "^": int.__xor__, "|": int.__or__, "&": int.__and__}


class Model:
    """The region as bytes, and the D text that does the same to it."""

    def __init__(self):
        self.bytes = bytearray(SIZE)
        self.text = []
        self.loaded = []

    def get(self, kind, offset):
        return int.from_bytes(self.bytes[offset : offset + kind.size], "little", signed=kind.signed)

    def set(self, kind, offset, value):
        self.bytes[offset : offset + kind.size] = kind.keep(value).to_bytes(kind.size, "little", signed=kind.signed)


def lvalue(draw, kind, offset):
    """One of the ways to say `the object of this type at p + offset`."""
    ways = [f"*({kind.name} *)(p + {offset})", f"*({kind.name} *)((uint64_t)p + {offset})"]
    if offset % kind.size == 0:
        index = offset // kind.size
        ways += [f"(({kind.name} *)p)[{index}]", f"(({kind.name} *)p)[i + {index}]", f"*(({kind.name} *)p + {index})"]
    return draw(st.sampled_from(ways))


@st.composite
def programs(draw):
    model = Model()
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(TYPES))
        offset = draw(st.integers(0, SIZE - kind.size))
        target = lvalue(draw, kind, offset)
        value = draw(st.integers(-(1 << 31) + 1, (1 << 31) - 1))
        what = draw(st.sampled_from(["store", "load", "update", "increment", "copy"]))
        if what == "store":
            model.set(kind, offset, value)
            model.text.append(f"{target} = ({kind.name}){value};")
        elif what == "update":
            op = draw(st.sampled_from(sorted(OPERATIONS)))
            model.set(kind, offset, OPERATIONS[op](model.get(kind, offset), value))
            model.text.append(f"{target} {op}= ({kind.name}){value};")
        elif what == "increment":
            model.set(kind, offset, model.get(kind, offset) + 1)
            model.text.append(f"{draw(st.sampled_from(['++({})', '({})++'])).format(target)};")
        elif what == "copy":
            start, length = draw(st.integers(0, SIZE - 1)), draw(st.integers(0, 60))
            length = min(length, SIZE - max(start, offset))
            model.bytes[offset : offset + length] = bytes(model.bytes[start : start + length])
            model.text.append(f"bcopy(p + {start}, p + {offset}, {draw(st.sampled_from(['', 'i + ']))}{length});")
        else:
            name = f"r{len(model.loaded)}"
            model.loaded.append((name, kind, model.get(kind, offset)))
            model.text.append(f"{name} = {target};")
    return model


@pytest.mark.long
@relaxed
@given(programs(), st.integers(1, 3))
def test_stores_and_loads_are_those_of_memory(model, blocks):
    """Whatever the type, the offset and the way to say it; memory from several alloca() is one piece."""
    sizes = [SIZE // blocks & ~7] * (blocks - 1)
    allocated = "".join(f"alloca({size});" for size in [*sizes, SIZE - sum(sizes)])
    declared = "".join(f"{kind.name} {name};" for name, kind, _ in model.loaded)
    text = (f"struct all {{ char c[{SIZE}]; }} all; {declared} "
            f"BEGIN {{ i = 0; p = (char *)alloca(0); {allocated} {' '.join(model.text)} "
            "all = *(struct all *)p; }")  # fmt: skip
    with Run(text) as run:
        run.begin()
        assert run.faults() == []
        found = run.globals()
    assert {name: kind.keep(found[name]) for name, kind, _ in model.loaded} == {n: v for n, _, v in model.loaded}
    assert found["all"] == bytes(model.bytes)


FAULTS = [
    ("p = (char *)alloca(9); r = p[16];", 1),
    ("p = (char *)alloca(9); p[16] = 1;", 1),
    ("p = (char *)alloca(9); p[-1] = 1;", 1),
    ("p = (char *)alloca(9); p[i + 16]++;", 1),
    ("p = (char *)alloca(9); r = *(long *)(p + 9);", 1),
    ("p = (char *)alloca(9); r = *(long *)(p - 1);", 1),
    ("p = (char *)alloca(9); p = NULL; *p = 1;", 1),
    ("p = (char *)alloca(9); bcopy(p, p + 16, 1);", 1),
    ("p = (char *)alloca(9); bcopy(p, p + 8, 9);", 10),
    ("p = (char *)alloca(9); bcopy(p + 8, p, i + 9);", 10),
    ("p = (char *)alloca(9); bcopy(NULL, p, 4);", 1),
    ("p = (char *)alloca(9); bcopy(execname, p, i - 1);", 10),
    ("p = (char *)alloca(9); copyinto(16, 4, p);", 1),
    ("p = (char *)alloca(9); r = strlen(p + 17);", 1),
    ("p = (char *)alloca(9); t = (struct task_struct *)alloca(8); *t = *curthread;", 1),
    ("p = (char *)alloca(9); q = (struct pair *)p; q->b = q->c[1];", 1),
    ("p = (char *)alloca(9); x = (string *)p; *x = \"0123456789abcdef\";", 10),
    ("p = (char *)alloca(256); alloca(1);", 5),
    ("p = (char *)alloca(i + 257);", 5),
    ("p = (char *)alloca(i - 1);", 5),
    ("p = copyin(16, i + 257);", 5),
]  # fmt: skip


@pytest.mark.share(12)
@pytest.mark.parametrize(("statements", "code"), FAULTS)
def test_what_is_not_allocated_is_out_of_reach(statements, code):
    """One fault, and the statements behind it do not run."""
    text = f"struct pair {{ long a; int b; int c[2]; }}; char r; BEGIN {{ i = 0; {statements} done = 1; }}"
    with Run(text) as run:
        run.begin()
        assert [fault[2] for fault in run.faults()] == [code]
        assert run.globals()["done"] == 0


def test_a_pointer_kept_from_another_clause_reaches_nothing():
    """Neither in the next clause, nor through a string, nor in the next firing."""
    text = ("char *p; BEGIN { p = (char *)alloca(8); *p = 65; } BEGIN { n = *p; seen++; } "
            "BEGIN { s = stringof(p); seen++; } BEGIN { *p = 66; seen++; } BEGIN { tracemem(p, 8); seen++; } "
            "BEGIN { q = (char *)alloca(8); same = p == q; n = *p; }")  # fmt: skip
    with Run(text) as run:
        run.begin()
        assert [fault[:3] for fault in run.faults()] == [(n, 1, 1) for n in (2, 3, 4, 5)]
        found = run.globals()
    assert (found["seen"], found["same"], found["n"]) == (0, 1, 0)


def test_strings_end_where_the_memory_ends():
    text = ('BEGIN { p = (char *)alloca(8); bcopy("abcdefgh", p, 8); a = stringof(p); alloca(8); b = stringof(p + 3); '
            'x = (string *)(p + 8); *x = "xyz"; c = *x; d = stringof(p); }')  # fmt: skip
    with Run(text) as run:
        run.begin()
        assert run.faults() == []
        found = {name: text.rstrip(b"\0") for name, text in run.globals().items() if name in "abcd"}
    assert found == {"a": b"abcdefgh", "b": b"defgh", "c": b"xyz", "d": b"abcdefghxyz"}


def test_memory_is_zero_when_it_is_given():
    """Also where an earlier clause wrote."""
    text = ("struct all { long w[32]; } all; BEGIN { i = 256; p = (long *)alloca(256); p[0] = p[15] = p[31] = -1; } "
            "BEGIN { p = (long *)alloca(i); all = *(struct all *)p; }")  # fmt: skip
    with Run(text) as run:
        run.begin()
        assert run.faults() == []
        assert run.globals()["all"] == bytes(256)


COPIED = r"""
#include <sys/syscall.h>
#include <unistd.h>
struct point { char tag[6]; short y; long x; } point = {"point", -7, 1L << 40};
int main(void) { syscall(SYS_getpgid, &point, sizeof point); return 0; }
"""


def test_memory_of_the_process_is_copied(tmp_path):
    """By a constant size, one that is found at run time, and into memory that is there already; more is shown as
    zeros."""
    program = build(tmp_path, "copied", COPIED)
    text = ("struct point { char tag[6]; short y; long x; }; syscall::getpgid:entry /pid == $target/ { "
            'p = (struct point *)copyin(arg0, 16); q = (struct point *)alloca(16); copyinto(arg0, arg1, q); '
            'printf("%s %d %d %d %d\\n", stringof(p->tag), p->y, p->x, q->y, ((short *)copyin(arg0, arg1))[3]); '
            "tracemem(copyin(arg0, 6), 16); }")  # fmt: skip
    first, dump = sonde("-qc", program, "-n", text).stdout.split("\n", 1)
    assert first == f"point -7 {1 << 40} -7 -7"
    assert "70 6f 69 6e 74 00 00 00 00 00 00 00 00 00 00 00  point..........." in dump


def test_a_clause_local_pointer_reaches_the_next_clauses_of_the_firing():
    """Each clause may take all of scratchsize again; what no such variable was given is given back; the next firing
    begins with nothing."""
    text = ("BEGIN { this->p = (char *)alloca(256); this->p[255] = 65; } BEGIN { alloca(256); n = this->p[255]; } "
            "BEGIN { this->q = (char *)alloca(256); this->q[0] = 6; far = this->q - this->p; alloca(1); } "
            "BEGIN { same = this->q[0] + this->p[255]; g = (char *)alloca(8); } BEGIN { *g = 1; } "
            "BEGIN { other = this->p[0]; }")  # fmt: skip
    with Run(text) as run:
        for _ in range(2):
            run.begin()
            assert [fault[:3] for fault in run.faults()] == [(3, 1, 5), (5, 1, 1)]
            found = run.globals()
            assert [found[name] for name in ("n", "far", "same", "other")] == [65, 256, 71, 0]


def test_what_clauses_carry_is_bounded():
    """By 32 KiB, or what a single clause may take."""
    clauses = "".join(f"BEGIN {{ this->p{n} = (char *)alloca(4096); n++; }} " for n in range(12))
    clauses += "BEGIN { this->p0[4095] = 7; last = this->p7[4095] + this->p0[4095]; }"
    with Run(clauses, scratchsize=4096) as run:
        run.begin()
        assert [fault[:3] for fault in run.faults()] == [(n, 1, 5) for n in range(9, 13)]
        assert (run.globals()["n"], run.globals()["last"]) == (8, 7)


TEXT = "abcdefghijklmnopqrstuvwxyz"
FILLED = "syscall::write:entry /pid == $target/ { trace(((char *)copyin(arg1, 26))[25]); }\n"


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_behind_a_copy_are_zeros_whatever_was_there(engine, tmp_path):
    """To the end of its last word, for sizes known when the program is compiled and others, and in a replay."""
    sizes = (1, 3, 7, 8, 9, 15, 17)
    clauses = [
        f"{FILLED} syscall::write:entry /pid == $target/ {{ tracemem(copyin(arg1, {given}), 24); }}"
        for size in sizes
        for given in (size, f"arg2 - {len(TEXT) - size}")
    ]
    script, path = "\n".join(clauses), str(tmp_path / "it.rec")
    words = "-xengine=" + engine, "-c", f"printf {TEXT}", "-n", script
    sonde("-q", "-o", str(tmp_path / "out"), *words)
    shown = (tmp_path / "out").read_text()
    found = re.findall(r"^ +\d*0: ((?:[0-9a-f]{2} )+)", shown, re.MULTILINE)
    copies = [bytes.fromhex(first + second) for first, second in zip(found[::2], found[1::2], strict=True)]
    assert copies == [TEXT[:size].encode().ljust(24, b"\0") for size in sizes for _ in range(2)]
    sonde("-q", "-o", str(tmp_path / "recorded"), "--record", path, *words)
    assert (tmp_path / "recorded").read_text() == shown
    assert sonde("-q", "--replay", path, "-n", script).stdout == shown
