"""Options of `bt`, what it says where it cannot go on, and its lists of probes."""

import re
import subprocess

import pytest
from support.command.command import SONDE, environment, sonde


def bt(*words, status=0, **more):
    return sonde("bt", *words, status=status, **more)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("-p", "a11", "-e", "begin { }"), "ERROR: Failed to parse pid: invalid integer: a11"),
        (("-p", "9999999", "-e", "begin { }"), "ERROR: Pid out of range: 9999999"),
        (("-c", "true", "-p", "1", "-e", "begin { }"), "ERROR: USAGE: Cannot use both -c and -p."),
        (("-e", "begin { }", "--aa=20"), "ERROR: unrecognized option '--aa=20'"),
        (("-k", "--no-warnings", "-e", "begin { }"), "ERROR: USAGE: -k conflicts with --no-warnings"),
        (("--test", "--bench", "-e", "x"), "ERROR: USAGE: --test, --bench, --fmt and --mode exclude each other"),
        (("-f", "xml", "-e", "begin { }"), 'ERROR: Invalid output format "xml"'),
        (("-e",), "ERROR: option requires an argument -- 'e'"),
        ((), "ERROR: USAGE: filename or -e 'program' required."),
        (("--probe-filter", "(", "-e", "begin { }"), "ERROR: Invalid --probe-filter regex '('"),
        (("--probe-filter", "s:2", "-e", "i:s:1 { }"), "ERROR: No probes to attach"),
        (("-e", "uprobe:/bin/sh:3 { }"), "ERROR: Could not resolve address: /bin/sh:0x3"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_bpftrace_s_form(words, first):
    told = bt(*words, status=1).stderr.splitlines()
    assert told[0].startswith(first)
    assert not any(line.startswith("sonde:") for line in told)


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_elements_that_are_not_there_are_told(engine):
    program = 'begin { @[1] = 5; printf("%d %d%%\\n", @[1], @[2]); delete(@, 3); if (@[1] && @[7]) { } exit(); }'
    done = bt("--engine", engine, "-k", "-e", program, "-c", "true")
    assert done.stdout.startswith("5 0%\n")
    lookup, delete = (
        f"stdin:1:{first + 1}-{end + 1}: WARNING: Can't {what} map element because it does not exist.\n"
        f"Additional Info - helper: map_{what}_elem, retcode: {code}\n{program}\n{' ' * first}{'~' * (end - first)}\n"
        for what, code, first, end in (
            ("lookup", 0, program.index("@[2]"), program.index("@[2]") + 4),
            ("delete", -2, program.index("delete"), program.index("; if")),
        )
    )  # fmt: skip
    assert lookup + delete in done.stderr
    assert bt("--engine", engine, "-e", program, "-c", "true").stderr == "Attached 1 probe\n"


def test_usage_is_a_line_of_its_own():
    assert bt("-h").stdout.splitlines()[0] == "USAGE:"
    assert "USAGE:" in bt("-e", "begin { }", "--aa", status=1).stderr.splitlines()


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("7", "--", "x", "--aa=-5", "--cc", "--dd=t"), "(7, x, 2, -5, 1, true, t)"),
        (("7", "x"), "(7, x, 2, 10, 1, false, d)"),
        (("--", "--cc=false", "7", "--bb=0x11", "x"), "(7, x, 2, 10, 17, false, d)"),
    ],
)
def test_parameters_and_options_of_the_program(words, printed):
    program = 'print(($1, str($2), $#, getopt("aa", 10, "of a"), getopt("bb", 1), getopt("cc"), getopt("dd", "d")));'
    assert bt("-e", f"begin {{ {program} }}", *words).stdout.splitlines()[0] == printed


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--bb",), "ERROR: unexpected program command line options: --bb\nHINT: expected program options: --aa\n"),
        (("--help",), "HINT: expected program options:\n--aa: of a\n"),
        (("--aa=False",), "ERROR: program command line option --aa invalid integer (value: False)\n"),
        (("--aa",), "ERROR: program command line option --aa expects an integer (value: true)\n"),
    ],
)
def test_options_that_the_program_does_not_have(words, told):
    assert bt("-e", 'begin { print(getopt("aa", 10, "of a")); }', "--", *words, status=1).stderr == told


def test_a_filter_leaves_out_probes_by_their_names():
    program = (
        'begin { printf("b\\n"); } i:ms:11 { printf("11\\n"); } i:ms:17 { printf("17\\n"); exit(); } end { @ = 1; }'
    )
    assert bt("--probe-filter", "ms:17$", "-e", program).stdout == "b\n17\n\n\n@: 1\n"


def test_lists_of_probes_and_their_arguments():
    found = bt("-lv", "t:syscalls:sys_enter_openat,tracepoint:sched:sched_switch,rt:consume_skb").stdout
    blocks = {block.split("\n")[0]: block for block in re.split(r"\n(?! )", found)}
    assert blocks["tracepoint:syscalls:sys_enter_openat"].split("\n")[1:] == [
        "    int __syscall_nr", "    int dfd", "    const char * filename", "    int flags", "    umode_t mode",
    ]  # fmt: skip
    assert "    char prev_comm[16]" in blocks["tracepoint:sched:sched_switch"].split("\n")
    assert "    struct sk_buff * skb" in blocks["rawtracepoint:vmlinux:consume_skb"].split("\n")


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("search", "some"),
    [
        ("*ware:*", ("hardware:cycles:", "software:cpu:", "software:page-faults:")),
        ("interval", ("interval:hz:", "interval:ms:", "interval:s:", "interval:us:")),
        ("uprobe:libc:fopen*", ("uprobe:{libc}:fopen", "uprobe:{libc}:fopencookie")),
        ("struct css_task_iter", ("struct css_task_iter",)),
        ("*clock*", ("software:cpu-clock:", "tracepoint:syscalls:sys_enter_clock_gettime")),
    ],
)
def test_lists_of_what_a_description_finds(search, some):
    lines = bt("-l", search).stdout.splitlines()
    named = {re.sub(r":/\S*/libc\.so\.6:", ":{libc}:", line) for line in lines}
    assert set(some) <= named


