"""A program of bpftrace's language becomes as much code as its form in D: the same routines and the same records."""

import json

import pytest
from support.command.command import sonde as run

import sonde
from sonde.library.compiling import For, compiled
from sonde.library.settings import option_table

ENTRY, RETURN = "tracepoint:syscalls:sys_enter_getppid", "tracepoint:syscalls:sys_exit_getppid"

PAIRS = [
    ("BEGIN { exit(0); }", "begin { exit() }"),
    ("syscall::getppid:entry { @ = count(); }", f"{ENTRY} {{ @ = count(); }}"),
    ("syscall::getppid:entry { @[execname] = count(); }", f"{ENTRY} {{ @[comm] = count(); }}"),
    ("syscall::getppid:entry { @[pid, execname, cpu] = count(); }", f"{ENTRY} {{ @[pid, comm, cpu] = count(); }}"),
    ('syscall::getppid:entry /execname == "work"/ { @ = count(); }', f'{ENTRY} /comm == "work"/ {{ @ = count(); }}'),
    ("syscall::getppid:entry /pid == 1/ { @ = count(); }", f"{ENTRY} /pid == 1/ {{ @ = count(); }}"),
    ("syscall:::entry { @[probefunc] = count(); }", "tracepoint:syscalls:sys_enter_* { @[probe] = count(); }"),
    ("syscall:::entry { @[execname] = count(); }", "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }"),
    (
        "syscall::getppid:entry { self->t = timestamp; }"
        "syscall::getppid:return /self->t/ { @ = quantize(timestamp - self->t); self->t = 0; }",
        f"{ENTRY} {{ @s[tid] = nsecs; }} {RETURN} /@s[tid]/ {{ @ = hist(nsecs - @s[tid]); delete(@s[tid]); }}",
    ),
    (
        r'syscall::getpgid:entry { printf("%d %s %d %d\n", pid, execname, timestamp, arg0); }',
        r"tracepoint:syscalls:sys_enter_getpgid { printf("
        r'"%d %s %lld %d\n", pid, comm, nsecs, args.pid); }',
    ),
    (
        "syscall::access:entry { @[copyinstr(arg0)] = count(); }",
        "tracepoint:syscalls:sys_enter_access { @[str(args.filename)] = count(); }",
    ),
    (
        r'syscall::wait4:entry { printf("%s %x %p\n", execname, arg2, (void *)arg1); }',
        r'tracepoint:syscalls:sys_enter_wait4 { printf("%s %x %p\n", comm, args.options, args.stat_addr); }',
    ),
    (
        "syscall::wait4:entry { @[arg1] = count(); }",
        "tracepoint:syscalls:sys_enter_wait4 { @[args.stat_addr] = count(); }",
    ),
    ("profile-99 { @[stack(20)] = count(); }", "profile:hz:99 { @[kstack(20)] = count(); }"),
    ("profile-99 { @[stack(), ustack()] = count(); }", "profile:hz:99 { @[kstack, ustack] = count(); }"),
]


def instructions(spec):
    return sum(len(program.code) // 8 for program in spec.programs)


@pytest.mark.share(6)
@pytest.mark.parametrize(("d", "bt"), PAIRS, ids=[bt for _, bt in PAIRS])
def test_a_program_has_as_many_instructions_as_its_form_in_d(d, bt):
    """At most 5 in 100 more."""
    made = compiled("bpftrace", (("text", bt),), option_table({}), (), For("kernel"), "bpftrace").spec
    in_d = sonde.compile(d).spec
    assert instructions(made) <= 1.05 * instructions(in_d)
    # Maps are shown at the end without a clause of their own.
    assert len(made.programs) == len(in_d.programs)


def test_a_stack_is_the_same_wherever_it_is_written():
    """As a key, as one of several, and within a tuple, where it is kept before it is written."""
    program = """
        tracepoint:syscalls:sys_enter_openat /pid == cpid/ {
            @alone[kstack(3)] = count(); @second[7, kstack(3)] = count(); @within[(7, kstack(3))] = count();
            $kept = kstack(3); @kept[$kept] = count();
        }
    """
    done = run("bt", "-q", "-f", "json", "-e", program, "-c", "cat /dev/null")
    found = {name: rows for line in done.stdout.splitlines() for name, rows in json.loads(line)["data"].items()}
    assert set(found) == {"@alone", "@second", "@within", "@kept"}
    assert sum(found["@alone"].values()) > 2
    stacks = [
        sorted((key.replace("(", "").replace(")", "").removeprefix("7,").strip(), count) for key, count in rows.items())
        for rows in found.values()
    ]
    assert all(each == stacks[0] for each in stacks)
    assert "+" in stacks[0][0][0]
