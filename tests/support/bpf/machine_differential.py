"""One program in the kernel and in every execution of the embedded engine's machine."""

from support.bpf.embedded_runs import EXECUTIONS, can_run, run
from support.bpf.kernel_machine import RefusedError, loaded
from support.bpf.outcomes import differences

LEFT_OUT, REFUSED, SAME = "left out: a helper or map the engine does not have", "refused by the kernel", "same"


def compare(sample):
    """LEFT_OUT, REFUSED or SAME, or a text that says which execution differs and how."""
    if not can_run(sample):
        return LEFT_OUT
    try:
        with loaded(sample) as program:
            expected = program.run()
    except RefusedError:
        return REFUSED
    for name, execute in EXECUTIONS.items():
        found = differences(expected, run(sample, execute))
        if found:
            return f"the kernel and the {name} differ: {found}"
    return SAME
