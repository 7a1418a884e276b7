"""What compiles but may mean something else than its writer thinks is remarked on; the status stays."""

import pytest
from support.command.running import run

REMARK = """\
sonde: command line:1:15: 'hello' is a number made of 5 characters
  a text stands between double quotes: "hello"
"""


def test_a_text_between_single_quotes_is_remarked_on():
    done = run("-e", "-n", "BEGIN { trace('hello'); }")
    assert (done.returncode, done.stderr) == (0, REMARK)


@pytest.mark.share(2)
@pytest.mark.parametrize("constant", ["'h'", "'\\n'", "'\\0'", '"it\'s"', "/* it's, it's */ 1"])
def test_characters_are_not_remarked_on(constant):
    assert run("-e", "-n", f"BEGIN {{ trace({constant}); }}").stderr == ""


def test_tests_of_dtrace_see_no_remarks():
    assert run("-e", "-n", "BEGIN { trace('hello'); }", _DTRACE_TESTING="t").stderr == ""


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("command", "sign"),
    [
        ("echo a | cat", "|"), ("echo a > /dev/null", ">"), ("echo a && echo b", "&&"), ("echo a; echo b", "a;"),
        ("echo a 2>&1", "2>&1"),
    ],
)  # fmt: skip
def test_a_command_that_wants_a_shell_is_remarked_on(command, sign):
    done = run("-e", "-n", "BEGIN", "-c", command)
    assert done.returncode == 0
    assert f"-c starts no shell: echo is given {sign} as a word\n" in done.stderr
    assert f"-c \"sh -c '{command}'\"\n" in done.stderr


@pytest.mark.parametrize(("command", "sign"), [(r"echo \; ; echo b", ";"), ("echo 'a b'; echo b", "'a b';")])
def test_signs_beside_quoted_ones_are_remarked_on(command, sign):
    assert f"-c starts no shell: echo is given {sign} as a word\n" in run("-e", "-n", "BEGIN", "-c", command).stderr


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "command",
    [
        "echo a", "sh -c 'echo a | cat'", "echo '|'", "echo a=b", r"find . -name a -exec rm {} \;", r"echo a \> b",
        r'sh -c "sh -c \"echo a | cat; echo b\""', r'sh -c "echo \"; echo \" > /dev/null"', "echo ';'",
        "sh -c \"echo 'a; b' ; true\"",
    ],
)  # fmt: skip
def test_other_commands_are_not(command):
    assert "starts no shell" not in run("-e", "-n", "BEGIN", "-c", command).stderr


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("lines", "place", "words"),
    [
        ("#pragma D option quite\nBEGIN { trace(1); }\n", "1:18", "did you mean quiet?"),
        ("BEGIN { trace(1); }\n#pragma D option quite\nEND { trace(2); }\n", "2:18", "did you mean quiet?"),
        ("#pragma D option bufsize=4q\nBEGIN { trace(1); }\n", "1:18", "it takes a number of bytes"),
        ("#include <linux/sched.h>\nBEGIN { trace(1); }\n", "1:1", "the kernel's types are known"),
        ("#define N 5\nBEGIN { trace(N); }\n", "1:1", "write inline int N = 5;"),
    ],
)
def test_a_control_line_is_told_once_at_its_own_place(tmp_path, lines, place, words):
    script = tmp_path / "a.d"
    script.write_text(lines)
    done = run("-e", "-s", str(script))
    assert done.returncode == 1
    assert f"{script}:{place}:\n" in done.stderr
    assert words in done.stderr
    assert done.stderr.count(f"  {script}:") == 1
    assert "\n  \n" not in done.stderr


def test_a_control_line_does_not_hide_the_mistakes_of_clauses(tmp_path):
    """In the compiler's order: all is read before clauses are looked into."""
    script = tmp_path / "a.d"
    script.write_text("#pragma D option quite\nBEGIN { trace(unknown_name); }\nEND { x = ; }\n")
    done = run("-e", "-s", str(script))
    assert [line.split(":")[1] for line in done.stderr.splitlines() if line.startswith(f"  {script}:")] == list("132")
