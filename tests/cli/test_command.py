"""The command without tracing: what needs no privilege."""

import re
import subprocess

import pytest
from support.command.running import SONDE, environment, run
from support.machine import packages

from sonde.formats.raw_file import MAGIC

ERROR = "invalid probe specifier"


def test_nothing_asked_is_a_usage_message():
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: sonde ")


def test_an_illegal_option_is_a_usage_message():
    done = run("-9")
    assert done.returncode == 2
    assert done.stderr.startswith("sonde: illegal option -- 9\nUsage: sonde ")


def test_help_goes_to_the_output():
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  doctor " in done.stdout
    assert all(len(line) < 80 for line in done.stdout.splitlines())


def test_the_version_ends_in_that_of_the_language():
    done = run("-V")
    assert (done.returncode, done.stdout) == (0, "sonde: Oracle D 2.0\n")
    assert len(run("-vV").stdout.splitlines()) == 3
    assert run("--version").stdout.startswith("sonde ")


def test_a_link_gives_the_name(tmp_path):
    link = tmp_path / "dtrace"
    link.symlink_to(SONDE)
    assert run("-V", program=str(link)).stdout == "dtrace: Oracle D 2.0\n"
    done = run("-es", "nowhere", program=str(link))
    assert done.stderr == "dtrace: failed to open nowhere: No such file or directory\n"


@pytest.mark.parametrize("letter", ["-A", "-a", "-32"])
def test_what_does_not_exist_is_said_in_one_line(letter):
    done = run(letter, "-n", "BEGIN")
    assert done.returncode == 1
    assert done.stderr.startswith("sonde: ")
    assert done.stderr.count("\n") == 1


def test_compiling_alone_prints_nothing():
    done = run("-e", "-n", "BEGIN { trace(1); exit(3) }")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_dry_run_stops_before_loading():
    done = run("--dry-run", "-n", "BEGIN { exit(3) }")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "sonde: description 'BEGIN ' matched 1 probe\n"


def test_options_of_x_are_checked():
    assert run("-xnonsense", "-e", "-n", "BEGIN").stderr == "sonde: failed to set -x nonsense: Invalid option name\n"
    done = run("-b", "many", "-e", "-n", "BEGIN")
    assert done.returncode == 2
    assert done.stderr.startswith("sonde: failed to set -b many: Invalid value for specified option\n")
    assert "did you mean strsize" in run("-xstrsiz=5", "-e", "-n", "BEGIN").stderr


def test_options_of_the_environment_are_checked():
    done = run("-e", "-n", "BEGIN", DTRACE_OPT_BUFSIZE="many")
    assert done.returncode == 1
    assert done.stderr.startswith("sonde: failed to set DTRACE_OPT_BUFSIZE: Invalid value")


def test_a_mistake_is_shown_with_its_place():
    done = run("-e", "-n", "BEGIN { trace(x) }")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"sonde: {ERROR}: in action list: failed to resolve x: Unknown variable name",
        "  command line:1:15:",
        "    BEGIN { trace(x) }",
        "                  ^ nothing sets x",
        "  help: a variable is there when first assigned to, as in BEGIN { name = 0; }",
    ]


def test_tests_of_dtrace_see_the_message_alone():
    done = run("-e", "-n", "BEGIN { trace(x) }", _DTRACE_TESTING="t")
    assert done.stderr.count("\n") == 1


def test_a_mistake_in_a_script_has_its_line(tmp_path):
    script = tmp_path / "a.d"
    script.write_text("#!/usr/sbin/dtrace -s\nBEGIN\n{\n\ttrace(x);\n}\n")
    done = run("-xerrtags", "-e", "-s", str(script))
    first = f"sonde: failed to compile script {script}: [D_IDENT_UNDEF] line 4: failed to resolve x: "
    assert done.stderr.startswith(first)
    assert f"{script}:4:8:" in done.stderr


def test_extra_arguments_are_refused():
    done = run("-e", "-n", "BEGIN", "one")
    assert done.stderr.splitlines()[0].endswith("extraneous argument 'one' ($1 is not referenced)")
    assert run("-xargref", "-e", "-n", "BEGIN", "one").returncode == 0


def test_an_identifier_is_looked_up_before_arguments_are_counted():
    done = run("-e", "-i", "0", "-", "2")
    assert done.stderr.splitlines()[0].endswith("invalid probe identifier 0: Unknown probe identifier")
    done = run("-e", "-i", "12", "10", "-i", "23")
    assert done.stderr.splitlines()[0].endswith("extraneous argument '10' ($1 is not referenced)")


