"""Aggregations against a busy system: printed and remaining are what happened, with clear, trunc and printa between."""

import re
from collections import Counter, defaultdict

import pytest
from support.command.command import build, sonde, table

CALLS = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* calls getpgid N times with arguments 0 .. 9 in turn, paced at RATE a second (0: not paced), alone or by two */
int main(int argc, char **argv) {
    long number = atol(argv[1]), rate = atol(argv[2]);
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < number; i++) {
        syscall(SYS_getpgid, 1000000000 + i % 10, 0x5bd1e995);
        if (rate && i % 100 == 99)
            do clock_gettime(CLOCK_MONOTONIC, &now);
            while ((now.tv_sec - begin.tv_sec) * 1e9 + now.tv_nsec - begin.tv_nsec < i * 1e9 / rate);
    }
    return 0;
}
"""

OURS = "syscall::getpgid:entry /pid == $target && arg1 == 0x5bd1e995/"
TOTAL, RATE = 200_000, 100_000


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    return build(tmp_path_factory.mktemp("c"), "calls", CALLS)


def printed(text):
    """For each key the values of all its rows, in order; frames of stacks are left out."""
    found = defaultdict(list)
    for line in text.splitlines():
        if line.strip() and "`" not in line:
            *key, number = line.split()
            found[tuple(key)].append(int(number))
    return found


@pytest.mark.share(1)
@pytest.mark.parametrize("key", ["", "[arg0]", "[execname]", "[probefunc, arg0 & 1]", "[stack(2)]"])
@pytest.mark.parametrize("forget", ["clear", "trunc"])
def test_no_count_is_lost_between_printa_and_forgetting(calls, key, forget):
    """100,000 a second; printa and clear or trunc in one clause ten times a second."""
    text = f"{OURS} {{ @{key} = count(); }} tick-100ms {{ printa(@); {forget}(@); }} END {{ printa(@); }}"
    number = TOTAL // 4
    found = printed(sonde("-qc", f"{calls} {number} {RATE}", "-n", text).stdout)
    assert sum(sum(values) for values in found.values()) == number


@pytest.mark.long
def test_every_function_is_exact_over_clears(calls):
    """Sums, counts and histograms of each interval add up to those of the whole."""
    text = (OURS + " { @c = count(); @s = sum(arg0 - 1000000000); @q = lquantize(arg0 - 1000000000, 0, 10, 1); "
            "@all = sum(arg0 - 1000000000); } "
            'tick-100ms { printa("c %@d\\n", @c); printa("s %@d\\n", @s); clear(@c); clear(@s); } '
            'END { printa("c %@d\\n", @c); printa("s %@d\\n", @s); printa("all %@d\\n", @all); '
            "printa(@q); }")  # fmt: skip
    out = sonde("-qc", f"{calls} {TOTAL} {RATE}", "-n", text).stdout
    sums = Counter()
    for name, number in re.findall(r"^(c|s|all) (\d+)$", out, re.M):
        sums[name] += int(number)
    assert sums == {"c": TOTAL, "s": TOTAL // 10 * 45, "all": TOTAL // 10 * 45}
    buckets = dict(re.findall(r"^ +(\d+) \|@* +(\d+)", out, re.M))
    assert {int(k): int(n) for k, n in buckets.items() if n != "0"} == dict.fromkeys(range(10), TOTAL // 10)


def test_functions_agree_with_python(calls):
    """min, max, avg, stddev, quantize and llquantize of known values, negative ones too."""
    value = "((int)arg0 - 1000000004) * 37"
    values = [(i % 10 - 4) * 37 for i in range(1000)]
    names = ("min", "max", "avg", "stddev", "sum", "count")
    clauses = " ".join(f"@{n} = {n}({'' if n == 'count' else value});" for n in names)
    show = " ".join(f'printa("{n} %@d\\n", @{n});' for n in names)
    text = f"{OURS} {{ {clauses} @quantize = quantize({value}); }} END {{ {show} printa(@quantize); }}"
    out = sonde("-qc", f"{calls} 1000 0", "-n", text).stdout
    shown = {name: int(number) for name, number in re.findall(r"^(\w+) (-?\d+)$", out, re.M)}
    mean = sum(values) / len(values)
    deviation = (sum(v * v for v in values) / len(values) - mean * mean) ** 0.5
    assert shown == {
        "min": -148,
        "max": 185,
        "avg": int(mean),
        "stddev": shown["stddev"],
        "sum": sum(values),
        "count": 1000,
    }
    assert abs(shown["stddev"] - deviation) <= 1
    expected = Counter(0 if not v else (1 if v > 0 else -1) * (1 << (abs(v).bit_length() - 1)) for v in values)
    rows = {int(k): int(n) for k, n in re.findall(r"^ +(-?\d+) \| *@* +(\d+)", out, re.M) if n != "0"}
    rows |= {int(k): int(n) for k, n in re.findall(r"^ +(-?\d+) +@*\|@* +(\d+)", out, re.M) if n != "0"}
    assert rows == expected


def test_min_and_max_begin_anew_after_clear(calls):
    """What is printed after a clear is the smallest since then, and nothing stays of before."""
    text = ('BEGIN { @m = min(-5); @x = max(77); printa("%@d %@d\\n", @m, @x); clear(@m); clear(@x); } '
            + OURS + ' { @m = min(arg0 - 1000000000 + 3); @x = max(arg0 - 1000000000); } '
            'END { printa("%@d %@d\\n", @m, @x); }')  # fmt: skip
    assert sonde("-qc", f"{calls} 50 0", "-n", text).stdout.split() == ["-5", "77", "3", "9"]


def test_a_full_aggregation_counts_what_it_drops(calls):
    """Printed counts and reported drops are together all calls."""
    text = OURS + " { @[i++] = count(); }"
    done = sonde("-xaggsize=4k", "-qc", f"{calls} 3000 0", "-n", text)
    drops = sum(int(number) for number in re.findall(r"(\d+) aggregation drops?", done.stderr))
    assert drops > 0
    assert sum(table(done.stdout).values()) + drops == 3000


def test_trunc_keeps_the_highest(calls):
    text = OURS + " { @[arg0 - 1000000000] = sum(arg0 - 1000000000); } END { trunc(@, 3); }"
    seen = table(sonde("-qc", f"{calls} 1000 0", "-n", text).stdout)
    assert seen == {("7",): 700, ("8",): 800, ("9",): 900}


def test_a_probes_name_and_a_shorter_string_are_keys_of_one_aggregation():
    """And of one array: the name is not cut to the shorter one's size."""
    text = """
    BEGIN { @[probename] = count(); @["x"] = count(); a[probeprov] = 3; a["y"] = 2; self->b["z"] = 1; }
    BEGIN { self->b[probename] = 4; printf("%d", a["dtrace"] + a["y"] + self->b["BEGIN"] + self->b["BEGI"]); exit(0); }
    """
    assert sonde("-qn", text).stdout.split() == ["9", "BEGIN", "1", "x", "1"]


