"""What is said of a refused program, what becomes of an accepted one, and that all compiled ones are accepted."""

import pytest
from support.bpf.verified import MAPS, outcome, program, states
from support.d.compiled import spec

from sonde.bpf import instructions as i
from sonde.bpf.assembler import assemble
from sonde.runtime.verifier.contexts import CONTEXTS, field_named
from sonde.runtime.verifier.rules import KERNEL, STRICT, USUAL
from sonde.runtime.verifier.verify import Refusal, verify

LOOKUP = """
    *(u64 *)(r10 -8) = 0
    r2 = r10
    r2 += -8
    r1 = map[hash]
    call bpf_map_lookup_elem
    r1 = r0
    r0 = *(u64 *)(r1 +0)
    exit
"""


def refusal(text, kind="raw_tracepoint", **named):
    with pytest.raises(Refusal) as found:
        verify(program(text, kind, **named), MAPS)
    return found.value


def test_a_message_names_line_instruction_state_and_check():
    found = refusal(LOOKUP, lines=((0, "script.d:2"), (7, "script.d:3"), (9, "script.d:4")))
    assert found.line == "script.d:3"
    assert found.at == 7
    assert found.instruction == "r0 = *(u64 *)(r1 +0)"
    assert found.register.startswith("r1 = map_value_or_null(map=hash,size=16,id=")
    assert found.reason == (
        "r1 may be NULL: it comes from bpf_map_lookup_elem at 5 and is not compared with 0 before the read of 8 bytes"
    )
    assert str(found).startswith(f"script.d:3: {found.reason} (r1 = ")
    assert str(found).endswith(", in instruction 7 of program test: r0 = *(u64 *)(r1 +0)")


def test_a_program_without_lines_has_none_in_its_message():
    assert str(refusal("exit")).startswith("r0 is read, but was not set")


def test_an_engine_without_the_program_type_says_so():
    spec_ = program("r0 = 0\nexit")._replace(kind=12)
    with pytest.raises(Refusal, match="this engine runs no programs of type lwt_xmit"):
        verify(spec_, MAPS)


def test_accesses_to_the_context_are_those_of_the_engine():
    spec_ = program("r0 = *(u64 *)(r1 +128)\nr2 = *(u64 *)(r1 +168)\nexit", "perf_event")
    context = CONTEXTS[spec_.kind]
    registers, period = field_named(context, "regs"), field_named(context, "sample_period")
    assert verify(spec_, MAPS).code == (
        i.load(8, 0, 1, registers.at + 128),
        i.load(8, 2, 1, period.at),
        i.exit_(),
    )


def test_a_packet_pointer_is_loaded_whole():
    data = field_named(CONTEXTS[program("exit", "xdp").kind], "data")
    verified = verify(program("r0 = *(u32 *)(r1 +0)\nr0 = 2\nexit", "xdp"), MAPS)
    assert verified.code[0] == i.load(8, 0, 1, data.at)


def test_other_instructions_stay_as_they_are():
    text = LOOKUP.replace("r1 = r0", "r1 = map[one][0]+0")
    assert list(verify(program(text), MAPS).code) == assemble(text).code


def test_an_instruction_reads_the_context_always_or_never():
    found = refusal(
        """
        r2 = *(u64 *)(r1 +8)
        if r2 == 0x0 goto read
        r1 = map[one][0]+0
    read:
        r0 = *(u64 *)(r1 +0)
        exit
        """
    )
    assert "it accesses the context on one way and something else" in found.reason


def test_what_is_known_of_arguments_by_their_types():
    text = "r2 = *(u64 *)(r1 +0)\nr0 = *(u64 *)(r2 +8)\nexit"
    verify(program(text, "tracing"), MAPS, ("task_struct", ""))
    with pytest.raises(Refusal, match="r2 is a number, not a pointer"):
        verify(program(text, "tracing"), MAPS, ("", "task_struct"))


def test_a_structure_has_an_end_where_its_size_is_known():
    text = "call bpf_get_current_task_btf\nr0 = *(u64 *)(r0 +{})\nexit"
    verify(program(text.format(56)), MAPS, size_of={"task_struct": 64}.get)
    verify(program(text.format(57)), MAPS)
    with pytest.raises(
        Refusal, match="leads behind the end of task_struct: the read of 8 bytes at offset 57 of 64 bytes"
    ):
        verify(program(text.format(57)), MAPS, size_of={"task_struct": 64}.get)


