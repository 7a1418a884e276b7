"""Which stops the embedded engine asks its guardian for, from the programs that are to run."""

import pytest

from sonde.arch import call_registers, registers, system_calls
from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.bpf.helpers import NUMBERS
from sonde.engines.embedded.sources.task_reads import looks_at_task
from sonde.engines.embedded.sources.wishes import plan_of
from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, HOLD_RETURN, RETURN
from sonde.model.probe import Internal, Probe, RawTracepoint, Syscall, Timer
from sonde.model.spec import MapSpec, ProbeSpec, ProgramSpec, TracingSpec

RETURN_ZERO = [i.mov_imm(i.R0, 0), i.exit_()]


def program(code, *probes):
    served = tuple(ProbeSpec(probe, 0) for probe in probes)
    return ProgramSpec("program", programs.RAW_TRACEPOINT, 0, i.encode(code), (), served)


def planned(*each):
    all_probes = tuple(served.probe for program in each for served in program.probes)
    return plan_of(TracingSpec((), each, (), (), (), all_probes), seccomp=True)


def call(number, is_return=False):
    return Probe(100 + number, "syscall", "vmlinux", str(number), "", Syscall(number, str(number), is_return))


def calling(name):
    return [i.call(NUMBERS[name]), *RETURN_ZERO]


def test_without_probes_of_processes_nothing_is_asked_for():
    plan = planned(program(RETURN_ZERO, Probe(1, "dtrace", "", "", "BEGIN", Internal("BEGIN"))))
    assert not plan.calls
    assert not plan.events


def test_what_the_program_of_one_call_needs_is_no_burden_of_others():
    plan = planned(program(RETURN_ZERO, call(2), call(3)), program(calling("get_stack"), call(3), call(4, True)))
    wanted = {n: wanted for n, wanted in plan.calls.items() if n != system_calls.PRCTL}
    assert wanted == {2: ENTRY, 3: ENTRY | HOLD_ENTRY, 4: RETURN | HOLD_RETURN}


@pytest.mark.parametrize("helper", ["probe_read_user", "probe_read_user_str", "get_stack", "send_signal"])
def test_a_thread_that_is_looked_at_stands_still(helper):
    plan = planned(program(calling(helper), call(2), call(2, True)))
    assert plan.calls[2] == ENTRY | RETURN | HOLD_ENTRY | HOLD_RETURN
    assert plan.registers is (helper == "get_stack")


def test_names_are_followed():
    """Of threads that a program looks at."""
    assert planned(program(calling("get_current_comm"), call(2))).calls[system_calls.PRCTL] == ENTRY | HOLD_ENTRY
    assert system_calls.PRCTL not in planned(program(RETURN_ZERO, call(2))).calls


CURRENT = i.call(NUMBERS["get_current_task_btf"])
TO_KEY = i.mov_reg(i.R2, i.R0)
KEPT = [i.store_reg(8, i.R10, -8, i.R0), i.load(8, i.R2, i.R10, -8)]
STORED = [i.mov_imm(i.R3, 0), i.mov_imm(i.R4, 0), i.call(NUMBERS["task_storage_get"]), *RETURN_ZERO]
LOOKS = {
    "nothing": (RETURN_ZERO, False),
    "its key": ([CURRENT, TO_KEY, *STORED], False),
    "its key, kept": ([CURRENT, *KEPT, *STORED], False),
    "what is behind its key": ([CURRENT, TO_KEY, *STORED[:3], i.load(8, i.R1, i.R0, 0), *RETURN_ZERO], False),
    "number": (calling("get_current_pid_tgid"), False),
    "a member": ([CURRENT, i.load(4, i.R1, i.R0, 16), *RETURN_ZERO], True),
    "a member, from a copy": ([CURRENT, i.mov_reg(i.R6, i.R0), i.load(8, i.R1, i.R6, 64), *RETURN_ZERO], True),
    "a member, kept": (
        [CURRENT, *KEPT, i.load(8, i.R1, i.R2, 8), *RETURN_ZERO], True,
    ),
    "a member, behind a branch": (
        [CURRENT, i.mov_reg(i.R6, i.R0), i.jump_imm(i.JEQ, i.R6, 0, 1), i.load(8, i.R1, i.R6, 64), *RETURN_ZERO], True,
    ),
    "a member, moved to": ([CURRENT, i.mov_reg(i.R6, i.R0), i.alu64_imm(i.ADD, i.R6, 64), *RETURN_ZERO], True),
    "a value that may be read later": ([CURRENT, i.store_reg(8, i.R1, 0, i.R0), *RETURN_ZERO], True),
    "name": (calling("get_current_comm"), True),
    "user": (calling("get_current_uid_gid"), True),
    "kernel memory": (calling("probe_read_kernel"), True),
}  # fmt: skip


@pytest.mark.parametrize("what", LOOKS)
def test_exec_is_held_for_programs_that_look_at_the_thread(what):
    code, looks = LOOKS[what]
    assert looks_at_task(program(code, call(2))) is looks
    assert (stops.EXEC in planned(program(code, call(2))).held) is looks


