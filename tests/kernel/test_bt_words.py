"""What a program of bpftrace's language is given: its text, words of the command line, and the file of its output."""

import random
import subprocess

import pytest
from support.command.command import SONDE, environment, sonde


def bt(*words, status=0, **more):
    return sonde("bt", *words, status=status, **more)


def test_words_are_numbers_or_texts():
    """As bpftrace's own examples have it: what no number is is a text, wherever a value may stand."""
    program = """begin { print(($1, $2, getopt("aa", 1), getopt("bb"))); @[$1] = $2; if ($3 == "zz") { print($#); } }"""
    done = bt("-q", "-e", program, "p1", "zz", "--", "--aa=20", "--bb", "p2", "zz", status=0)
    assert done.stdout.split() == ["(p1,", "zz,", "20,", "true)", "@[p1]:", "zz"]
    done = bt("-q", "-e", program, "p1", "--", "--aa=20", "--bb", "p2", "zz")
    assert done.stdout.split() == ["(p1,", "p2,", "20,", "true)", "3", "@[p1]:", "p2"]


def test_every_word_is_one_or_the_other():
    made = random.Random(7)
    words = ["0x10", "-5", "017", "2e3", "1_000", "3s", "10UL", "-0x7f", "08", "0x", "1e", "12abc", "--", "-", "9" * 30]
    words = [word for word in words if word != "--"] + ["".join(made.choices("09xe-ab._ ", k=3)) for _ in range(20)]
    words = [word for word in words if not word.startswith("--")]
    numbers = {"0x10": 16, "-5": -5, "017": 15, "2e3": 2000, "1_000": 1000, "3s": 3 * 10**9, "10UL": 10, "-0x7f": -127}
    shown = "".join(f'print(${at}); printf("%s|\\n", str(${at})); ' for at in range(1, len(words) + 1))
    done = bt("-q", "--no-warnings", "-e", f"begin {{ {shown} }}", "--", *words)
    lines = done.stdout.splitlines()
    for at, word in enumerate(words):
        value, text = lines[2 * at : 2 * at + 2]
        assert text == f"{word}|"
        assert value == word or value.lstrip("-").isdigit()
        assert value == str(numbers.get(word, value))
        assert value != word or word not in numbers or str(numbers[word]) == word


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("/bin/true",), b""),
        (("-",), b"begin { print(1); }\0\n"),
        (("--include", "/bin/true", "-e", "begin { }"), b""),
        (("import.bt",), b""),
    ],
)  # fmt: skip
def test_what_is_no_text_is_told_in_a_line(words, given, tmp_path):
    (tmp_path / "binary.bt").write_bytes(b"begin { }\0")
    (tmp_path / "import.bt").write_text('import "binary.bt";\nbegin { }\n')
    done = subprocess.run([SONDE, "bt", *words], input=given, capture_output=True, env=environment(), cwd=tmp_path,
                          )  # fmt: skip
    message = done.stderr.decode()
    assert done.returncode == 1
    assert "it is no text" in message
    assert len(message.splitlines()) <= 3
    assert message.isprintable() or set(message) <= set(map(chr, range(32, 127))) | {"\n"}


def test_the_output_s_file_is_made_anew(tmp_path):
    file = tmp_path / "output"
    file.write_text("old\n" * 100)
    bt("-q", "-o", str(file), "-e", "begin { print(nosuch); }", status=1)
    assert file.read_text() == "old\n" * 100
    bt("-q", "-o", str(file), "-e", "begin { print(1); }")
    assert file.read_text().split() == ["1"]


def test_a_dry_run_attaches_and_nothing_fires():
    done = bt("--dry-run", "-e", "begin { print(1); } tracepoint:syscalls:sys_enter_getpid { @ = count(); }")
    assert (done.stdout, done.stderr) == ("", "")
    # More places than a processor watches.
    points = ",".join(f"watchpoint:{0x10000 + place:#x}:8:w" for place in range(0, 0x900, 0x100))
    assert "cannot attach" in bt("--dry-run", "-e", f"{points} {{ @ = count(); }}", status=1).stderr


def test_what_follows_a_failed_assertion_is_not_run():
    done = bt("-q", "-e", 'begin { assert(1 == 1, "no"); print(1); assert(1 == 2, "oops"); print(2); }', status=1)
    assert done.stdout.split() == ["1"]
    assert "assert failed: oops" in done.stderr


def test_addresses_have_no_sign():
    program = "begin { $x = (int32)-2; print((uint8*)$x); print((uint8*)-1); print((uint8*)(int64)-1); }"
    assert bt("-q", "-e", program).stdout.split() == ["0xfffffffe", "0xff", "0xffffffffffffffff"]


@pytest.mark.long
def test_a_word_of_a_list_is_a_type_or_a_name():
    listed = bt("-l", "sys_enter_getpid").stdout
    assert listed == bt("-l", "*:sys_enter_getpid").stdout == "tracepoint:syscalls:sys_enter_getpid\n"
    assert bt("-l", "software").stdout == bt("-l", "software:*").stdout != ""
    done = bt("-l", "nosuch.bt")
    assert (done.stdout, done.stderr.count("is a filename but the file does not exist")) == ("", 1)
