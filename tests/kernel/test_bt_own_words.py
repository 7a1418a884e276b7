"""What bpftrace itself says, in its own words: messages, places, names and values."""

import json

import pytest
from support.command.command import sonde
from support.command.targets import program

TARGET = """
union number { int i; float f; };
struct thing { int m; union number n; float real; };
__attribute__((noinline)) int function(struct thing *thing) { asm volatile("" ::: "memory"); return thing != 0; }
struct thing thing = {2, {5}, 1.5};
int main(void)
{
    return function(&thing) != 1 || function(0);
}
"""


def bt(*words, status=0):
    return sonde("bt", "-q", *words, status=status)


def test_values_and_names():
    text = """
    enum own { FIRST = 1, SECOND };
    struct holder { enum own kind; };
    begin {
        print((sizeof(BTF_VAR_STATIC), sizeof(FIRST), sizeof(enum own), sizeof(((struct holder *)0)->kind)));
        print((signal_name(0), signal_name(9), __builtin_ncpus == ncpus, __builtin_comm == comm));
    }
    """
    assert bt("-e", text).stdout.splitlines()[:2] == ["(8, 8, 8, 4)", "(Unknown signal 0, Killed, true, true)"]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (("-f", "jsonx", "-e", "begin { }"), ['ERROR: Invalid output format "jsonx"', "Valid formats: 'text', 'json'"]),
        (("-p", "12ab", "-e", "begin { }"), ["ERROR: Failed to parse pid: invalid trailing bytes: 12ab"]),
        (("-p", "abc", "-e", "begin { }"), ["ERROR: Failed to parse pid: invalid integer: abc"]),
        (("-p", "99999999999", "-e", "begin { }"), ["ERROR: Pid out of range: 99999999999"]),
        (
            ("-e", "tracepoint:nosuch:*,\nuprobe:/bin/true:nosuch* { }"),
            ["stdin:1-2: ERROR: Probe has no valid attach points. If this is expected, set the 'missing_probes' config "
             "variable to 'warn'.", "tracepoint:nosuch:*,", "uprobe:/bin/true:nosuch* { }"],
        ),
        (
            ("-e", "tracepoint:nosuch:*, tracepoint:sched:nosuch { }"),
            ["stdin:1:22-45: ERROR: No matches for tracepoint sched:nosuch."],
        ),
        (
            ("-e", "macro in(x) { x.none } macro out(x) { in(x) + 1 } begin { print(out(1)); }"),
            ["stdin:1:15-21: ERROR: Can not access field 'none' on expression of type 'int8'",
             "macro in(x) { x.none } macro out(x) { in(x) + 1 } begin { print(out(1)); }", " " * 14 + "~" * 6,
             "stdin:1:39-44: ERROR: expanded from",
             "macro in(x) { x.none } macro out(x) { in(x) + 1 } begin { print(out(1)); }", " " * 38 + "~" * 5,
             "stdin:1:65-71: ERROR: expanded from"],
        ),
    ],
)  # fmt: skip
def test_mistakes(words, lines):
    assert bt(*words, status=1).stderr.splitlines()[: len(lines)] == lines


def test_offsets_outside_of_functions():
    target = program(TARGET, "-g")
    told = bt("-e", f"uprobe:{target}:function+1000000 {{ }}", status=1).stderr.splitlines()[0]
    before, _, size = told.partition("'function' size is ")
    assert before.endswith("ERROR: Offset outside the function bounds (")
    assert 0 < int(size.rstrip(")")) < 100


def test_wildcards_that_nothing_fits_are_left_out():
    done = bt("--dry-run", "-e", "tracepoint:nosuch:*, tracepoint:sched:sched_switch { }")
    assert done.stderr == ""
    done = bt("--dry-run", "-e", "config = { missing_probes=warn } tracepoint:nosuch:* { } begin { }")
    text = "Probe has no valid attach points. It is being removed which may cause issues with program behavior."
    assert done.stderr.splitlines()[0] == f"stdin:1:34-53: WARNING: {text}"
    assert bt("--dry-run", "-e", "config = { missing_probes=ignore } tracepoint:nosuch:* { } begin { }").stderr == ""


def test_warnings_say_which_call_of_a_macro_they_are_about():
    text = 'macro shown(x) { x + "a" } begin { print(shown(1)); print(shown(2)); }'
    lines = [line for line in bt("-e", text).stderr.splitlines() if "WARNING" in line]
    assert [line.partition(": WARNING")[0] for line in lines] == [
        "stdin:1:18-25", "stdin:1:42-50", "stdin:1:18-25", "stdin:1:59-67",
    ]  # fmt: skip


def test_helpers_that_fail_are_told_with_their_names():
    target = program(TARGET, "-g")
    text = f"uprobe:{target}:function / arg0 == 0 / {{ $x = ((struct thing *)arg0).m; $s = str(arg0 + 1); exit(); }}"
    lines = bt("-k", "-f", "json", "-e", text, "-c", target).stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [each for each in found if each["type"] == "helper_error"] == [
        {"type": "helper_error", "msg": "Bad address", "helper": helper, "retcode": -14, "filename": "stdin",
         "line": 1, "col": text.index(part) + 1}
        for helper, part in (("probe_read_user", "(struct thing"), ("probe_read_user_str", "str("))
    ]  # fmt: skip
    shown = bt("-k", "-e", text, "-c", target).stderr.splitlines()
    assert shown[1] == "Additional Info - helper: probe_read_user, retcode: -14"


def test_unions_have_no_floating_point_members():
    target = program(TARGET, "-g")
    text = f"uprobe:{target}:function {{ print(*(struct thing *)arg0); exit(); }}"
    line = bt("-f", "json", "-e", text, "-c", target).stdout.splitlines()[0]
    assert json.loads(line)["data"] == {"m": 2, "n": {"i": 5, "f": None}, "real": 1.5}
    assert ".n = { .i = 5, .f = null }" in bt("-e", text, "-c", target).stdout
