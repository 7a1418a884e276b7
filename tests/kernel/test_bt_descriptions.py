"""Forms of descriptions of probes in bpftrace's language: all of these compile, and fire what they say."""

import random
import re
from fnmatch import fnmatchcase

import pytest
from support.command.command import build, sonde

FORMS = """
begin { }
own=begin { }
interval:s:1e1 { }
interval:1e9 { }
i:100ms { }
i:100ms, { }
i:100ms,s:cs:1000, /pid/ { }
p:hz:0x63 { }
t*:sched:sched_switch { }
t:*:sched_switch { }
t:syscalls:sys_enter_open*, t:sched:sched_s*h { }
rt:sched_switch { print(args.prev) }
rt:vmlinux:sched_sw* { }
rt:*:sched_switch { }
*:sched:sched_switch { }
*:libc:malloc { @[probe] = count(); }
s:cs: { }
s:cpu:1e6 { }
software:faults:100 { }
usdt:*:nobody_has { print(arg0) }
U:*:nobody:nobody_has { }
self:signal:SIGUSR1 { }
w:0x10000000:8:wr { }
it:task_file { print(ctx.fd) }
"""


@pytest.mark.share(2)
@pytest.mark.parametrize("program", [line for line in FORMS.splitlines() if line])
def test_a_description_compiles(program):
    sonde("bt", "--dry-run", "-e", program)


def test_a_wildcard_of_types_is_each_type_that_has_such_probes():
    text = "*:sched:sched_switch { @[probetype] = count(); } interval:ms:200 { exit(); }"
    found = set(re.findall(r"@\[(\w+)\]", sonde("bt", "-e", text).stdout))
    assert found == {"tracepoint"}


@pytest.mark.long
def test_calls_of_two_forms_have_their_own_arguments():
    """Programs of two clauses that no call has both of, each with many branches, load quickly."""
    text = "t:syscalls:sys_enter_exec* { join(args.argv); }"
    output = sonde("bt", "-e", text, "-c", "sh -c 'cat /dev/null; true'").stdout
    assert "cat /dev/null\n" in output


CALLS = ("read", "close", "openat", "newfstatat", "write")
SEARCHES = ("sys_*_read", "sys_enter_re*", "sys_enter_c*e", "sys_*_openat", "sys_enter_*stat*", "sys_exit_w*", "sys_*e")


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(6))
def test_names_of_probes_that_several_descriptions_find(seed):
    """Each is counted as often as descriptions find it, however these stand together, by its name and its number."""
    chosen = random.Random(f"descriptions {seed}")
    every = [f"sys_{side}_{call}" for call in CALLS for side in ("enter", "exit")]
    lists = [chosen.sample((*SEARCHES, *every), chosen.randint(2, 4)) for _ in range(2)]
    value = chosen.choice(("probe", "probe, args.__syscall_nr"))
    clauses = [
        ", ".join(f"t:syscalls:{each}" for each in found) + f" /pid == cpid/ {{ @by[{value}] = count(); }}"
        for found in lists
    ]
    plain = [f't:syscalls:{each} /pid == cpid/ {{ @of["{each}"] = count(); }}' for each in every]
    output = sonde("bt", "-q", "-e", "\n".join(clauses + plain), "-c", "/bin/cat /dev/null /etc/hostname").stdout
    counted = dict(re.findall(r"@of\[(\w+)\]: (\d+)", output))
    times = {each: sum(fnmatchcase(each, search) for found in lists for search in found) for each in every}
    named = re.findall(r"@by\[tracepoint:syscalls:(\w+)(?:, \d+)?\]: (\d+)", output)
    assert {name: int(count) for name, count in named if name in every} == {
        each: times[each] * int(counted[each]) for each in every if times[each] and each in counted
    }
    assert len(named) > 1
    assert len(counted) >= 8


def test_arguments_of_a_call_are_those_that_are_listed():
    listed = sonde("bt", "-lv", "t:syscalls:sys_enter_openat").stdout.splitlines()[1:]
    shown = sonde("bt", "-q", "-e", "t:syscalls:sys_enter_openat { print(args); }", "-c", "cat /dev/null").stdout
    assert re.findall(r"\.(\w+) = ", shown.splitlines()[0]) == [each.split()[-1] for each in listed]


