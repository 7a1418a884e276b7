"""The verifier as the engine asks it knows the engine's tracepoints and structures."""

import pytest
from verified import outcome, program

from sonde.engines.base import EngineError
from sonde.engines.embedded.kernel_types import size_of
from sonde.engines.embedded.verification import verify_here
from sonde.engines.embedded.verifier.verify import Refusal

READ = "r2 = *(u64 *)(r1 +{argument})\nr0 = *(u64 *)(r2 +{offset})\nr0 = 0\nexit"
END = size_of("task_struct")


def tracing(tracepoint, text):
    return program(text, "tracing")._replace(attach_to=f"btf_trace_{tracepoint}")


def test_a_member_of_a_task_can_be_read():
    verify_here(tracing("sched_process_exit", READ.format(argument=0, offset=END - 8)), {})


def test_nothing_behind_a_task_can_be():
    text = READ.format(argument=0, offset=END)
    with pytest.raises(Refusal, match="behind the end of task_struct"):
        verify_here(tracing("sched_process_exit", text), {})
    assert outcome(text, "tracing") == "", "where the argument is a word that may be any pointer"


def test_a_tracepoint_of_a_kernel_is_refused():
    with pytest.raises(EngineError, match="tracepoint block_rq_issue, which only a kernel has"):
        verify_here(tracing("block_rq_issue", "r0 = 0\nexit"), {})