def test_the_first_identifiers_have_no_gap():
    """Those of the command itself and of system calls: scripts of small numbers mean something."""
    done = run("-l", *(word for number in range(1, 40) for word in ("-i", str(number))))
    assert [int(line.split()[0]) for line in done.stdout.splitlines()[1:]] == list(range(1, 40))


@pytest.mark.share(1)
@pytest.mark.parametrize("option", ["zdefs", "argref", "empty"])
def test_pragmas_change_what_is_accepted(option, tmp_path):
    program = {"zdefs": "syscall::nonsense:entry { }", "argref": "BEGIN { }", "empty": ""}[option]
    words = ["one"] if option == "argref" else []
    script = tmp_path / "a.d"
    script.write_text(f"{program}\n")
    assert run("-e", "-s", str(script), *words).returncode == 1
    script.write_text(f"#pragma D option {option}\n{program}\n")
    assert run("-e", "-s", str(script), *words).returncode == 0


def test_a_missing_argument_is_refused_or_zero():
    assert "macro argument $1 is not defined" in run("-e", "-n", "BEGIN { trace($1) }").stderr
    assert run("-xdefaultargs", "-e", "-n", "BEGIN { trace($1) }").returncode == 0


def test_the_second_of_two_programs_is_named_in_its_mistake():
    done = run("-e", "-n", "BEGIN", "-P", "nonsense")
    assert done.stderr.startswith(f"sonde: {ERROR}: probe description nonsense::: does not match any probes")
    assert "    nonsense\n" in done.stderr


def test_listing_shows_columns_and_goes_on_after_what_matches_nothing():
    done = run("--engine", "kernel", "-l", "-n", "nonsense", "-n", "dtrace:::B*")
    assert done.returncode == 0
    assert done.stderr == "sonde: failed to match :::nonsense: No probe matches description\n"
    assert done.stdout.splitlines() == [
        "   ID   PROVIDER            MODULE                          FUNCTION NAME",
        "    1     dtrace                                                     BEGIN",
    ]


def test_a_verbose_listing_has_the_arguments():
    done = run("-lvn", "BEGIN")
    assert done.stdout.endswith("\n\tArgument Types\n\t\tNone\n\n")
    assert "\tProbe Description Attributes\n\t\tIdentifier Names: Stable\n" in done.stdout


def test_a_program_that_cannot_be_listed_is_an_error():
    done = run("-lm", "a:b:c")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Overspecified probe description" in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("pid$target:::entry", ()), ("pid$1:::entry", ("$target",)), ("$1", ("BEGIN",)),
        ("dtrace:::$1 { trace($$2); }", ("BEGIN", "two")),
        ("tick-$1 /pid == $target/ { @[$$2] = count(); }", ("1s", "x")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["auto", "embedded"])
def test_the_stability_report_has_macro_variables_in_descriptions(engine, text, operands):
    """Of the process that is traced, and of arguments: in what is said and in the probes that are looked for."""
    process = subprocess.Popen(["sleep", "60"])
    try:
        words = [str(process.pid) if each == "$target" else each for each in operands]
        done = run("-ve", "--engine", engine, "-p", str(process.pid), "-n", text, *words)
    finally:
        process.kill()
        process.wait()
    assert "Stability attributes for description" in done.stdout, done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


def test_the_stability_report():
    done = run("-ve", "-n", "BEGIN { trace(1) }")
    assert done.stdout.startswith("\nStability attributes for description BEGIN :\n\n\tMinimum Probe Description")
    assert "\tMinimum Statement Attributes\n\t\tIdentifier Names: Stable\n" in done.stdout


