"""What the analysis says of programs holds when the kernel runs them, and a program that decides needs -w."""

import pytest
from support.bpf.bpf_mutations import mutated
from support.bpf.bpf_programs import from_seed
from support.bpf.embedded_runs import single_processor
from support.bpf.kernel_machine import RefusedError, loaded
from support.command.command import sonde
from support.suite.example_counts import count_of

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.bpf.conduct import conduct
from sonde.bpf.helpers import NUMBERS
from sonde.model.probe import TCX
from sonde.model.specfile import from_text, to_text

pytestmark = pytest.mark.examples

TAIL_CALL = NUMBERS["tail_call"]


def with_result(sample, seed):
    """The program, which ends with the constant 2 half of the time."""
    if seed % 2:
        return sample
    code = list(sample.code)
    ends = [at for at, x in enumerate(code) if x.opcode == i.JMP | i.EXIT]
    # The first exit is the main function's; what sets r0 stands before it, unless it is a store.
    at = ends[0] - 1
    if code[at].opcode == i.ALU64 | i.X | i.MOV and code[at].dst == 0:
        code[at] = i.mov_imm(0, 2)
    return sample._replace(code=tuple(code))


@pytest.mark.share(1)
@pytest.mark.parametrize("make", [from_seed, mutated], ids=["random", "changed"])
@pytest.mark.parametrize("kind", [programs.XDP, programs.SCHED_CLS], ids=["xdp", "tcx"])
def test_packets_change_only_where_it_says_so(make, kind):
    unchanged = changed = constant = 0
    with single_processor():
        for seed in range(950_000, 950_000 + count_of(300)):
            sample = with_result(make(seed, kind), seed)
            found = conduct(list(sample.code), kind)
            try:
                with loaded(sample) as program:
                    outcome = program.run()
            except RefusedError:
                continue
            if found.writes:
                changed += 1
            else:
                unchanged += 1
                assert outcome.data == sample.data, f"program {seed}"
            # Another program's result is that one's.
            calls_on = any(x.opcode == i.JMP | i.CALL and x.src == 0 and x.imm == TAIL_CALL for x in sample.code)
            if found.results is not None and not calls_on:
                constant += 1
                assert outcome.result in found.results, f"program {seed}"
    tried = unchanged + changed
    assert min(unchanged, changed) > tried / 10
    assert constant > tried / 20


PROGRAM = "packet:lo:ingress: { @[probefunc] = count(); capture(32); } BEGIN { exit(0); }"


def at_tcx(program):
    """The program of a packet socket, as one of tcx; others as they are."""
    (served,) = program.probes
    if program.kind != programs.SOCKET_FILTER:
        return program
    firing = served.probe.firing._replace(hook=TCX)
    return program._replace(
        kind=programs.SCHED_CLS, probes=(served._replace(probe=served.probe._replace(firing=firing)),)
    )


def returning(program, verdict):
    """The program with another constant in each place before an exit."""
    if program.kind not in (programs.XDP, programs.SCHED_CLS):
        return program
    code = i.decode(program.code)
    for at, x in enumerate(code[:-1]):
        if code[at + 1].opcode == i.JMP | i.EXIT and x.opcode == i.ALU64 | i.MOV and x.dst == 0:
            code[at] = x._replace(imm=verdict)
    return program._replace(code=i.encode(code))


@pytest.mark.share(1)
@pytest.mark.parametrize(("xdp", "verdict", "status"), [
    (False, -1, 0), (False, 0, 1), (False, 2, 1), (True, 2, 0), (True, 1, 1), (True, 3, 1),
])  # fmt: skip
def test_a_packet_program_that_decides_needs_permission(tmp_path, xdp, verdict, status):
    path = tmp_path / "packets.spec"
    sonde("--save", str(path), "-qn", PROGRAM, *(["-xxdp=generic"] if xdp else []))
    content = from_text(path.read_text())
    made = tuple(returning(at_tcx(each), verdict) for each in content.spec.programs)
    assert {programs.XDP if xdp else programs.SCHED_CLS} <= {each.kind for each in made}
    path.write_text(to_text(content._replace(spec=content.spec._replace(programs=made))))
    done = sonde("--spec", str(path), status=status)
    if status:
        assert "Destructive actions not allowed" in done.stderr
        assert "may drop or redirect packets: its result is not always" in done.stderr
