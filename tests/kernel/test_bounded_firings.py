"""What multiplies turns is bounded before a program is loaded, on both engines, and told; less of it is accepted."""

import functools
import re
import shlex
import subprocess
import sys

import pytest
from support.bpf.bpf_objects import compiled
from support.command.running import SONDE
from support.machine import packages

from sonde.engines.kernel.engine import KernelEngine
from sonde.library.bpf_object import load_words
from sonde.model.specfile import from_text, to_text
from sonde.objects.choices import Words
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.work import refusal_of_work, works

MOST = 1_000_000

TYPES = "enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PROG_ARRAY };\n"
MAP = (
    "struct { __uint(type, BPF_MAP_TYPE_%s); __uint(max_entries, %s); __type(key, u32); __type(value, u64); } %s "
    'SEC(".maps");\n'
)
EACH = "static long (*bpf_for_each_map_elem)(void *, void *, void *, u64) = (void *)164;\n"
ENTER = 'SEC("raw_tp/sys_enter") int f(u64 *c) '
TURN = "static int turn(u32 n, u64 *c) { *c += n; return 0; }\n"
ITERATORS = (
    "struct bpf_iter_num { u64 opaque[1]; } __attribute__((aligned(8)));\n"
    'extern int bpf_iter_num_new(struct bpf_iter_num *, int, int) __attribute__((section(".ksyms")));\n'
    'extern int *bpf_iter_num_next(struct bpf_iter_num *) __attribute__((section(".ksyms")));\n'
    'extern void bpf_iter_num_destroy(struct bpf_iter_num *) __attribute__((section(".ksyms")));\n'
)

# Each has N in it; a firing of the first number of turns is refused, of the second accepted.
MECHANISMS = {
    "one loop": (
        TURN + ENTER + "{ u64 x = 0; bpf_loop(N, turn, &x, 0); return x & 1; }", 100_000, 1000, "100,000 turns at",
    ),
    "nested loops": (
        TURN + "static int inner(u32 n, u64 *c) { bpf_loop(N, turn, c, 0); return 0; }\n"
        "static int outer(u32 n, u64 *c) { bpf_loop(N, inner, c, 0); return 0; }\n"
        + ENTER + "{ u64 x = 0; bpf_loop(N, outer, &x, 0); return x & 1; }",
        900, 10, "900 turns at",
    ),
    "a number that is not known": (
        TURN + ENTER + "{ u64 x = 0; bpf_loop(N > 1 ? c[1] : c[1] & 63, turn, &x, 0); return x & 1; }",
        2, 1, "8,388,608 turns at",
    ),
    "plain loops in a loop": (
        "static int turn(u32 n, u64 *c) { for (int k = 0; k < N; k++) *(volatile u64 *)c += k; return 0; }\n"
        + ENTER + "{ u64 x = 0; bpf_loop(N, turn, &x, 0); return x & 1; }",
        1000, 30, "1,000 turns at",
    ),
    "elements of a map": (
        MAP % ("HASH", "N", "h") + EACH + "static int turn(void *m, u32 *k, u64 *v, u64 *c) { *c += *v; return 0; }\n"
        + ENTER + "{ u64 x = 0; bpf_for_each_map_elem(&h, turn, &x, 0); return x & 1; }",
        100_000, 1000, "100,000 turns at",
    ),
    "elements for elements": (
        MAP % ("ARRAY", "N", "h") + EACH + "static int turn(void *m, u32 *k, u64 *v, u64 *c) { *c += *v; return 0; }\n"
        "static int outer(void *m, u32 *k, u64 *v, u64 *c) { bpf_for_each_map_elem(&h, turn, c, 0); return 0; }\n"
        + ENTER + "{ u64 x = 0; bpf_for_each_map_elem(&h, outer, &x, 0); return x & 1; }",
        1000, 50, "1,000 turns at",
    ),
    "tail calls": (
        'SEC("raw_tp/sys_enter") int f(u64 *c); struct { __uint(type, BPF_MAP_TYPE_PROG_ARRAY); '
        "__uint(max_entries, 1); __uint(key_size, 4); __array(values, int (u64 *)); } calls "
        'SEC(".maps") = { .values = { (void *)&f } };\n' + TURN
        + ENTER + "{ u64 x = 0; bpf_loop(N, turn, &x, 0); bpf_tail_call(c, &calls, 0); return x & 1; }",
        5000, 500, "up to 33 tail calls, and 5,000 turns at",
    ),
}  # fmt: skip