def test_what_was_never_written_is_any_number_but_to_the_strict():
    text = "r0 = *(u64 *)(r10 -8)\nexit"
    assert outcome(text, rules=USUAL) == ""
    assert "never written" in outcome(text, rules=STRICT)


TAKEN = """
{before}
r1 = map[hash]
r2 = r10
r2 += -8
r3 = r10
r3 += -40
r4 = 0
call bpf_map_update_elem
{behind}
r0 = 0
exit
"""
"""A key of 8 bytes and a value of 16."""

KEY = "*(u32 *)(r10 -8) = 1\n"
SOMETIMES = "call bpf_ktime_get_ns\nif r0 > 5 goto pc+1\n"


@pytest.mark.parametrize("write", ["*(u64 *)(r10 -40) = 1", "*(u8 *)(r10 -25) = 1", "*(u64 *)(r10 -64) = 1"])
def test_a_value_may_be_missing_where_something_as_deep_is_written(write):
    for before, behind in ((write, ""), ("", write), (SOMETIMES + write, "")):
        assert outcome(TAKEN.format(before=KEY + before, behind=behind), rules=USUAL) == "", (before, behind)


@pytest.mark.parametrize("write", ["", "*(u64 *)(r10 -24) = 1"])
def test_a_value_deeper_than_all_that_is_written_is_refused(write):
    text = TAKEN.format(before=KEY, behind=write)
    wanted = "r3 leads to byte -40 of the stack, which was never written: bpf_map_update_elem takes 16 bytes as a value"
    assert wanted in outcome(text, rules=USUAL)
    assert outcome(text, rules=KERNEL) == ""


def test_a_key_in_a_stack_that_is_never_written_is_refused():
    text = TAKEN.replace("r3 = r10\nr3 += -40", "r3 = map[one][0]")
    wanted = "r2 leads to byte -8 of the stack, which was never written: bpf_map_update_elem takes 8 bytes as a key"
    assert wanted in outcome(text.format(before="", behind=""), rules=USUAL)
    assert outcome(text.format(before="*(u8 *)(r10 -9) = 1", behind=""), rules=USUAL) == ""


def test_the_first_instruction_of_a_loop_is_seen_once_for_each_turn():
    seen = states("r0 = 0\nagain:\nr0 += 1\nif r0 < 0x5 goto again\nexit")
    assert [at for at, _ in seen].count(1) == 5


PROGRAMS = (
    "BEGIN { x = 1; y = strjoin(execname, probefunc); trace(y); exit(0); }",
    "syscall::read:entry /pid != 7/ { @[execname, probefunc] = quantize(arg2); self->t = timestamp; }",
    "syscall::read:entry { a[pid, copyinstr(arg1)] = 1; trace(copyinstr(arg1)); }",
    "syscall::read:entry { this->s = speculation(); speculate(this->s); trace(arg0); }",
    "syscall::read:entry { @c = count(); @l = lquantize(arg0, 0, 100, 5); printa(@c); trunc(@l, 3); }",
    "syscall::read:entry { trace(substr(execname, 1, 2)); trace(strtok(execname, \"a\")); }",
    "syscall::read:entry { trace(index(execname, \"x\")); trace(copyin(arg1, 16)); }",
    "syscall::read:entry { ustack(); stack(); @[ustack(4)] = count(); }",
    "syscall::read:entry { @[ustack(2)] = count(); @[ustack(4)] = count(); }",
    "syscall::read:entry { @[stack(9)] = count(); @[stack(1)] = count(); }",
    "END { trace(basename(\"/a/b\")); trace(cleanpath(\"/a/../b\")); trace(lltostr(12)); }",
)  # fmt: skip


@pytest.mark.share(6)
@pytest.mark.parametrize("text", PROGRAMS)
def test_what_sonde_compiles_is_accepted(text):
    made = spec(text)
    maps = {each.name: each for each in made.maps}
    for each in made.programs:
        assert verify(each, maps, rules=STRICT).steps > 0
