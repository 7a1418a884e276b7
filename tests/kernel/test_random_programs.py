"""Random programs are worth running: the kernel takes most of them, and they use memory."""

import pytest
from support.bpf.bpf_mutations import mutated
from support.bpf.bpf_programs import from_seed, touches_memory
from support.bpf.kernel_machine import RefusedError, loaded

COUNT = 200


def accepted(sample):
    try:
        with loaded(sample):
            return True
    except RefusedError:
        return False


def test_same_seed_gives_the_same_program():
    assert [from_seed(n) for n in range(50)] == [from_seed(n) for n in range(50)]
    assert [mutated(n) for n in range(50)] == [mutated(n) for n in range(50)]


def test_most_are_taken_and_use_memory():
    samples = [from_seed(n) for n in range(COUNT)]
    assert sum(map(accepted, samples)) > 0.9 * COUNT
    assert sum(map(touches_memory, samples)) > 0.5 * COUNT


@pytest.mark.long
def test_changed_programs_are_often_refused():
    assert 0.2 * COUNT < sum(accepted(mutated(n)) for n in range(COUNT)) < 0.8 * COUNT


@pytest.mark.parametrize("seed", range(20))
def test_a_run_gives_the_same_twice(seed):
    outcomes = []
    for _ in range(2):
        with loaded(from_seed(seed)) as program:
            outcomes.append(program.run())
    assert outcomes[0] == outcomes[1]
