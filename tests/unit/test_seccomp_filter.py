"""The filter's classic BPF, run by a small machine of its own: what it says of every call, as the table does."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.arch.x86_64.system_calls import CLONE, MMAP, MPROTECT, PKEY_MPROTECT, PRCTL, SECCOMP, SIGACTION
from sonde.engines.embedded.tracer.plan import CODE, FILES, HOLD_RETURN, RETURN
from sonde.engines.embedded.tracer.seccomp import INSTALLS, MARKS, UNTRACED, WANTED, clone3, filter_for, new_mark

NATIVE, I386, X32 = 0xC000003E, 0x40000003, 1 << 30
ALLOW, TRACE, NOTIFY = 0x7FFF0000, 0x7FF00000, 0x7FC00000


def run(program, architecture, number, first=0, protection=0, file=0):
    """Documentation/networking/filter.rst of the kernel, as much as such filters need."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    accumulator = place = 0
    while True:
        code, yes, no, constant = instructions[place]
        place += 1
        match code:
            case 0x20:
                accumulator = {0: number, 4: architecture, 16: first, 32: protection, 48: file}[constant]
            case 0x15:
                place += yes if accumulator == constant else no
            case 0x45:
                place += yes if accumulator & constant else no
            case 0x35:
                place += yes if accumulator >= constant else no
            case 0x05:
                place += constant
            case 0x06:
                return constant
            case _:
                raise AssertionError(hex(code))


TABLES = st.dictionaries(st.integers(0, 1023), st.integers(1, 15), max_size=200) | st.builds(
    lambda start, end, data: {number: data[number % len(data)] for number in range(start, end)},
    st.integers(0, 300),
    st.integers(300, 600),
    st.lists(st.integers(1, 15), min_size=1, max_size=5),
)


@pytest.mark.long
@given(TABLES)
def test_what_is_wanted_is_traced_and_all_else_allowed(calls):
    program = filter_for(calls)
    assert len(program) // 8 <= 4096
    for number in {*range(1024), 0x7FFFFFFF, 0xFFFFFFFF} - {SECCOMP, clone3()}:
        expected = TRACE | calls[number] if number in calls else ALLOW
        assert run(program, NATIVE, number) == expected


@pytest.mark.long
@given(TABLES, st.frozensets(st.integers(0, 1023)))
def test_what_is_notified_is_not_traced(calls, chosen):
    notified = chosen & set(calls) - {PRCTL, SECCOMP}
    mark = new_mark()
    program = filter_for(calls, notified, mark)
    for number in set(range(1024)) - {SECCOMP, clone3()}:
        expected = NOTIFY if number in notified else TRACE | mark | calls[number] if number in calls else ALLOW
        assert run(program, NATIVE, number) == expected
        assert run(program, I386, number) == ALLOW


@given(TABLES, st.integers(0, 1023))
def test_calls_of_other_architectures_are_allowed(calls, number):
    program = filter_for(calls)
    assert run(program, I386, number) == ALLOW
    assert run(program, NATIVE, number | X32) == ALLOW


@pytest.mark.long
@given(TABLES, st.integers(0, 7), st.sampled_from((0, 3, 0xFFFF_FFFF)), st.sampled_from((4, 5, 6)), st.booleans())
def test_what_maps_code_or_concerns_breakpoints_is_traced(calls, protection, file, first, concerns_breakpoints):
    """For breakpoints what maps a file, too, or changes what SIGTRAP does."""
    program = filter_for(calls, mark=0xA000, maps=FILES if concerns_breakpoints else CODE)
    for number in set(range(1024)) - {SECCOMP, clone3()}:
        wanted = calls.get(number, 0)
        has_code = number in (MMAP, MPROTECT, PKEY_MPROTECT) and bool(protection & 4)
        is_of_trap = number == SIGACTION and first == 5
        if has_code or (concerns_breakpoints and (is_of_trap or (number == MMAP and file != 0xFFFF_FFFF))):
            wanted |= RETURN | HOLD_RETURN
        expected = TRACE | 0xA000 | wanted if wanted else ALLOW
        assert run(program, NATIVE, number, first, protection, file) == expected


def test_every_call_alike_takes_few_instructions():
    assert len(filter_for(dict.fromkeys(range(460), 3))) // 8 < 30


@given(TABLES, st.integers(0, 1023))
def test_what_installs_a_filter_is_traced(calls, other):
    notified = {other} - {PRCTL, SECCOMP}
    program = filter_for({**calls, other: 1}, notified, 0xA000)
    wanted = {**calls, other: 1}
    assert run(program, NATIVE, SECCOMP) == TRACE | 0xA000 | INSTALLS | wanted.get(SECCOMP, 0)
    assert run(program, NATIVE, PRCTL, 22) == TRACE | 0xA000 | INSTALLS | wanted.get(PRCTL, 0)
    assert run(program, NATIVE, PRCTL, 21) == (TRACE | 0xA000 | wanted[PRCTL] if PRCTL in wanted else ALLOW)


def test_a_mark_leaves_the_other_bits_alone():
    marks = {new_mark() for _ in range(100)}
    assert len(marks) > 20
    assert all(mark & ~MARKS == 0 and mark > 4096 for mark in marks)
    assert MARKS | INSTALLS | WANTED == 0xFFFF


@given(TABLES, st.booleans())
def test_what_makes_an_untraced_process_is_traced(calls, is_notified):
    program = filter_for(calls, {CLONE} & set(calls) if is_notified else frozenset(), 0xA000)
    wanted = calls.get(CLONE, 0)
    assert run(program, NATIVE, CLONE, UNTRACED | 17) == TRACE | 0xA000 | INSTALLS | wanted
    plain = (NOTIFY if is_notified else TRACE | 0xA000 | wanted) if wanted else ALLOW
    assert run(program, NATIVE, CLONE, 17) == plain
    assert run(program, NATIVE, clone3()) == TRACE | 0xA000 | INSTALLS | calls.get(clone3(), 0), (
        "its flags lie in memory"
    )
