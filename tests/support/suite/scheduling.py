"""The distribution of tests over processes: a file's tests stay together, and one process has all that trace the
whole machine."""

import pytest
from xdist.scheduler import LoadScopeScheduling

MACHINE = "the whole machine"

OWN_PROGRAMS = frozenset((
    "array_bounds", "branches", "bt_expressions", "bt_programs", "chapters", "codegen_arithmetic", "codegen_strings",
    "direct_callers", "documents_live", "dof_probes", "embedded_helpers_agree", "embedded_maps_agree",
    "embedded_pointers_agree", "embedded_strings_agree", "examples_family", "instruction_semantics_live",
    "large_programs", "loop_bounds", "machine_differential", "malformed_live", "memory_not_resident",
    "named_variables", "object_fetch", "object_values_against_gdb", "objects_on_both_engines", "odd_static_programs",
    "parameters_at_entry", "perf_data_live", "pid_probes", "python_stacks", "random_programs",
    "registers_on_both_engines", "replayed_packet_files", "same_on_both_engines", "static_probes_everywhere",
    "unwinding", "verifier_differential", "whole_programs",
))  # fmt: skip
"""Tests of the kernel engine that trace programs and processes of their own only: tests/kernel/test_NAME.py."""


def group_of(test):
    """The group of a test by its name as pytest writes it: tests of one group run in one process."""
    file = test.partition("::")[0]
    prefix = "tests/kernel/test_"
    traces_machine = file.startswith(prefix) and file[len(prefix) : -len(".py")] not in OWN_PROGRAMS
    return MACHINE if traces_machine else file


class GroupScheduling(LoadScopeScheduling):
    """xdist's distribution by groups."""

    def _split_scope(self, nodeid):
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return GroupScheduling(config, log)
