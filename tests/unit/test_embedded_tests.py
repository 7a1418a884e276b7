"""The rule that chooses tests of DTrace's suite for the embedded engine."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from embedded_tests import SuiteTest, reason

CHOSEN = {
    "tst.a.d": "BEGIN { trace(sizeof (struct a)); exit(0); } struct a { int b; };",
    "tst.types.d": "struct a { int b; }; typedef struct a mine_t; BEGIN { trace(((mine_t *)0)->b); }",
    "tst.target.d": "/* @@runtest-opts: -qc date */ syscall::open*:entry /pid == $target/ { @ = count(); }",
    "tst.trigger.d": "/* @@trigger: delaydie */ proc:::exit { exit(0); }",
    "tst.switch.d": "/* @@runtest-opts: -c date */ sched:::on-cpu, sched:::surrender { @ = count(); }",
    "tst.tick.d": "tick-1s, BEGIN { printf(\"%s\", probename); }",
    "tst.comment.d": "/* curthread */ BEGIN { trace(\"stack() curthread `a fbt:::entry\"); }",
    "err.D_SYNTAX.d": "BEGIN { trace(; } syscall:::entry { }",
    "tst.shell.sh": "dtrace=$1\n$dtrace -qn 'syscall:::entry { trace(\"a\"); }' -c date\n",
    "tst.list.sh": "dtrace=$1\n$dtrace $dt_flags -lvn sched:::on-cpu\n  $dtrace $dt_flags -lf read\n",
    "tst.here.sh": "$dtrace -s /dev/stdin <<EOF\nBEGIN { trace(\\$target); }\nEOF\ncat <<EOF\ncurthread `a\nEOF\n",
}  # fmt: skip

LEFT_OUT = {
    "tst.a.d": ("fbt::do_fork:entry { }", "provider fbt"),
    "tst.all.d": (":::entry { } ::: { }", "every provider"),
    "tst.thread.d": ("BEGIN { trace(curthread->pid); }", "curthread"),
    "tst.stack.d": ("tick-1 { stack(); }", "stack"),
    "err.D_SYNTAX.d": ("BEGIN { trace(curthread; }", "curthread"),
    "tst.data.d": ("BEGIN { trace(`max_pfn); }", "kernel's data"),
    "tst.type.d": ("BEGIN { print((struct sk_buff *)0); }", "types"),
    "tst.system.d": ("syscall:::entry { exit(0); }", "whole system"),
    "tst.switch.d": ("sched:::off-cpu { exit(0); }", "whole system"),
    "tst.switches.d": ("/* @@runtest-opts: -c date */ sched::: { @ = count(); }", "provider sched"),
    "tst.profile.d": ("profile::: { exit(0); }", "whole system"),
    "tst.pid.d": ("pid$target::main:entry { }", "user processes"),
    "tst.shell.sh": ("$dtrace $dt_flags -n '\nprofile-97 { exit(0); }'\nmkdir -p x\n", "whole system"),
    "tst.list.sh": ("$dtrace -ln syscall:::\n$dtrace -n syscall::read:entry\n", "whole system"),
    "tst.here.sh": ("$dtrace -s /dev/stdin \\\n  -q <<-'EOF'\n\tsched:::wakeup { }\n\tEOF\n", "provider sched"),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_needs_nothing_of_the_kernel_is_chosen(name, tmp_path):
    (tmp_path / name).write_text(CHOSEN[name])
    assert reason(SuiteTest(tmp_path, name)) == ""


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_needs_the_kernel_is_left_out_with_the_reason(name, tmp_path):
    text, wanted = LEFT_OUT[name]
    (tmp_path / name).write_text(text)
    assert wanted in reason(SuiteTest(tmp_path, name))
