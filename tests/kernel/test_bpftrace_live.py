"""Programs of bpftrace's language, run by the command on both engines."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from support.command.command import sonde

OPENS = str(Path(__file__).parents[2] / "examples" / "opens.bt")
ENGINES = ("kernel", "embedded")
OPENING = "sh -c 'n=0; while [ $n -lt 37 ]; do n=$((n+1)); : < /etc/passwd; done'"


def rows(output):
    """The maps that are shown at the end: each key and what stands behind its colon."""
    found = {}
    for line in output.splitlines():
        if match := re.fullmatch(r"(@\w*(?:\[.*\])?): (.*)", line):
            found[match[1]] = match[2]
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_the_example_counts_what_is_opened(engine):
    done = sonde("bt", "--engine", engine, OPENS, "-c", OPENING)
    opened = rows(done.stdout)
    assert opened["@opened[sh, /etc/passwd]"] == "37"
    counted = sum(int(value) for key, value in opened.items() if key.startswith("@opened[sh,"))
    bars = re.search(r"@us\[sh\]:\n(.*?)\n\n", done.stdout, re.DOTALL)[1].splitlines()
    assert sum(int(re.match(r"\S+(?: \S+\))? +(\d+) \|[@ ]{52}\|", bar)[1]) for bar in bars) == counted
    assert int(opened["@slowest"]) >= 0
    assert not any(key.startswith("@start") for key in opened)


@pytest.mark.parametrize("engine", ENGINES)
def test_values_maps_and_control_flow(engine):
    program = """
        begin {
            $n = 0; $sum = 0;
            while ($n < 11) { $n++; if ($n % 2) { continue; } $sum += $n; }
            for ($i : 3..6) { @squares[$i] = $i * $i; }
            unroll (3) { @thrice++; }
            @name = $sum > 29 ? "more" : "less";
            @zero[1] = 0; @gone[1] = 1; $was = delete(@gone, 1); $is = has_key(@gone, 1);
            @pair[5, "x"] = -7;
            @small = min(4); @small = min(-3); @mean = avg(10); @mean = avg(20); @all = stats(7);
            @levels = lhist(5, 0, 10, 2);
            printf("%d %s %x %5d|%-4d|%c %%\\n", $sum, probe, 255, -3, 7, 65);
            print($was); print($is); print(@squares[4]);
            if ($sum == 30) { return; }
            printf("not here\\n");
        }
    """  # fmt: skip
    done = sonde("bt", "--engine", engine, "--no-warnings", "-e", program, "-c", "true")
    printed, _, maps = done.stdout.partition("\n\n\n")
    assert printed == "30 begin ff    -3|7   |A %\ntrue\nfalse\n16"
    assert maps.splitlines() == [
        "@all: { .count = 1, .average = 7, .total = 7 }",
        "@levels:",
        f"{'[4, 6)':16}{1:8} |{'@' * 52}|",
        "",
        "@mean: 15",
        "@name: more",
        "@pair[5, x]: -7",
        "@small: -3",
        "@squares[3]: 9", "@squares[4]: 16", "@squares[5]: 25",
        "@thrice: 3",
        "@zero[1]: 0",
    ]  # fmt: skip
    assert done.stderr == "Attached 1 probe\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_tuples_records_macros_and_settings(engine):
    program = """
        config = { max_map_keys = 3; missing_probes = "ignore" }
        let @one = hash(1); let @new = lruhash(1);
        macro twice(x) { $y = x; $y + $y }
        macro put(@m, $v) { @m = $v; }
        begin, tracepoint:no:such {
            $y = 5; $t = (1, "ab", (2, "cde")); $t = (300, "abcdefgh", (7, "z"));
            print($t); print((left=$t.2, right=true)); print(twice(twice($y) + 1)); put(@set, $y);
            @in["k", ("a", 1)] = $t; @in["key", ("long", 2)] = (1, "", (1, ""));
            print({ $z = $y * 2; $z + 1 });
            @one[1] = 1; @one[2] = 2; @new[1] = 1; for ($i : 0..7) { @three[$i] = 1; }
        }
    """
    done = sonde("bt", "--engine", engine, "-e", program, "-c", "true")
    printed, _, maps = done.stdout.partition("\n\n\n")
    assert printed.splitlines() == [
        "(300, abcdefgh, (7, z))", "{ .left = (7, z), .right = true }", "22", "11",
    ]  # fmt: skip
    assert maps.splitlines() == [
        "@in[key, (long, 2)]: (1, , (1, ))", "@in[k, (a, 1)]: (300, abcdefgh, (7, z))", "@new[1]: 1", "@one[1]: 1",
        "@set: 5", "@three[0]: 1", "@three[1]: 1", "@three[2]: 1",
    ]  # fmt: skip
    assert "5 elements of maps found no room" in done.stderr


def test_objects_of_json():
    program = """
        begin {
            printf("a \\"%d\\"\\n", 5); print(comm); print((1, "x", (true, -3))); print((a=1));
            @map[1, comm] = 2; @bars = hist(5); @of[1] = hist(9); @stats = stats(4);
            @large = 18446744073709551615; @mean["x"] = avg(3); @pointer = (int16*)0x32;
        }
    """
    objects = [json.loads(line) for line in sonde("bt", "-f", "json", "-e", program).stdout.splitlines()]
    assert objects == [
        {"type": "attached_probes", "count": 1, "data": {"probes": 1}},
        {"type": "printf", "data": 'a "5"\n'},
        {"type": "value", "data": "bpftrace"},
        {"type": "value", "data": [1, "x", [True, -3]]},
        {"type": "value", "data": {"a": 1}},
        {"type": "hist", "data": {"@bars": [{"min": 4, "max": 7, "count": 1}]}},
        {"type": "map", "data": {"@large": "18446744073709551615"}},
        {"type": "map", "data": {"@map": {"1,bpftrace": 2}}},
        {"type": "stats", "data": {"@mean": {"x": 3}}},
        {"type": "hist", "data": {"@of": {"1": [{"min": 8, "max": 15, "count": 1}]}}},
        {"type": "map", "data": {"@pointer": 50}},
        {"type": "stats", "data": {"@stats": {"count": 1, "average": 4, "total": 4}}},
    ]


def test_print_shows_the_last_rows_divided():
    program = """
        begin {
            @["a"] = sum(10); @["b"] = sum(-30); @["c"] = sum(20); print(@, 2, 10);
            @n["x"] = 9; print(@n, 1, 4);
        }
    """
    done = sonde("bt", "-q", "-e", program)
    assert done.stdout.startswith("@[a]: 1\n@[c]: 2\n@n[x]: 2\n\n\n@[b]: -30\n")
    assert not done.stderr


@pytest.mark.long
def test_addresses_have_names_and_faults_are_told():
    program = """
        begin {
            @[kstack(3)] = count(); @u[ustack(2)] = count(); print(ksym(1)); print(usym(1));
            if (pid) { print(*(uint8*)8); }
        }
    """
    done = sonde("bt", "-e", program)
    assert done.stdout.startswith("0x1\n0x1\n0\n\n\n@[\n")
    assert "WARNING: memory at 0x8 cannot be read" in done.stderr


def test_timers_and_system():
    program = """
        interval:ms:10 { @n++; if (@n == 3) { system("echo %d", @n); exit(7); } }
        end { printf("%d\\n", elapsed > 0); }
    """
    done = sonde("bt", "--unsafe", "-e", program, status=7)
    assert done.stdout == "3\n1\n\n\n@n: 3\n"


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("-e", "begin { @x = $y; }"),
            "stdin:1:14-16: ERROR: Undefined or undeclared variable: $y\nbegin { @x = $y; }\n",
        ),
        (("-e", "nothing { }"), "stdin:1:1-8: ERROR: Invalid probe type: nothing\nnothing { }\n" + "~" * 7),
        (("/nowhere/x.bt",), "failed to open file '/nowhere/x.bt'"),
        (("-e", 'begin { system("id"); }'), "stdin:1:9-21: ERROR: system() is an unsafe function"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(words, told):
    assert told in sonde("bt", *words, status=1).stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_that_are_shown_as_text(engine):
    program = """
        begin {
            printf("%s|%s|%s\\n", strerror(22), ntop(0x0100007f), ntop(pton("::1")));
            @late[strerror(2)] = strftime("%H%%%M", 0);
            print(bswap((uint32)0x01020304));
            $name = signal_name(9);
            print($name);
            cat("/not/%s", "there");
            cat("/proc/%s", "version");
            warnf("%d of %s", 3, "them");
        }
    """  # fmt: skip
    done = sonde("bt", "--engine", engine, "-e", program, "-c", "true")
    printed, _, maps = done.stdout.partition("\n\n\n")
    shown = ["Invalid argument|127.0.0.1|::1", "67305985", "Killed", Path("/proc/version").read_text().strip()]
    assert printed.splitlines()[-len(shown) :] == shown
    assert re.fullmatch(r"@late\[No such file or directory\]: \d\d%\d\d", maps.strip())
    assert "ERROR: failed to open file '/not/there' (No such file or directory)" in done.stderr
    assert re.search(r"stdin:10:13-41: WARNING: 3 of them$", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("engine", ENGINES)
def test_functions_of_texts_and_of_types(engine):
    program = """
        begin {
            $x = "abracadabra";
            printf("%d %d %d %d\\n", strstr($x, "cad"), strstr($x, "x"), strlen(str_concat($x, "!")), strcap("abc"));
            printf("%d %d %d\\n", strncmp($x, "abrupt", 3), strncmp($x, "abrupt", 4), strncmp("ab", "abc", 5));
            printf("%d %d %d\\n", memcmp("a", "b", 1), memcmp("b", "a", 1), memcmp("ab", "ac", 1));
            print((is_str($x), is_integer(3), is_ptr(3), is_unsigned_integer((uint8)1)));
            print((is_literal(1), is_literal($x)));
            if (is_str($x)) { print(strcontains($x, "dab")); } else { fail("a string is %s", "none"); }
            static_assert(is_str($x), "a string");
            assert_str($x);
            printf("%d %d\\n", tid == tid(curr_ns), is_err((void *)(int64)-5));
            assert(strlen($x) == 11, "not here");
            assert(strlen($x) != 11, "eleven");
        }
    """
    done = sonde("bt", "--engine", engine, "-q", "-e", program, "-c", "true", status=1)
    assert done.stdout.splitlines()[:7] == [
        "4 -1 12 4", "0 1 1", "-1 1 0", "(true, true, false, true)", "(true, false)",
        "true", "1 1",
    ]  # fmt: skip
    assert done.stderr == "stdlib/base.bt:6:5-37: ERROR: assert failed: eleven\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_buffers_are_values_keys_and_parts_of_tuples(engine):
    program = r"""
        begin {
            @kept = buf("a\0b", 3);
            printf("%r|%rx|%rh|%8r|\n", buf("A\0\n", 3), @kept, @kept, @kept);
            @of[buf("one", 3), 5] = 7; @of[buf("three", 5), 5] = 11;
            print((1, buf("xyz\x7f", 4)));
            print(pton("127.0.0.1")); printf("%s %s\n", ntop(pton("127.0.0.1")), ntop(pton("::1")));
            printf("%gr %gr %gr\n", 1, 0xcc0, 0);
        }
        t:syscalls:sys_enter_openat {
            $n = (int64)strlen(str(args.filename));
            if ($n == 11 || $n == 9) { @name[buf(args.filename, $n - 1), buf(args.filename, 4)] = 1; }
        }
    """
    done = sonde("bt", "--engine", engine, "-q", "-e", program, "-c", "sh -c ': < /etc/passwd; : < /dev/null'")
    printed, _, maps = done.stdout.partition("\n\n\n")
    assert printed.splitlines() == [
        r"A\x00\x0a|\x61\x00\x62|61 00 62|  a\x00b|", r"(1, xyz\x7f)", "[127,0,0,1]", "127.0.0.1 ::1",
        "GFP_DMA GFP_KERNEL 0",
    ]  # fmt: skip
    names = {"@name[/etc/passw, /etc]: 1", "@name[/dev/nul, /dev]: 1"}
    assert {r"@kept: a\x00b", "@of[one, 5]: 7", "@of[three, 5]: 11", *names} <= set(maps.splitlines())


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_stacks_are_values_and_have_modes(engine):
    program = """
        t:syscalls:sys_enter_getppid /pid == cpid/ {
            $whole = ustack; $three = ustack(perf, 3); @raw = ustack(raw, 2); @built = ustack(build_id, 1);
            @frames[len($three), len(ustack(1)), len($whole) > 3] = 1;
            printf("%s", $three); @at[ustack(1)] = count();
        }
    """
    command = shlex.join([sys.executable, "-c", "import os; [os.getppid() for _ in range(3)]"])
    done = sonde("bt", "--engine", engine, "-q", "-e", program, "-c", command)
    perf = re.findall(r"^\t[0-9a-f]+ (\S+) \((\S+)\)$", done.stdout, re.MULTILINE)
    assert len(perf) == 9
    assert re.fullmatch(r"\w*getppid\+\d+", perf[0][0])
    assert perf[:3] == perf[3:6] == perf[6:]
    assert "@frames[3, 1, true]: 1" in done.stdout
    assert re.search(r"^@at\[\n {8}\w*getppid\+\d+\n\]: 3$", done.stdout, re.MULTILINE)
    assert re.search(r"^@built: \n[0-9a-f]{40} 0x[0-9a-f]+\n$", done.stdout, re.MULTILINE)
    assert re.search(r"^@raw: \n[0-9a-f]{6,}\n[0-9a-f]{6,}\n$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("engine", ENGINES)
def test_strings_that_are_cut_say_so(engine, monkeypatch):
    monkeypatch.setenv("BPFTRACE_MAX_STRLEN", "7")
    program = """
        t:syscalls:sys_enter_openat /str(args.filename) == "/etc/pa"/ { printf("%s|\\n", str(args.filename)); }
        begin { warnf("not heard"); }
    """
    command = "sh -c ': < /etc/passwd'"
    words = ("bt", "--engine", engine, "-q", "--no-warnings", "-e", program, "-c", command)
    done = sonde(*words)
    assert ("/etc/pa..|\n" in done.stdout, done.stderr) == (True, "")
    monkeypatch.setenv("BPFTRACE_STR_TRUNC_TRAILER", "_and more")
    assert "/etc/pa_and more|" in sonde(*words).stdout


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_of_strings_are_joined_and_numbers_named(engine):
    program = """
        t:syscalls:sys_enter_execve /pid == cpid/ { join(args.argv); join(args.argv, "+-"); }
        begin { printf("%s,%s\\n", syscall_name(1), syscall_name(99999)); }
    """
    command = "sh -c 'exec /bin/true one  two 3'"
    done = sonde("bt", "--engine", engine, "-q", "-e", program, "-c", command)
    assert {"write,Unknown syscall", "/bin/true one two 3", "/bin/true+-one+-two+-3"} <= set(done.stdout.splitlines())


DEFINED = """
    #include <stdint.h>
    #define SEVEN (N + 4)
    #define N 3
    enum color { RED = 1, BLUE = SEVEN, };
    typedef struct {
        uint8_t low:4; uint8_t high:4; union { uint16_t rest; char text[2]; }; int8_t pad[SEVEN - 2];
    } __attribute__((packed)) pair;
    struct lists { char c; struct list_head list; pair pairs[2][3]; } __attribute__((aligned(32)));
    begin {
        $nine = 9; $number = (uint64)0x1122334455434278; $pointer = (pair *)&$number; $pair = *$pointer;
        printf("%d %d %s %s %s\\n", SEVEN, BLUE, BLUE, (enum color)1, (enum color)$nine);
        print($pair); print($pointer->high); print(($pointer + 1) > $pointer);
        print((sizeof(struct lists), offsetof(struct lists, list.prev), sizeof(pair), sizeof((*$pointer).pad)));
        $bytes = (uint8[8])$number; print($bytes); print((uint64)$bytes == $number); print((uint16[])$bytes);
        print($bytes == (uint8[8])$number); print($bytes != (uint8[8])($number + 1));
        print(((1, "a", 2) == (1, "a", 2), (1, "a", 2) == (1, "b", 2)));
        print((uint64)container_of((struct list_head *)1000, struct lists, list));
        $again = &$pointer; print((**$again).rest);
        @pairs[$pair, RED] = $pair.pad; @colors[BLUE] = RED; @sum[RED + 1] = BLUE + 1; @last = $pair;
        print(@pairs[$pair, RED][4]);
    }