IN_THE_KERNEL = {
    "functions that are verified apart": (
        "__attribute__((noinline)) int g(u64 a) { volatile u64 x = 0; for (int n = 0; n < N; n++) x += n * a;"
        " return x & 1; }\n"
        + ENTER + "{ volatile u64 x = 0; for (int n = 0; n < N; n++) x += g(n); return x & 1; }",
        3000, 50, "3,00[01] turns at",
    ),
    "iterators": (
        ITERATORS + ENTER + "{ u64 x = 0; struct bpf_iter_num a, b; int *n; bpf_iter_num_new(&a, 0, N);"
        " while ((n = bpf_iter_num_next(&a))) { bpf_iter_num_new(&b, 0, N); while (bpf_iter_num_next(&b)) x++;"
        " bpf_iter_num_destroy(&b); } bpf_iter_num_destroy(&a); return x & 1; }",
        1000, 20, r"1,00[01] turns at .* x 1,00[01] turns at",
    ),
}  # fmt: skip
CASES = [(engine, name) for engine in (KERNEL, EMBEDDED) for name in MECHANISMS]
CASES += [(KERNEL, name) for name in IN_THE_KERNEL]


@functools.cache
def made(name, count, engine):
    source = (MECHANISMS | IN_THE_KERNEL)[name][0]
    path = compiled(TYPES + re.sub(r"\bN\b", str(count), source), "clang")
    return load_words(path, Words(), None, engine).spec


@pytest.mark.share(1)
@packages.needs("clang")
@pytest.mark.parametrize(("engine", "name"), CASES)
def test_more_than_a_firing_may_take_is_refused(engine, name):
    _, above, below, told = (MECHANISMS | IN_THE_KERNEL)[name]
    text, remedy = refusal_of_work(made(name, above, engine), engine, MOST)
    assert text.startswith("program f may take ")
    assert re.search(told, text)
    assert "of f()" in text
    assert "-xmaxsteps=" in remedy
    assert refusal_of_work(made(name, below, engine), engine, MOST) == ("", "")
    assert refusal_of_work(made(name, above, engine), engine, 0) == ("", "")


@pytest.mark.share(2)
@packages.needs("clang")
@pytest.mark.parametrize("name", [*MECHANISMS, *IN_THE_KERNEL])
def test_the_kernel_takes_both(name):
    """So it is no verifier that keeps firings short."""
    _, above, below, _ = (MECHANISMS | IN_THE_KERNEL)[name]
    for count in (above, below):
        KernelEngine().load(made(name, count, KERNEL)).close()


@packages.needs("clang")
def test_programs_of_one_event_are_taken_together():
    spec = made("one loop", 10_000, KERNEL)
    assert refusal_of_work(spec, KERNEL, MOST) == ("", "")
    (program,) = spec.programs
    several = spec._replace(programs=tuple(program._replace(name=f"f{number}") for number in range(9)))
    assert refusal_of_work(several, KERNEL, MOST)[0].startswith("the 9 programs of one event, f0 and others, may take")


def sonde(*words):
    return subprocess.run([SONDE, *words], capture_output=True, text=True)


