"""Numbers of 16 bytes and more, complex ones, and bit-fields wherever they are, are shown or refused with a message."""

import subprocess
from itertools import cycle

import pytest
from support.command.command import SONDE, build, environment, sonde

PROGRAM = r"""
#include <complex.h>
struct bits { unsigned a : 3; int b : 7; unsigned c : 22; };
struct long_bits { unsigned long a : 3; long b : 27; unsigned long c : 34; };
struct __attribute__((packed)) tight {
    unsigned char before : 5; unsigned long a : 62; long b : 60; unsigned char c : 1;
};
struct holder {
    long double real; __int128 whole; unsigned __int128 natural; double complex both; float complex small;
    long double complex large; __float128 quad;
};
volatile long sink;
__attribute__((noipa)) long fields(struct bits one, struct long_bits two, struct tight *tight, struct tight last)
{
    return one.a + two.b + tight->a + last.c;
}
__attribute__((noipa)) long wide(long double real, __int128 whole, struct holder *holder)
{
    return real + whole + holder->whole;
}
long double global_real = 2.5L; __int128 global_whole = -5; double complex global_both = 1.5 + 2.5 * I;
int main(void)
{
    struct bits one = { 5, -9, 777777 };
    struct long_bits two = { 6, -99, 7777777777 };
    struct tight tight = { 17, 0x2123456789abcdefUL, -0x123456789abcdeL, 1 };
    struct holder holder = {
        1.25L, -7, ~(unsigned __int128)0, 1.0 - 2.0 * I, 3.0f + 4.0f * I, 5.0L + 6.0L * I, -0.375Q
    };
    return (fields(one, two, &tight, tight) + wide(1.5L, -((__int128)3 << 70), &holder)) == 42;
}
"""
FIELDS = {
    "args->one.a": 5, "args->one.b": -9, "args->one.c": 777777, "args->two.a": 6, "args->two.b": -99,
    "args->two.c": 7777777777, "args->tight->before": 17, "args->tight->a": 0x2123456789ABCDEF,
    "args->tight->b": -0x123456789ABCDE, "args->tight->c": 1, "args->last.before": 17,
    "args->last.a": 0x2123456789ABCDEF, "args->last.b": -0x123456789ABCDE, "args->last.c": 1,
}  # fmt: skip
SHOWN = {
    "print(args->real)": "(long double)1.5", "print(args->whole)": f"(__int128)-{3 << 70}",
    "print(args->holder->real)": "(long double)1.25", "print(args->holder->whole)": "(__int128)-7",
    "print(args->holder->natural)": f"(unsigned __int128){(1 << 128) - 1}",
    "print(args->holder->both)": "(double _Complex)1-2i", "print(args->holder->small)": "(float _Complex)3+4i",
    "print(args->holder->large)": "(long double _Complex)5+6i", "print(args->holder->quad)": "-0.375",
    "print(globals->global_real)": "(long double)2.5", "print(globals->global_whole)": "(__int128)-5",
    "print(globals->global_both)": "(double _Complex)1.5+2.5i",
    'printf("%d %x %u.", args->whole, args->holder->whole, args->holder->natural)':
        f"-{3 << 70} {(1 << 128) - 7:x} {(1 << 128) - 1}.",
    'printf("%Lf", args->holder->real)': "1.250000",
    "trace(args->holder->both)": "00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 00 c0",
    "@[args->holder->whole] = count()": "f9 ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff",
}  # fmt: skip
USES = [
    f"trace({each})" for each in (
        "{} + 1", "-{}", "!{}", "{} ? 1 : 2",
        "{} == 1", "(long){}", "stringof({})", "{}++", "strlen({})", "this->x = {}",
        "self->x = {}", "self->a[{}] = 1", "args->holder[{}].whole", "1 << {}", "copyinstr({})", "lltostr({})",
    )
]  # fmt: skip
ACTIONS = [
    "trace({})", "exit({})", "@ = sum({})", "@ = quantize({})", "@ = avg({})", "tracemem({}, 8)", 'printf("%s", {})',
    'printf("%p", {})', 'printf("%Y", {})', 'printf("%*d", {}, 1)', "print({})", "stack({})", "raise({})",
]  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("wide")
    return {level: build(directory, f"wide{level}", PROGRAM, "-g", level, "-std=gnu11") for level in ("-O0", "-O2")}


def shown(program, function, text):
    done = sonde("-qn", f"pid$target:a.out:{function}:entry {{ {text}; }}", "-c", program)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.share(1)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_bit_fields_have_their_values_wherever_they_are(programs, level):
    text = "".join(f'printf("{name} %d\\n", {name}); ' for name in FIELDS)
    rows = dict(row.split() for row in shown(programs[level], "fields", text).splitlines() if row)
    assert {name: int(value) for name, value in rows.items()} == FIELDS


@pytest.mark.share(1)
@pytest.mark.parametrize("text", SHOWN, ids=str)
def test_wide_numbers_are_shown(programs, text):
    assert SHOWN[text] in shown(programs["-O0"], "wide", text)


@pytest.mark.long
def test_every_other_use_of_a_wide_number_is_told_or_works(programs):
    """One message, never a traceback or a program that the kernel refuses."""
    for value, text in zip(cycle(("args->whole", "args->holder->both", "args->real")), (*USES, *ACTIONS), strict=False):
        clause = f"pid$target:a.out:wide:entry {{ {text.format(value)}; }}"
        command = [SONDE, "-qwn", clause, "-c", programs["-O0"]]
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        assert done.returncode in (0, 1), (clause, done.stderr)
        assert "Traceback" not in done.stderr + done.stdout, clause
        assert "the kernel refuses" not in done.stderr, clause
