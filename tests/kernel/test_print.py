"""print() of what is in the kernel and of what the program has."""

import re

from support.command.command import EXECNAME, sonde

TYPES = """
enum color { RED, BLUE = 3 };
struct inner { long y; string name; };
struct outer {
    char tag[4]; unsigned int low : 3; unsigned int high : 5; enum color color;
    struct inner inner; int numbers[3]; union { int u; short v; };
};
"""


def printed(text, *words):
    """The lines that a quiet program prints, without the margin."""
    lines = sonde("-qn", text, *words).stdout.splitlines()
    return [line.removeprefix(" " * 44) for line in lines]


def test_a_structure_of_the_program():
    assert printed(TYPES + """
    struct outer o;
    BEGIN {
        o.tag[0] = 'h'; o.tag[1] = 'i'; o.low = 5; o.high = 17; o.color = BLUE;
        o.inner.y = -1; o.inner.name = "x"; o.numbers[1] = 2; o.u = 258;
        print(o); exit(0);
    }""")[:22] == [
        "(struct outer) {",
        " .tag = (char [4]) [", "  (char)'h',", "  (char)'i',", " ],",
        " .low = (unsigned int)5,", " .high = (unsigned int)17,", " .color = (enum color)BLUE,",
        " .inner = (struct inner) {", "  .y = (long)-1,", '  .name = (string)"x",', " },",
        " .numbers = (int [3]) [", "  (int)0,", "  (int)2,", " ],",
        " (union) {", "  .u = (int)258,", "  .v = (short)258,", " },",
        "}", "",
    ]  # fmt: skip


def test_scalars():
    text = 'int i; BEGIN { i = -3; print(i); print("a\\tb"); print((enum color)3); print(probename); exit(0); }'
    assert printed(TYPES + text)[:4] == ["(int)-3", '(string)"a\\tb"', "(enum color)BLUE", '(string)"BEGIN"']


def test_a_structure_of_one_clause():
    text = "this struct inner i; BEGIN { this->i.y = 9; print(this->i); exit(0); }"
    assert printed(TYPES + text)[:3] == ["(struct inner) {", " .y = (long)9,", "}"]


def test_kernel_objects_have_addresses():
    lines = printed('BEGIN { print(curthread); printf("%p %d\\n", curthread, curthread->prio); exit(0); }')
    address, prio = lines[-2].split()
    assert lines[:2] == [f"0x{address} = *", "(struct task_struct) {"]
    assert f" .prio = (int){prio}," in lines
    # Pointers are not followed.
    assert any(re.fullmatch(r" \.nsproxy = \(struct nsproxy \*\)0x[0-9a-f]+,", line) for line in lines)
    assert lines[-3] == "}"


def test_a_member_of_a_kernel_object():
    text = (
        'BEGIN { print(curthread->comm); print(curthread->pid); print(&curthread->pid); printf("%d", pid); exit(0); }'
    )
    lines = printed(text)
    assert lines[1 : len(EXECNAME) + 3] == ["(char [16]) [", *(f" (char)'{letter}'," for letter in EXECNAME), "]"]
    rest = lines[len(EXECNAME) + 3 :]
    assert re.fullmatch(r"\(pid_t\)(\d+)", rest[1])
    assert rest[0:2] == rest[2:4]


def test_what_cannot_be_read():
    text = "BEGIN { print((struct task_struct *)64); } BEGIN { exit(0); }"
    done = sonde("-qn", text)
    assert "invalid address (0x40)" in done.stderr
    assert not done.stdout.strip()


def test_printsize():
    text = """
    struct { long y; long z; long last; } i;
    BEGIN { i.y = 1; i.z = 2; print(i); setopt("printsize", "9"); print(i); exit(0); }"""
    lines = printed(text, "-xprintsize=1")
    assert lines[:4] == ["(struct) {", " .y = (long)1,", " ...", "}"]
    assert lines[4:9] == ["(struct) {", " .y = (long)1,", " .z = (long)2,", " ...", "}"]


def test_in_the_columns_of_other_output():
    lines = sonde("-n", "BEGIN { print(curthread->pid); exit(0); }").stdout.splitlines()
    assert re.fullmatch(r"  \d +1 +:BEGIN 0x[0-9a-f]+ = \*", lines[1])
    assert re.fullmatch(r" {44}\(pid_t\)\d+", lines[2])


def test_in_a_raw_file(tmp_path):
    path = tmp_path / "raw"
    live = sonde("--raw", str(path), "-n", "BEGIN { print(curthread); exit(0); }").stdout
    assert sonde("raw", str(path)).stdout == live
