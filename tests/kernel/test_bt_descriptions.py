"""Forms of descriptions of probes in bpftrace's language: all of these compile, and fire what they say."""

import re

import pytest
from command import sonde

FORMS = """
begin { }
own=begin { }
interval:s:1e1 { }
interval:1e9 { }
i:100ms { }
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


@pytest.mark.parametrize("program", [line for line in FORMS.splitlines() if line])
def test_a_description_compiles(program):
    sonde("bt", "--dry-run", "-e", program)


def test_a_wildcard_of_types_is_each_type_that_has_such_probes():
    text = "*:sched:sched_switch { @[probetype] = count(); } interval:ms:200 { exit(); }"
    found = set(re.findall(r"@\[(\w+)\]", sonde("bt", "-e", text).stdout))
    assert found == {"tracepoint"}


def test_calls_of_two_forms_have_their_own_arguments():
    """Programs of two clauses that no call has both of, each with many branches, load quickly."""
    text = "t:syscalls:sys_enter_exec* { join(args.argv); }"
    output = sonde("bt", "-e", text, "-c", "sh -c 'cat /dev/null; true'").stdout
    assert "cat /dev/null\n" in output