def test_a_type_of_probes_that_there_is_not_is_no_empty_list():
    for search in ("nosuch", "nosuch:*", "t:sched:*, nosuch:x"):
        assert bt("-l", search, status=1).stderr == "ERROR: Invalid probe type: nosuch\n"


def test_the_list_of_a_program_is_in_order():
    lines = bt("-l", "-e", "t:syscalls:sys_enter_op* { } uprobe:libc:fre* { }").stdout.splitlines()
    assert lines == sorted(lines)
    assert len(lines) > 8


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_signals_to_the_tracer_fire_their_probes_in_order(engine):
    """The command that is traced sends them to who has started it."""
    program = """
        self:signal:SIGUSR1 { printf("first "); @n++; }
        self:signal:SIGUSR1 { printf("second %s\\n", probe); if (@n == 3) { exit(); } }
    """
    command = "sh -c 'for n in 1 2 3; do kill -USR1 $PPID; sleep 0.1; done; sleep 30'"
    done = bt("--engine", engine, "-e", program, "-c", command)
    assert done.stdout == "first second self:signal:SIGUSR1\n" * 3 + "\n\n@n: 3\n"


def test_the_probes_of_a_program_are_listed():
    program = "tracepoint:sched:sched_wak* { } software:cs:5 { } begin { }"
    lines = bt("-l", "-e", program).stdout.splitlines()
    assert "tracepoint:sched:sched_wakeup" in lines
    assert lines[-1] == "software:cs:"


def test_structures_are_listed_as_c_declares_them():
    found = bt("-lv", "struct css_task_iter").stdout.splitlines()
    assert found[0] == "vmlinux: struct css_task_iter {"
    assert "\tunsigned int flags;" in found
    assert found[-1] == "};"


def test_stages_are_shown_in_their_order_and_once():
    program = "begin { @a[pid] = 1; }"
    done = sonde("bt", "--dry-run", "-d", "dis", "-d", "codegen,codegen-opt", "-d", "ast", "-e", program)
    titles = re.findall(r"^(\w+)\n-+$", done.stdout, re.MULTILINE)
    assert titles == ["ast", "codegen", "dis"]
    assert "MapName 1:9 name='@a'" in done.stdout
    assert "call bpf_map_update_elem" in done.stdout
    assert sonde("bt", "--dry-run", "-d", "all", "-e", program).stdout == done.stdout
    for name, reason in (("verifier", "what the kernel's verifier says"), ("it", "-d must be one of ast")):
        assert reason in sonde("bt", "-d", name, "-e", program, status=1).stderr


def test_a_dash_is_a_program_of_the_standard_input():
    words = [SONDE, "bt", "-q", "-d", "ast", "-", "hi", "7"]
    program = 'begin { printf("%s %d %d\\n", str($1), $2, $#); exit(); }'
    done = subprocess.run(words, input=program, capture_output=True, text=True, env=environment())
    assert "hi 7 2\n" in done.stdout
    done = subprocess.run(words, input="begin { $x }", capture_output=True, text=True, env=environment())
    assert done.stderr.startswith("stdin:1:9-11: ERROR: ")


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("given", "shown", "renamed"),
    [
        ({"STRLEN": "8"}, "/bin/tru.. 4\n", ["STRLEN", "MAX_STRLEN"]),
        ({"MAX_STRLEN": "8", "STRLEN": "3"}, "/bin/tru.. 4\n", []),
        ({"MAP_KEYS_MAX": "2"}, "/bin/true 2\n", ["MAP_KEYS_MAX", "MAX_MAP_KEYS"]),
    ],
)
def test_older_variables_of_the_environment_are_heeded_and_told(given, shown, renamed):
    program = """
        tracepoint:syscalls:sys_enter_execve {
            @[1] = 1; @[2] = 1; @[3] = 1; @[4] = 1; printf("%s %d\\n", str(args.filename), len(@)); clear(@);
        }
    """
    variables = {**environment(), **{f"BPFTRACE_{name}": value for name, value in given.items()}}
    words = [SONDE, "bt", "-q", "--engine", "embedded", "-e", program, "-c", "/bin/sh -c '/bin/true; :'"]
    done = subprocess.run(words, capture_output=True, text=True, env=variables)
    assert done.stdout.startswith(shown), done
    names = re.findall(r"WARNING: BPFTRACE_(\w+) has been renamed, please use BPFTRACE_(\w+)", done.stderr)
    assert names == ([tuple(renamed)] if renamed else [])


def test_a_link_says_how_it_is_called(tmp_path):
    link = tmp_path / "bpftrace"
    link.symlink_to(SONDE)
    told = subprocess.run([link, "--help"], env=environment(), capture_output=True, text=True, check=True).stdout
    assert "bpftrace [OPTIONS] -e PROGRAM" in told
    assert "bpftrace bt" not in told
