"""Clauses before places of programs and other probes: general probes, which an adapter for each kind calls."""

import functools
import random
from pathlib import Path

import pytest
from support.command.targets import program
from support.machine import packages
from support.suite.example_counts import count_of
from test_clauses_of_many_kinds import told

import sonde
from sonde.engines.embedded import offer

pytestmark = pytest.mark.examples

MARKET = Path(__file__).parents[1] / "same" / "market.c"

PLACES = (
    "pid$target:a.out:six:entry", "pid$target:a.out:six:return", "pid$target:a.out:sells:entry",
    "pid$target:a.out:sells:return", "pid$target:a.out:fibonacci:", "uprobe:BINARY:fibonacci:entry",
    "uprobe:BINARY:fibonacci:return", "market$target:::sale", "market$target:::any", "market$target:::",
)  # fmt: skip
OTHERS = ("syscall::exit_group:entry", "syscall::mprotect:return", "sched:::surrender", "proc:::exec", "tick-1h")

STATEMENTS = (
    "@a[probemod, probefunc, probename] = count();",
    "@b[probefunc, probename, errno] = count();",
    "@c[probefunc, probename, ustackdepth] = count();",
    "@d[probefunc, probename, ufunc(ucaller)] = count();",
    "@e[probefunc, probename, ustack(3)] = count();",
    '@f[probename, probename == "sale" || probename == "any" ? copyinstr(arg1) : ""] = count();',
    '@g[probename, probefunc == "sells" && probename == "entry" ? copyinstr(arg0) : ""] = count();',
    "@h[epid, id, probename] = count();",
    "@i[probename, uregs[R_RAX] == arg1, uregs[R_RIP] == arg0] = count();",
    "for (this->n = 0; this->n < 3; this->n++) { @j[probename, (uint64_t)arg1 < 64 ? arg1 : -2] = sum(this->n); }",
    "self->depth++; @k[probefunc, probename, self->depth] = count();",
    *(
        f"@{name}[probefunc, probename, (uint64_t)({number} + 9) < 4096 ? {number} : -20] = count();"
        for name, number in (("l", "arg0"), ("m", "arg1"), ("n", "arg2"), ("o", "(int)arg5"), ("p", "arg7"))
    ),
)
"""What they say of two runs of the program is the same."""

RUNS = count_of(2)


def market():
    packages.require("gcc")
    return program(MARKET.read_text(), "-g")


def some_program(source, binary):
    clauses = []
    for _ in range(source.randint(1, 3)):
        probes = [*source.sample(PLACES, source.randint(1, 4)), *source.sample(OTHERS, source.randint(0, 2))]
        some = source.sample(STATEMENTS, source.randint(1, 4))
        clauses.append(f"{','.join(probes).replace('BINARY', binary)} {{ {' '.join(some)} }}")
    return "this int n; self int depth; " + " ".join(clauses)


def results(text, binary):
    """The aggregations by name, with stacks as texts, and how many faults there were."""
    with sonde.trace(text, [binary], engine="embedded") as run:
        faults = sum(isinstance(event, sonde.ProbeError) for event in run)
        assert not run.losses
        tables = {
            name: {tuple(map(str, key)): value for key, value in table.items()}
            for name, table in run.aggregations.items()
        }
        return tables, faults


@pytest.mark.long
@pytest.mark.parametrize("seed", range(RUNS))
def test_results_are_those_of_programs_of_their_own(seed, monkeypatch):
    binary = market()
    text = some_program(random.Random(f"general probes at functions {seed + 1}"), binary)
    called = results(text, binary)
    assert any(called[0].values()), text
    monkeypatch.setattr(offer, "FEATURES", offer.FEATURES - {"general_probes"})
    assert called == results(text, binary), text


def test_each_adapter_calls_the_clauses_of_its_probes():
    """Also where the probes of one clause are both before and behind those of another."""
    binary = market()
    text = (
        f"uprobe:{binary}:fibonacci:entry,pid$target:a.out:fibonacci:return {{ @a[probeprov, probename] = count(); }}"
        "pid$target:a.out:areas:return,pid$target:a.out:six:entry,tick-1h { @b[probefunc, probename] = count(); }"
    ).replace("probeprov", 'probeprov == "uprobe"')
    tables, faults = results(text, binary)
    assert not faults
    assert tables == {
        "a": {("1", "entry"): 41, ("0", "return"): 41},
        "b": {("areas", "return"): 1, ("six", "entry"): 1},
    }


KINDS = (
    ("pid$target::six:entry,syscall::read:entry,tick-1h", ["kprobe", "perf_event", "probe", "raw_tracepoint"]),
    ("pid$target::six:entry,pid$target::sells:return,pid$target::sells:entry", ["kprobe", "kprobe", "probe"]),
    ("pid$target::fibonacci:,rawtp:::sched_process_exec", [*["kprobe"] * 3, "probe", "raw_tracepoint"]),
    ("uprobe:BINARY:six:entry,pid$target::six:entry", ["kprobe", "probe"]),
    ("market$target:::,tick-1h", ["kprobe", "perf_event", "probe"]),
)
"""Probes of one clause, and the types of the programs that fire them."""


BODY = "{ @a[probename] = quantize(timestamp); @b[execname] = count(); }"


@functools.cache
def alone():
    """How many instructions the clause's program has for one probe."""
    ((_, _, number),) = told(f"pid$target::six:entry {BODY}", market())
    return number


@pytest.mark.share(1)
@pytest.mark.parametrize(("probes", "kinds"), KINDS)
def test_a_clause_stands_once_beside_small_adapters(probes, kinds):
    binary = market()
    probes = probes.replace("BINARY", binary)
    programs = told(f"{probes} {BODY}", binary)
    assert sorted(kind for _, kind, _ in programs) == kinds
    assert all(number == 6 for name, _, number in programs if name.startswith("from"))
    assert sum(number for _, _, number in programs) < alone() + 40 + 6 * len(kinds)


@pytest.mark.share(1)
@pytest.mark.parametrize("value", ["args->a", "arg6"])
def test_what_only_the_process_has_keeps_a_program_of_its_own(value):
    """The variables of a place, and arguments on a stack: other probes' threads need not be held for them."""
    binary = market()
    text = f"pid$target::six:entry {{ @[{value}] = count(); }} pid$target::six:entry,tick-1h {{ @t[arg6] = count(); }}"
    assert not [kind for _, kind, _ in told(text, binary) if kind == "probe"]
