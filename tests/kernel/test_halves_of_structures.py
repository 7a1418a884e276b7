"""A structure that is passed in a general and a vector register: at the entry the general half can be read."""

import pytest
from support.command.command import build, sonde

PROGRAM = r"""
struct mixed { double real; int number; };
struct padded { int small; long large; };
volatile long sink;
__attribute__((noipa)) long work(struct mixed mixed, struct padded padded) {
    return sink = mixed.number + (long)mixed.real + padded.small + padded.large;
}
int main(int argc, char **argv) {
    struct mixed mixed = {1.5, argc + 40};
    struct padded padded = {argc + 1, 3};
    return work(mixed, padded) == 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("halves"), "halves", PROGRAM, "-g", "-O0")


def test_members_in_general_registers_are_read(program):
    text = 'pid$target:a.out:work:entry { printf("%d %d", args->mixed.number, args->padded.large); }'
    assert sonde("-q", "-c", program, "-n", text).stdout.splitlines()[0] == "41 3"


def test_what_no_probe_can_read_is_refused(program):
    result = sonde("-q", "-c", program, "-n", "pid$target:a.out:work:entry { trace(args->mixed); }", status=1)
    assert "args->mixed" in result.stderr