def test_tracepoints_of_all_calls_are_there_on_both_engines():
    """Where the kernel's trace events cannot be had they are its raw tracepoints, with the same arguments."""
    program = """
        tracepoint:raw_syscalls:sys_enter /pid == cpid && args.id != 59/ {
            @of[args.id] = count(); @by[probe] = count();
        }
        tracepoint:raw_syscalls:sys_exit /pid == cpid && args.id != 59/ { @in[args.id, args.ret < 0] = count(); }
    """
    found = [
        sonde("bt", "-q", "--engine", engine, "-e", program, "-c", "cat /dev/null").stdout
        for engine in ("kernel", "embedded")
    ]
    kernel, embedded = ({line for line in each.splitlines() if line.startswith("@")} for each in found)
    # All but execve(2): the embedded engine traces the command from there on.
    assert kernel == embedded
    assert len(kernel) > 20
    listed = [
        sonde("bt", "--engine", engine, "-lv", "t:raw_syscalls:sys_exit").stdout for engine in ("kernel", "embedded")
    ]
    assert listed[0] == listed[1]


def test_that_an_engine_has_not_the_kernel_s_tracepoints_is_told():
    done = sonde("bt", "--engine", "embedded", "-e", "t:sched:sched_switch { }", "-c", "true", status=1)
    assert "No matches for tracepoint sched:sched_switch." in done.stderr
    assert "HINT: the embedded engine has no sdt probes" in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("search", "some"),
    [
        ("t:syscalls:sys_*_openat", {"__syscall_nr dfd filename flags mode", "__syscall_nr ret"}),
        ("t:syscalls:sys_enter_*stat*", {"__syscall_nr dfd filename statbuf flag"}),
        ("t:raw_syscalls:sys_*", {"id args", "id ret"}),
    ],
)
def test_arguments_as_a_whole_are_those_of_the_probe_that_fires(search, some):
    """Of a wildcard, too, whose probes have different ones."""
    program = f"{search} {{ print(args); }}"
    output = sonde("bt", "-q", "--engine", "embedded", "-e", program, "-c", "cat /dev/null").stdout
    assert some <= {" ".join(re.findall(r"\.(\w+) = ", line)) for line in output.splitlines()}


def test_a_mistake_about_one_of_several_probes_names_it():
    done = sonde("bt", "-e", "t:syscalls:sys_*_openat { print(args.dfd); }", status=1)
    assert "'tracepoint:syscalls:sys_exit_openat' does not contain a field named 'dfd'" in done.stderr


def test_arguments_of_all_calls_are_the_same_on_both_engines(tmp_path):
    """The kernel's trace event has them, the embedded engine the registers of the raw one."""
    calls = "".join(f"syscall({number}, {number}1L, -{number}2L, 3, 4L << 40, 5, -6L);" for number in (121, 147, 500))
    work = build(tmp_path, "calls", f"#include <unistd.h>\nint main() {{ {calls} return 0; }}")
    program = r"""
        tracepoint:raw_syscalls:sys_enter /comm == "calls" && (args.id == 121 || args.id == 147 || args.id == 500)/ {
            $which = args.id % 6; $all = args.args;
            print(args); printf("%d %lx %d\n", args.args[1], args.args[3], $all[$which]);
            @[args.id, args.args[0]] = count();
        }
        tracepoint:raw_syscalls:sys_exit /comm == "calls" && args.id == 500/ { print(args); }"""
    engines = "kernel", "embedded"
    shown = [sonde("bt", "-q", "--engine", engine, "-e", program, "-c", work).stdout for engine in engines]
    assert shown[0] == shown[1]
    assert "{ .id = 121, .args = [1211,18446744073709550404,3,4398046511104,5,18446744073709551610] }" in shown[0]
    listed = [sonde("bt", "--engine", engine, "-lv", "tracepoint:raw_syscalls:*").stdout for engine in engines]
    assert listed[0] == listed[1]
