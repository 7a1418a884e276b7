"""Objects that write their records into the perf ring itself, as a user without privileges runs them."""

import re
import shlex
import sys

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.command.unprivileged import sonde

CALLS = "import os; [os.getppid() for _ in range({})]"

SLOTS = """
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } events SEC(".maps");
struct event { u64 number, twice; char filler[96]; };
u64 calls, full, discarded;
SEC("tracepoint/syscalls/sys_enter_getppid") int on_call(void *context)
{
    struct event *event = bpf_perf_event_reserve(&events, sizeof *event, 0xffffffffULL);
    u64 number = calls++;
    if (!event) {
        full++;
        return 0;
    }
    event->number = number;
    event->twice = 2 * number;
    discarded += number % 3 == 2;
    bpf_perf_event_commit(event, number % 3 == 2);
    return 0;
}
"""


@pytest.mark.long
@pytest.mark.parametrize("compiler", BOTH)
@pytest.mark.parametrize("count", [37, 20011])
def test_what_is_committed_is_shown_in_order_and_the_rest_is_counted(compiler, count):
    """The larger number fills the ring many times over its end."""
    command = shlex.join([sys.executable, "-c", CALLS.format(count)])
    done = sonde("--engine", "embedded", "--object", compiled(SLOTS, compiler), "--dump", "-c", command)
    shown = [(int(number), int(twice)) for number, twice in
             re.findall(r"^events: \{\.number = (\d+), \.twice = (\d+)", done.stdout, re.MULTILINE)]  # fmt: skip
    calls, full, discarded = (int(re.search(rf"^{name} = (\d+)$", done.stdout, re.MULTILINE)[1])
                              for name in ("calls", "full", "discarded"))  # fmt: skip
    assert calls >= count
    assert len(shown) + full + discarded == calls
    assert shown == sorted(shown)
    assert all(twice == 2 * number and number % 3 != 2 for number, twice in shown)
    told = sum(int(number) for number in re.findall(r"(\d+) [^\n]*(?:lost|drop|no room)", done.stderr))
    assert told == full


UNCHECKED = SLOTS.replace("    if (!event) {\n        full++;\n        return 0;\n    }\n", "")


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_a_slot_that_may_be_none_is_refused(compiler):
    command = shlex.join([sys.executable, "-c", CALLS.format(1)])
    done = sonde("--engine", "embedded", "--object", compiled(UNCHECKED, compiler), "-c", command, status=1)
    assert "may be NULL: it comes from bpf_perf_event_reserve" in " ".join(done.stderr.split())