def test_a_program_that_is_not_run_is_told_of_its_probes_and_their_arguments():
    """Each description of each clause, with its attributes, those of its arguments, and their types."""
    done = run("-qve", "-n", "dtrace:::BEGIN { x = 1; y = 2; } syscall::openat:entry, io:::start {}")
    _, *blocks = re.split(r"\n(?=\S+:\S*:\S*:\S+\n)", done.stdout)
    seen = {block.partition("\n")[0]: block for block in blocks}
    assert list(seen) == ["dtrace:::BEGIN", "syscall::openat:entry", "io:::start"]
    assert seen["dtrace:::BEGIN"].split("\t")[-1] == "None\n\n"
    assert re.findall(r"args\[\d\]: (.*)", seen["io:::start"]) == ["bufinfo_t *", "devinfo_t *", "fileinfo_t *"]
    assert re.findall(r"Dependency Class: (.*)", seen["io:::start"]) == ["ISA", "ISA"]
    assert "args[1]: const char *" in seen["syscall::openat:entry"]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = curthread", ("Stable", "Private", "Common")),
        ("x = args[0]->b_bcount", ("Evolving", "Evolving", "ISA")),
        ("x = arg0", ("Stable", "Stable", "Common")),
        ("trace(probename)", ("Evolving", "Evolving", "ISA")),
        ("trace(probemod)", ("Private", "Private", "Unknown")),
    ],
)
def test_statements_are_as_stable_as_the_variables_they_name(statement, expected):
    told = (
        run("-qve", "-n", f"io:::start {{ {statement}; }}").stdout.partition("Minimum Statement Attributes")[2].split()
    )
    assert tuple(told[word] for word in (2, 5, 8)) == expected


def test_stability_as_pragmas_declare_it():
    text = "inline int one = 1;\n#pragma D attributes Obsolete/Evolving/ISA one\nint two;\ndtrace:::BEGIN { %s }"
    for body, wanted in (
        ("trace(one);", ("Obsolete", "Evolving", "ISA")),
        ("two = 2;", ("Stable", "Stable", "Common")),
    ):
        statements = run("-e", "-v", "-n", text % body).stdout.partition("Minimum Statement Attributes")[2].split()
        assert tuple(statements[word] for word in (2, 5, 8)) == wanted


def test_the_intermediate_form_and_the_machine_code():
    done = run("-Se", "--disasm", "-n", "BEGIN { trace(pid) }")
    assert "BEGIN(v0):" in done.stdout
    assert "; <command line>:1: BEGIN { trace(pid) }" in done.stdout
    assert "get_current_pid_tgid" in done.stdout


@packages.needs("cpp")
def test_the_preprocessor_has_its_definitions(tmp_path):
    script = tmp_path / "a.d"
    script.write_text("#if defined(__linux) && WIDTH == 3 && !defined(__unix)\nBEGIN { trace(WIDTH); }\n#endif\n")
    assert run("-e", "-C", "-D", "WIDTH=3", "-U__unix", "-s", str(script)).returncode == 0
    assert "empty D program" in run("-e", "-C", "-s", str(script)).stderr


@packages.needs("cpp")
def test_places_in_a_preprocessed_script_have_its_name(tmp_path):
    """Of mistakes and of warnings; those of the command line have none."""
    script = tmp_path / "a.d"
    script.write_text("#!/usr/sbin/dtrace -Cs\n#define A 1\ntick-1 { x = A; x = timestamp; nosuch(); }\n")
    assert f"\n  {script}:3:32:\n" in run("-e", "-C", "-s", str(script)).stderr
    script.write_text(script.read_text().replace("nosuch();", ""))
    assert f"sonde: {script}:3:17: warning: " in run("-e", "-C", "-s", str(script)).stderr
    assert "\n  command line:1:9:\n" in run("-e", "-C", "-n", "BEGIN { nosuch(); }").stderr


@packages.needs("cpp")
def test_a_preprocessor_that_fails_is_named(tmp_path):
    script = tmp_path / "a.d"
    script.write_text("#if 1\nBEGIN\n")
    done = run("-e", "-C", "-s", str(script))
    assert done.returncode == 1
    assert f"sonde: failed to compile script {script}: Preprocessor failed to process input program" in done.stderr
    missing = run("-e", "-C", "-xcpppath=/nowhere/cpp", "-s", str(script))
    assert missing.stderr.startswith(f"sonde: failed to compile script {script}: Preprocessor not found\n")


def test_libraries_must_not_need_each_other(tmp_path):
    (tmp_path / "a.d").write_text("#pragma D depends_on library b.d\n")
    (tmp_path / "b.d").write_text("#pragma D depends_on library a.d\n")
    done = run("-e", f"-L{tmp_path}", "-n", "BEGIN")
    assert (done.returncode, done.stderr) == (
        1, "sonde: failed to load libraries: they depend on each other: a.d -> b.d -> a.d\n",
    )  # fmt: skip
    (tmp_path / "b.d").write_text("inline int answer = 42;\n")
    assert run("-e", f"-L{tmp_path}", "-n", "BEGIN { trace(answer) }").returncode == 0


