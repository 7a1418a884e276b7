"""The verifier as the engine asks it knows the engine's maps, helpers, tracepoints and structures."""

import pytest
from support.bpf.verified import outcome, program

from sonde.bpf import maps, programs
from sonde.bpf.signatures import SIGNATURES
from sonde.model.errors import EngineError
from sonde.model.spec import MapSpec
from sonde.runtime.helpers.table import SUPPORTED
from sonde.runtime.kernel_types import size_of
from sonde.runtime.programs.verification import verify_here
from sonde.runtime.verifier.verify import Refusal

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


MISSING = [
    "get_current_ancestor_cgroup_id", "get_func_ip", "perf_event_read",
    "perf_event_read_value", "perf_prog_read_value", "skb_load_bytes_relative", "skb_pull_data", "skb_store_bytes",
    "xdp_adjust_head", "xdp_adjust_tail", "xdp_store_bytes",
]  # fmt: skip


def test_which_helpers_of_the_kernel_the_engine_has_not():
    assert sorted(each.name for each in SIGNATURES.values() if each.number not in SUPPORTED) == MISSING


@pytest.mark.parametrize("name", MISSING)
def test_a_helper_that_the_engine_has_not_is_refused(name):
    callers = next(each for each in SIGNATURES.values() if each.name == name).programs
    calling = program(f"call bpf_{name}\nr0 = 0\nexit")._replace(kind=min(callers or {programs.RAW_TRACEPOINT}))
    with pytest.raises(Refusal, match=f"bpf_{name} is a helper that this engine does not have"):
        verify_here(calling, {})


@pytest.mark.parametrize("kind", ["lpm_trie", "hash_of_maps", "bloom_filter", "cgrp_storage"])
def test_a_map_that_the_engine_has_not_is_refused(kind):
    spec = MapSpec("unknown", maps.NAMES.index(kind), 8, 8, 1)
    with pytest.raises(EngineError, match=f"cannot create map unknown: the embedded engine has no maps of kind {kind}"):
        verify_here(program("r1 = map[unknown]\nr0 = 0\nexit"), {"unknown": spec})
