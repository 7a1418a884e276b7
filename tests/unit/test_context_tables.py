"""The engine's own layouts hold together, and accesses are rewritten to them."""

import pytest

from sonde.bpf import programs
from sonde.runtime.verifier.contexts import CONTEXTS, ContextError, field_named, find, tracing


@pytest.mark.parametrize("kind", CONTEXTS, ids=programs.name_of)
def test_fields_have_places_of_their_own(kind):
    context = CONTEXTS[kind]
    taken = set()
    for field in context.fields:
        place = set(range(field.at, field.at + (field.width or field.size)))
        assert not taken & place, field.name
        taken |= place
    assert max(taken) < context.size


@pytest.mark.parametrize("kind", CONTEXTS, ids=programs.name_of)
def test_accesses_stay_aligned_where_they_are_rewritten(kind):
    context = CONTEXTS[kind]
    for field in context.fields:
        for size in field.reads | field.writes:
            start = field.offset + -field.offset % size
            if start + size <= field.offset + field.size:
                access = find(context, start, size)
                assert access.at % access.size == 0, (field.name, size)


def test_one_structure_serves_both_packet_types():
    of_filters, of_classifiers = CONTEXTS[programs.SOCKET_FILTER], CONTEXTS[programs.SCHED_CLS]
    assert of_filters.size == of_classifiers.size
    for field in of_filters.fields:
        assert field_named(of_classifiers, field.name).at == field.at


def test_packet_pointers_are_read_as_addresses():
    access = find(CONTEXTS[programs.XDP], 4, 4)
    assert (access.field.kind, access.size) == ("packet_end", 8)


def test_narrow_reads_reach_the_byte_that_was_meant():
    context = CONTEXTS[programs.SCHED_CLS]
    assert find(context, 18, 1).at == find(context, 16, 4).at + 2


def test_arguments_of_a_tracepoint_have_types():
    context = tracing(("pt_regs", ""))
    assert find(context, 0, 8).field.type == "pt_regs"
    assert find(context, 8, 4).field.kind == "scalar"


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (programs.SOCKET_FILTER, (76, 4), "programs of this type have nothing there"),
        (programs.SCHED_CLS, (0, 4, True), "len cannot be written"),
        (programs.SCHED_CLS, (0, 8), "len is accessed by 1 or 2 or 4 bytes"),
        (programs.PERF_EVENT, (4, 8), "not aligned"),
        (programs.XDP, (0, 4, False, True), "data is a pointer, which has no sign to extend"),
        (programs.RAW_TRACEPOINT, (96, 8), "programs of this type have nothing there"),
    ],
)
def test_refusals_say_what_is_wrong(kind, arguments, message):
    with pytest.raises(ContextError, match=message):
        find(CONTEXTS[kind], *arguments)


def test_numbers_alone_are_narrowed_in_what_a_tracepoint_gives():
    with pytest.raises(ContextError, match="accessed by 8 bytes"):
        find(tracing(("task_struct",)), 0, 4)