ZEROS = ("sum(0)", "quantize(5, 0)", "lquantize(5, 0, 10, 1, 0)", "llquantize(5, 10, 0, 3, 10, 0)", "min(0)", "max(0)",
         "avg(0)", "stddev(0)", "count()")  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [(), ("-xaggpercpu",)], ids=["all", "each"])
def test_an_aggregation_is_shown_if_it_was_used_whatever_it_has_come_to(options):
    """Cleared, it is zero; truncated, it is gone; never used, it is not there."""
    used = " ".join(f"@a{n} = {function};" for n, function in enumerate(ZEROS))
    never = used.replace("@a", "@never")
    numbers = range(len(ZEROS))

    def shown(action):
        ends = " ".join(f'printf("\\n{n}:"); printa(@a{n}); printa(@never{n});' for n in numbers)
        text = f"BEGIN {{ {used} {action} exit(0); }} tick-1 /0 != 0/ {{ {never} }} END {{ {ends} }}"
        parts = sonde("-q", *options, "-n", text).stdout.split("\n")
        starts = [parts.index(f"{n}:") for n in numbers]
        return ["".join(parts[a + 1 : b]).split() for a, b in zip(starts, [*starts[1:], None], strict=True)]

    assert all(shown(""))
    assert all(shown(" ".join(f"clear(@a{n});" for n in numbers)))
    assert shown(" ".join(f"trunc(@a{n});" for n in numbers)) == [[] for _ in numbers]


def test_a_histogram_larger_than_the_kernel_keeps_for_a_cpu_says_so():
    """4,000 levels are possible."""
    done = sonde("-qn", 'BEGIN { @["x"] = lquantize(5, 0, 1000000, 100); exit(0); }', status=1)
    assert "for lquantize() take a larger step" in done.stderr
    assert "Distribution" in sonde("-qn", 'BEGIN { @["x"] = lquantize(5, 0, 400000, 100); exit(0); }').stdout