@packages.needs("clang")
@pytest.mark.parametrize("engine", [KERNEL, EMBEDDED])
def test_the_command_refuses_before_it_loads_and_an_option_lifts_the_bound(engine):
    source = re.sub(r"\bN\b", "900", MECHANISMS["nested loops"][0]).replace('"raw_tp/sys_enter"', '"raw_tp/NAME"')
    path = compiled(source.replace("NAME", "sched_process_exit"), "clang")
    words = ["--engine", engine, "--object", path, "-c", "true"]
    refused = sonde(*words)
    assert refused.returncode == 1
    told = " ".join(refused.stderr.split())
    assert "steps in one firing, and 10,000,000 are allowed: 900 turns at" in told
    assert len(re.findall(r"900 turns at \S+program\.c:\d+ of \w+\(\)", told)) == 3
    verdict = sonde("verify", "--engine", engine, path)
    assert (verdict.returncode, verdict.stdout.split(": ")[1].split("\n")[0]) == (1, "refused")
    accepted = sonde("verify", "--engine", engine, "-xmaxsteps=0", path)
    assert accepted.returncode == 0
    assert "Not proved: how often events fire it" in accepted.stdout


MAGIC = 777_777
"""The argument of the calls at which a hostile program loops."""

CALLS = f"""
import os
for _ in range(3):
    try: os.getpgid({MAGIC})
    except OSError: pass
print("done", flush=True)
"""


def hostile(content, engine):
    """A spec file with another program in the place of its own: loops that would take a minute."""
    source = re.sub(r"\bN\b", "900", MECHANISMS["nested loops"][0]).replace(
        "{ u64 x = 0;",
        "{ u64 x = 0; u64 di = 0; if (c[1] != 121) return 0; bpf_probe_read_kernel(&di, 8, (void *)(c[0] + 112));"
        f" if (di != {MAGIC}) return 0;",
    )
    foreign = load_words(compiled(source, "clang"), Words(), None, engine).spec
    (program,), (own,) = foreign.programs, content.spec.programs
    program = program._replace(name=own.name, probes=own.probes, kind=own.kind, attach_type=own.attach_type)
    spec = content.spec._replace(programs=(program,), maps=(*content.spec.maps, *foreign.maps))
    return content._replace(spec=spec)


@packages.needs("clang")
@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (KERNEL, "turn drop"),
        pytest.param(
            EMBEDDED, r"used all 4,194,304 turns .*program\.c:\d+; -xmaxsteps=0", marks=pytest.mark.long, id=EMBEDDED
        ),
    ],
)
def test_turns_of_a_foreign_spec_file_are_metered(tmp_path, engine, told):
    saved = tmp_path / "one.spec"
    done = sonde("--engine", engine, "--save", str(saved), "-n", "syscall::getpgid:entry { @ = count(); }")
    assert done.returncode == 0, done.stderr
    saved.write_text(to_text(hostile(from_text(saved.read_text()), engine)))
    done = sonde("--spec", str(saved), "-c", shlex.join([sys.executable, "-c", CALLS]))
    assert re.search(told, " ".join(done.stderr.split())), done.stderr
    assert engine == EMBEDDED or "done" in done.stdout


def test_what_sonde_compiles_is_accepted_from_spec_files_too(tmp_path):
    """Loops, stacks, strings: the loops of D bound themselves, and are metered besides."""
    saved = tmp_path / "own.spec"
    text = (
        "BEGIN { for (this->i = 0; this->i < 20; this->i++) for (this->k = 0; this->k < 30; this->k++) @ = count();"
        ' @t[strtok("a b", " ")] = count(); @u[ustack(5)] = count(); exit(0); }'
    )
    assert sonde("--save", str(saved), "-n", text).returncode == 0
    done = sonde("-q", "--spec", str(saved))
    assert done.returncode == 0, done.stderr
    assert "600" in done.stdout
    assert "drop" not in done.stderr
    content = from_text(saved.read_text())
    assert max(each.steps for each in works(content.spec, KERNEL)) > 10_000_000
