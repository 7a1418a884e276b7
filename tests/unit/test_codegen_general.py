"""Programs of clauses whose probes are fired in several ways, for an engine that has general probes."""

from support.d.compiled import TARGET, compilation

from sonde.bpf import maps, programs

GENERAL = TARGET._replace(features=TARGET.features | {"general_probes"})

TEXT = """
    derived:::named,tick-1 { @a = count(); }
    derived:::born { @b = count(); }
    twice:::begun { @c = count(); }
"""


def compiled(text, target):
    return compilation(text, target).spec()


def test_programs_are_in_the_order_of_their_probes():
    """Those of one tracepoint run in it, whether a clause is a general probe or not."""
    for target in (TARGET, GENERAL):
        fired = [each.probes[0].probe.id for each in compiled(TEXT, target).programs if each.probes]
        assert fired == sorted(fired)
        assert {7, 9, 10, 11} <= set(fired)


def test_adapters_call_by_the_cookie_of_the_probe():
    calls = "syscall::read:entry,syscall::read:return,syscall::write:entry"
    spec = compiled(f"{calls} {{ @[probefunc] = count(); }}", GENERAL)
    (called,) = (each for each in spec.programs if each.kind == programs.PROBE)
    adapters = [each for each in spec.programs if each is not called]
    assert not called.probes
    assert sorted(probe.cookie for each in adapters for probe in each.probes) == [0, 1, 2]
    (array,) = (each for each in spec.maps if each.kind == maps.PROG_ARRAY)
    assert array.elements == ((0, called.name),)
    assert {name for each in adapters for _, name in each.map_references} == {array.name}


def test_one_kind_of_firing_needs_no_general_probe():
    assert [each.kind for each in compiled("syscall:::entry { @ = count(); }", GENERAL).programs] == [
        programs.RAW_TRACEPOINT
    ]
