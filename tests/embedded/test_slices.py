"""Those who answer stopped threads take short slices of CPU time; what is traced has the slices that it had."""

import re
from pathlib import Path

import pytest
from support.command.guarded import comes
from support.command.targets import program

from sonde.engines.embedded.tracer import slices
from sonde.engines.embedded.tracer.plan import ENTRY, StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees

OWN = "int main(void) { return 0; }"


def slice_of(pid):
    """Nanoseconds; None where the kernel does not tell."""
    try:
        found = re.search(r"se\.slice +: +(\d+)", Path(f"/proc/{pid}/sched").read_text())
    except OSError:
        return None
    return int(found[1]) if found else None


def test_the_guardian_has_a_short_one_and_the_command_not():
    before = slice_of("self")
    if before is None:
        pytest.skip("this kernel does not tell slices")
    tracees = Tracees()
    try:
        pid = tracees.start(program(OWN))
        tracees.begin(StopPlan({39: ENTRY}))
        assert comes(lambda: slice_of(tracees.guardian) == slices.SHORTEST)
        # A session of another test may have given this process the short one.
        assert slice_of(pid) == before or slice_of(pid) > before == slices.SHORTEST
    finally:
        tracees.close()