def test_raw_refuses_other_files(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    done = run("raw", str(other))
    assert (done.returncode, done.stderr) == (1, f"sonde: {other}: not a raw file of sonde\n")
    for beginning in (b"", MAGIC[:3]):
        other.write_bytes(beginning)
        assert run("raw", str(other)).stderr.startswith(f"sonde: {other}: it has nothing: the session ")
    assert run("raw").returncode == 2
    assert run("raw", str(tmp_path / "nothing")).stderr.endswith("No such file or directory\n")


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [["--engine", "kernel", "-l"], ["--help"], ["doctor"], ["-e", "--disasm", "-n", "BEGIN"]]
)
def test_an_output_that_takes_no_more_is_one_message(words):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([SONDE, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=environment())
    assert (done.returncode, done.stderr) == (1, "sonde: No space left on device\n")


@pytest.mark.long
def test_a_reader_that_goes_away_is_no_message():
    done = subprocess.run(
        f"'{SONDE}' --engine kernel -l | head -1", shell=True, capture_output=True, text=True, env=environment()
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("inline int zz = ", 1, "[D_SYNTAX] %s: syntax error near end of input"),
        ("int x;\ntranslator struct no < int i > { a = i; };", 2, "[D_XLATE_SOU] %s: incomplete struct/union/enum"),
        ("\n\ninline int pid = 3;", 3, "[D_DECL_IDRED] %s: identifier redefined: pid"),
        ("typedef int q; typedef int q;", 1, "[D_DECL_IDRED] %s: typedef redeclared: q"),
        ("int n;\nBEGIN { frobnicate(n); }", 2, "[D_FUNC_UNDEF] %s: undefined function name: frobnicate"),
        ("BEGIN\n/nowhere/ { n = 1; }", 2, "[D_IDENT_UNDEF] %s: failed to resolve nowhere: Unknown variable name"),
        ("no:such:probe:here { n = 1; }", 1, "[D_PDESC_ZERO] %s: probe description no:such:probe:here does not match"),
        ("inline int zz = yy;", 1, "[D_IDENT_UNDEF] %s: failed to resolve yy: Unknown variable name"),
        ("#pragma D frobnicate\n", 1, "[D_PRAGMA_INVAL] %s: invalid D pragma: frobnicate"),
        ("#pragma D attributes Stable/Stable/Common zz\n", 1, "[D_PRAGMA_UNUSED] %s: unused #pragma attributes"),
    ],
)
def test_a_broken_library_is_told_though_nothing_uses_it(tmp_path, text, line, expected):
    library = tmp_path / "some.d"
    library.write_text(text)
    for directory in (str(tmp_path), f"{tmp_path}/./"):
        done = run("-xerrtags", "-e", "-L", directory, "-n", "BEGIN { x = 1; }", _DTRACE_TESTING="1")
        place = f'"{directory.rstrip("/")}/some.d", line {line}'
        assert done.returncode == 1
        assert expected % place in done.stderr
    assert "failed to read a library" in run("-e", "-L", str(tmp_path), "-n", "BEGIN { x = 1; }").stderr
    library.write_text(f"#pragma D depends_on module nosuch\n{text}")
    assert run("-e", "-L", str(tmp_path), "-n", "BEGIN { x = 1; }").returncode == 0


@pytest.mark.share(1)
def test_clauses_of_a_library_are_compiled_and_do_not_run(tmp_path):
    (tmp_path / "some.d").write_text('int n; inline int two = one + 1; BEGIN { n = 7; printf("no"); }')
    (tmp_path / "none.d").write_text("#pragma D depends_on library some.d\ninline int one = 1;")
    program = 'BEGIN { printf("%d %d", n, two); exit(0); }'
    done = run("-q", "--engine", "embedded", "-L", str(tmp_path), "-n", program)
    assert (done.returncode, done.stdout.strip()) == (0, "0 2")


@pytest.mark.parametrize("description", ["io:genunix::start", "proc:genunix::exec", "sched:unix:swtch:on-cpu"])
def test_a_module_of_another_system_is_the_only_mistake(description):
    """The kernel lacks nothing of these probes."""
    done = run("-e", "-n", f"{description} {{ }}")
    assert done.returncode == 1
    assert "does not match any probes" in done.stderr
    assert "lacks" not in done.stderr
