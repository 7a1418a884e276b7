"""What compiled programs are made of, counted in instructions: no work twice, none that nobody asked for."""

import pytest
from support.d.compiled import calls, code, compilation, jumps, local_calls, spec

from sonde.bpf import instructions as bpf

ENTRY = "syscall::read:entry"


def loads_of_words(instructions):
    return [i for i in instructions if i.opcode & 0xE7 == bpf.LDX | bpf.MEM and i.opcode & 0x18 == bpf.DW]


@pytest.mark.parametrize(("name", "words"), [("x", 1), ("sevench", 1), ("eightchr", 2), ("fifteen chars!!", 2)])
def test_execname_is_compared_in_words(name, words):
    """As many 64-bit compares as the text has words with its NUL, no loop and no subprogram."""
    with_test = code(f'{ENTRY} /execname == "{name}"/ {{ @ = count(); }}')
    without = code(f"{ENTRY} {{ @ = count(); }}")
    assert len(jumps(with_test)) - len(jumps(without)) == words
    assert all(i.offset >= 0 for _, i in jumps(with_test))
    assert local_calls(with_test) == []
    assert len(with_test) - len(without) < 16


@pytest.mark.parametrize(
    ("clause", "helper"),
    [
        ("/pid == 7/ { trace(pid); @[pid] = count(); }", "get_current_pid_tgid"),
        ("/timestamp > 5/ { trace(timestamp); x = timestamp; }", "ktime_get_ns"),
        ("/self->t/ { @ = sum(timestamp - self->t); trace(self->t); }", "get_current_task_btf"),
        ("/uid == 0 && gid == 0/ { printf(\"%d %d\", uid, gid); }", "get_current_uid_gid"),
    ],
)  # fmt: skip
def test_what_the_predicate_fetched_is_not_fetched_again(clause, helper):
    """One helper call for all uses in a clause."""
    assert calls(code(f"self long t; {ENTRY} {clause}"), helper) == 1


def test_thread_storage_is_looked_up_once():
    """All reads of thread-local variables share one lookup until one is set."""
    declared = "self int a; self int b; self int c;"
    instructions = code(f"{declared} {ENTRY} /self->a/ {{ trace(self->b); trace(self->a + self->c); }}")
    assert calls(instructions, "task_storage_get") == 1


def test_library_routines_are_there_once():
    """Subprograms are called, not repeated."""
    one = code(f"{ENTRY} {{ @a = quantize(arg0); }}")
    three = code(f"{ENTRY} {{ @a = quantize(arg0); @b = quantize(arg1); @c = quantize(arg2); }}")
    # That of the bucket, and that of the extremes.
    assert len(local_calls(three)) == 6
    assert len(set(local_calls(three))) == 2
    entry = local_calls(one)[0]
    assert len(three) - local_calls(three)[0] == len(one) - entry


def test_an_argument_of_printf_is_stored_straight_to_the_record():
    """No string passes through the stack: the stores of a constant are those of its words, in the record."""
    instructions = code('BEGIN { printf("%s %d", "0123456789abcdef", 5); }')
    to_stack = [i for i in instructions if i.opcode & 7 in (bpf.ST, bpf.STX) and i.dst == bpf.R10]
    counter_key = 1
    assert len(to_stack) <= counter_key + 1
    assert calls(instructions, "probe_read_kernel") == 0
    execname = code("BEGIN { trace(execname); }")
    assert calls(execname, "get_current_task_btf") == 1
    assert calls(execname, "get_current_comm") == 0
    assert calls(execname, "probe_read_kernel") == calls(execname, "probe_read_kernel_str") == 0


def test_a_command_name_costs_no_helper_but_the_task():
    """It is loaded from the task, as much as decides; the argument behind it is fetched only where it matters."""
    instructions = code(f'{ENTRY} /execname == "x" && arg0 > 3/ {{ @ = count(); }}')
    assert calls(instructions, "get_current_comm") == 0
    first = next(n for n, i in enumerate(instructions) if i.opcode == bpf.LDX | bpf.MEM | bpf.H)
    fetched = next(n for n, i in enumerate(instructions) if i.opcode == bpf.JMP | bpf.CALL and n > first)
    assert any(first < n < fetched for n, _ in jumps(instructions))


def test_a_string_variable_goes_to_the_record_in_words():
    """Each word is loaded and stored once."""
    short = code('string s; BEGIN { s = "x"; }', strsize=23)
    copied = code('string s; BEGIN { s = "x"; trace(s); }', strsize=23)
    assert len(loads_of_words(copied)) - len(loads_of_words(short)) == 3


def test_constants_are_folded():
    """An expression of constants is one store."""
    assert len(code("BEGIN { trace(3); }")) == len(code("BEGIN { trace((1 + 2) * 7 / 7 ? 3 : 4); }"))


def test_a_predicate_that_cannot_hold_leaves_nothing():
    """The clause behind it is dropped, with its library routines."""
    assert calls(code("BEGIN /0/ { trace(execname); } BEGIN { x = 1; }"), "get_current_task_btf") == 0


def test_a_map_nobody_refers_to_is_not_created():
    """Only the maps that the programs or the session need."""
    names = {m.name for m in spec("BEGIN { trace(1); }").maps}
    assert names == {"state", "counters", "ring", "spare"}


def test_the_intermediate_form_is_what_the_code_is_made_of():
    """`functions` gives each program's optimized main function."""
    made = compilation("BEGIN { trace(1); } END { trace(2); }")
    assert [f.name for f in made.functions()] == [p.name for p in made.spec().programs]
