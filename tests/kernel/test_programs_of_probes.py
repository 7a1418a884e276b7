"""How many programs a session loads: one for all probes whose contexts have the same shape, each clause once in it."""

import re
import shutil
from collections import Counter

import pytest
from support.command.command import sonde
from support.d.d_run import compilation, registry

from sonde.bpf.programs import name_of

SCHED = "sdt:::sched_switch,sdt:::sched_wakeup,sdt:::sched_waking,sdt:::sched_migrate_task"
EIGHT = ",".join(f"rawtp:::{name}" for name in (
    "sched_switch", "sched_wakeup", "sched_waking", "sched_migrate_task", "sys_enter", "sys_exit", "sched_process_fork",
    "sched_process_exit",
))  # fmt: skip


def kinds(text):
    """How many programs there are of each type."""
    return Counter(name_of(program.kind) for program in compilation(text).spec().programs)


@pytest.mark.share(9)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("profile-97,profile-99 { @[probename] = count(); }", {"perf_event": 1}),
        ("profile-97 { @a = count(); } profile-99,tick-1s { @b[arg0] = count(); }", {"perf_event": 1}),
        ("profile-97 { @a = count(); sample(); } tick-1s { @b = count(); }", {"perf_event": 2}),
        ("sdt:::sched_* { @[probename] = count(); }", {"raw_tracepoint": 1}),
        (f"{SCHED} {{ trace(pid); }}", {"raw_tracepoint": 1}),
        (f"{SCHED} {{ trace(pid); }} {SCHED} {{ @ = count(); }}", {"raw_tracepoint": 1}),
        (f"{EIGHT} {{ @[probename] = count(); }}", {"raw_tracepoint": 1}),
        (f"{EIGHT} {{ @[probename, arg0] = count(); }}", {"raw_tracepoint": 1}),
        # sys_enter has two arguments, sched_wakeup one.
        ("rawtp:::sys_enter,rawtp:::sys_exit,rawtp:::sched_wakeup { trace(arg1); }", {"raw_tracepoint": 2}),
        # What is followed as a pointer is typed, and a typed program has one tracepoint.
        ("rawtp:::sched_wakeup,rawtp:::sched_waking { trace(args[0]->pid); }", {"tracing": 2}),
        ("rawtp:::sched_wakeup,rawtp:::sched_waking { trace(((struct task_struct *)arg0)->pid); }", {"tracing": 2}),
        ("sdt:::sched_wakeup,sdt:::sched_waking { trace(args->pid); }", {"tracepoint": 1}),
    ],
)
def test_probes_with_contexts_of_one_shape_share_a_program(text, expected):
    assert kinds(text) == expected


def test_trace_events_share_a_program_by_the_places_of_the_fields_used():
    found = registry()
    probes = found.match("sdt", "", "", "sched_*")
    places = {
        (field.offset, field.size, field.location, field.type) for probe in probes for field in found.fields(probe)[:1]
    }
    without = any(not found.fields(probe) for probe in probes)
    assert kinds("sdt:::sched_* { @[probename, arg0] = count(); }") == {"tracepoint": len(places) + without}


def test_a_clause_stands_once_in_a_program():
    """Its aggregation is updated at one place, whatever the probes are."""
    one = compilation("profile-97 { @[execname] = quantize(arg0); }").spec().programs[0]
    many = compilation("profile-97,profile-98,profile-99 { @[execname] = quantize(arg0); }").spec().programs[0]
    assert len(many.code) <= len(one.code) + 8 * 4


def test_who_fired_is_asked_for_only_where_a_clause_wants_it():
    """The attach cookie costs a call."""
    spec = compilation(f"{SCHED} {{ @ = count(); }}").spec()
    alone = compilation("sdt:::sched_switch { @ = count(); }").spec()
    assert len(spec.programs[0].code) == len(alone.programs[0].code)


def test_clauses_too_many_for_one_program_have_one_for_each_set():
    """Clocks share a program as long as it has no more maps than a program may use."""
    updates = [f"@a{n} = lquantize(1, 0, {n + 1}, 1); " for n in range(80)]
    text = f"profile-97 {{ {''.join(updates[:40])} }} profile-99 {{ {''.join(updates[40:])} }}"
    assert kinds(text) == {"perf_event": 2}


def test_descriptions_of_a_clause_are_numbered_each():
    """As clauses of their own would be: epid, faults and ERROR's arguments are the same."""
    body = "/pid == $target/ { @[probefunc, probename, epid] = count(); trace(*(int *)8); }"
    ends = 'ERROR { @["", "", arg2] = count(); }'
    lists = f"syscall::write:entry,syscall::exit_group:entry,syscall::write:return {body} {ends}"
    # Equal statements at other places of the text are other clauses.
    apart = f"syscall::write:entry {body} syscall::exit_group:entry {body} syscall::write:return {body} {ends}"
    command = f"{shutil.which('echo')} one"
    outputs = [sonde("-q", "-n", text, "-c", command) for text in (lists, apart)]
    rows = [sorted(line for line in done.stdout.splitlines() if line.strip() and line != "one") for done in outputs]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 6
    faults = [sorted(re.sub(r" at BPF pc \d+", "", line) for line in done.stderr.splitlines()) for done in outputs]
    assert faults[0] == faults[1]
    assert {re.search(r"dt_clause_(\d)", line)[1] for line in faults[0]} == {"0", "1", "2"}


def test_verbose_tells_programs_and_instructions():
    text = "profile-97,profile-99 { @[probename] = count(); } BEGIN { exit(0); }"
    programs = compilation(text).spec().programs
    told = sonde("-v", "-n", text).stderr
    for program in programs:
        assert re.search(rf"program {program.name}, .*: \d+ instructions", " ".join(told.split()))
    total = sum(len(program.code) // 8 for program in programs)
    assert f"{len(programs)} programs, {total} instructions" in told