""".replace("    #", "#")
SHOWN_DEFINED = """
7 7 BLUE RED 9
{ .low = 8, .high = 7, .rest = 17218, .text = BC, .pad = [85,68,51,34,17] }
7
true
(96, 16, 8, 5)
[120,66,67,85,68,51,34,17]
true
[17016,21827,13124,4386]
true
true
(true, false)
992
17218
17
@colors[BLUE]: RED
@last: { .low = 8, .high = 7, .rest = 17218, .text = BC, .pad = [85,68,51,34,17] }
@pairs[{ .low = 8, .high = 7, .rest = 17218, .text = BC, .pad = [85,68,51,34,17] }, RED]: [85,68,51,34,17]
@sum[2]: 8
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_definitions_of_c_and_what_is_of_their_types(engine):
    done = sonde("bt", "--engine", engine, "-q", "-e", DEFINED, "-c", "true")
    assert [line for line in done.stdout.splitlines() if line] == SHOWN_DEFINED.split("\n")[1:-1], done.stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_exit_ends_its_clause_and_not_those_at_the_end(engine):
    program = "begin { @[1] = 5; for ($kv : @) { if ($kv.1 == 5) { exit(7); print(1); } } print(2); } end { print(3); }"
    done = sonde("bt", "-q", "--engine", engine, "-e", program, status=7)
    assert done.stdout.split("\n\n\n") == ["3", "@[1]: 5\n"]


HELD = """
struct work { int number; void (*done)(struct work *); int (*next)(int, int); void *data; };
begin {
    $work = (struct work *)0; $any = (void *)0;
    if (pid == 0) { $any = $work->done; $any = $work->next; $any = $work->data; @last = $work->done; @last = $any; }
    print($any);
}
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_pointers_to_functions_are_pointers_to_void(engine):
    done = sonde("bt", "-q", "--engine", engine, "-e", HELD, "-c", "true")
    assert (done.stdout.strip(), done.stderr) == ("0x0", "")