def test_probes_that_follow_from_all_calls_ask_for_those_they_are_about():
    probe = Probe(80002, "proc", "vmlinux", "", "exec", RawTracepoint("sys_enter", 2))
    plan = planned(program(RETURN_ZERO, probe))
    assert set(plan.calls) == {59, 322, system_calls.PRCTL}
    plan = planned(program(RETURN_ZERO, probe._replace(provider="rawtp", name="sys_enter")))
    assert len(plan.calls) > 400


@pytest.mark.parametrize(
    ("tracepoint", "kind"),
    [("sched_process_fork", stops.FORK), ("sched_process_exit", stops.EXIT), ("signal_deliver", stops.SIGNAL)],
)
def test_events_are_asked_for(tracepoint, kind):
    probe = Probe(1, "rawtp", "", "", tracepoint, RawTracepoint(tracepoint, 2))
    assert planned(program(RETURN_ZERO, probe)).events == {kind}
    assert kind in planned(program(calling("probe_read_user"), probe)).held


def test_samples_stop_nothing():
    plan = planned(program(RETURN_ZERO, Probe(1, "profile", "", "", "profile-97", Timer(10**7, True))))
    assert not plan.events
    assert not plan.held


def loading(offset, *between):
    return [
        i.call(NUMBERS["task_pt_regs"]),
        i.mov_reg(i.R6, i.R0),
        *between,
        i.load(8, i.R1, i.R6, offset),
        *RETURN_ZERO,
    ]


EVENTS = ("sched_process_fork", "sched_process_exec", "sched_process_exit", "signal_generate", "signal_deliver")

TOLD = {
    "entry": (call(2), call_registers.TOLD_ENTERING),
    "return": (call(2, True), call_registers.TOLD_LEAVING),
    "return of a call that makes threads": (call(56, True), call_registers.TOLD_BEGINNING),
    **{name: (Probe(1, "rawtp", "", "", name, RawTracepoint(name, 2)), frozenset()) for name in EVENTS},
}


@pytest.mark.parametrize("where", TOLD)
def test_registers_that_no_record_tells(where):
    """A thread is held for each of them, and for no other."""
    probe, told = TOLD[where]
    for offset in range(0, registers.SIZE, 8):
        plan = planned(program(loading(offset), probe))
        holds = any(wanted & (HOLD_ENTRY | HOLD_RETURN) for wanted in plan.calls.values()) or plan.events & plan.held
        assert plan.registers == (offset not in told), offset
        assert holds or not plan.registers, offset


@pytest.mark.parametrize(
    "how",
    [
        [i.alu64_imm(i.ADD, i.R6, 8)],
        [i.mov_reg(i.R3, i.R6), i.call(NUMBERS["probe_read_kernel"])],
    ],
)
def test_registers_that_are_moved_to_or_given_away_are_any(how):
    assert planned(program([*loading(112)[:2], *how, *RETURN_ZERO], call(2))).registers


@pytest.mark.parametrize(("offset", "needs"), [(40, True), (112, False)])
def test_registers_that_a_function_of_the_program_loads(offset, needs):
    function = [i.load(8, i.R0, i.R1, offset), i.exit_()]
    code = [*loading(112)[:2], i.mov_reg(i.R1, i.R6), i.call_local(2), *RETURN_ZERO, *function]
    assert planned(program(code, call(2))).registers is needs


def test_a_program_that_is_called_has_the_registers_of_its_callers_event():
    caller = program(RETURN_ZERO, Probe(1, "rawtp", "", "", "sys_enter", RawTracepoint("sys_enter", 2)))
    caller = caller._replace(name="caller", map_references=((0, "others"),))
    called = program([i.load(8, i.R1, i.R1, 0), i.load(8, i.R1, i.R1, 40), *RETURN_ZERO])
    called = called._replace(name="called", probes=())
    others = MapSpec("others", maps.PROG_ARRAY, 4, 4, 1, elements=((0, "called"),))
    spec = TracingSpec((others,), (caller, called), (), (), (), ())
    assert plan_of(spec, True).registers


def test_a_pointer_is_followed_through_the_stack_and_jumps():
    code = [
        i.call(NUMBERS["task_pt_regs"]),
        i.store_reg(8, i.R10, -8, i.R0),
        i.jump_imm(i.JEQ, i.R0, 0, 2),
        i.load(8, i.R7, i.R10, -8),
        i.load(8, i.R1, i.R7, 40),
        *RETURN_ZERO,
    ]
    assert planned(program(code, call(2))).registers


def test_another_pointer_s_members_do_not_count():
    assert not planned(program(loading(32, i.mov_reg(i.R6, i.R10)), call(2))).registers


def test_a_return_to_what_a_signal_interrupted_is_no_calls_return():
    plan = planned(program(RETURN_ZERO, call(2, True), call(15, True)))
    assert 15 not in plan.calls
    assert plan.calls[2] == RETURN
