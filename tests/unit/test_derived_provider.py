"""Derived providers: tables of definitions made probes of, according to what the kernel has."""

from importlib import import_module
from itertools import pairwise

import pytest

from sonde.frontends.d.parser import parse_expression
from sonde.model.probe import KernelFunction, PerfEvent, Probe, RawTracepoint
from sonde.model.types import INT, Pointer, Struct, name_of
from sonde.providers.derived.definition import Definition, NativeArgument, ShownArgument
from sonde.providers.derived.provider import DerivedProvider
from sonde.providers.pattern import Pattern, matches
from sonde.providers.provider import IdentifierBlock
from sonde.session.known_providers import BLOCKS, DERIVED

TASK = Struct("struct", "task_struct", 8, lambda: ())


class Kernel:
    """Tracepoints by name with their arguments' names, and functions."""

    def __init__(self, functions=(), **tracepoints):
        self._tracepoints = tracepoints
        self._functions = functions

    def tracepoint_parameters(self, name):
        return self._tracepoints.get(name)

    def function(self, name):
        return (INT, ()) if name in self._functions else None

    def lookup(self, keyword, name):
        return TASK if (keyword, name) == ("struct", "task_struct") else None


DEFINITIONS = {
    "left": (
        Definition(
            "switch",
            "args->prev != NULL",
            (NativeArgument("struct task_struct *", "args->prev"),),
            (ShownArgument("info *", 0),),
        ),
    ),
    "other": (
        Definition("nothing"),
        Definition("switch", "args->missing"),
        Definition("timer", "args->what == (long)&`tick"),
        Definition(
            "switch", "args->preempt", (NativeArgument("char __user *", "arg1"),), (ShownArgument("string", 0),)
        ),
    ),
    "gone": (Definition("nothing"),),
    "both": (Definition("switch", more=(Definition("timer", "args->what"), Definition("nothing"))),),
}
KERNEL = Kernel(switch=("preempt", "prev", "next"), timer=("what",))


def provider(kernel=KERNEL):
    return DerivedProvider("made", IdentifierBlock(500, 599), DEFINITIONS, kernel)


def probe(name, kernel=KERNEL):
    (found,) = provider(kernel).match(Pattern("made", "", "", name))
    return found


def test_identifiers_are_places_in_the_table():
    """Whatever of it the kernel has."""
    found = provider().match(Pattern("made"))
    assert [(p.id, p.name) for p in found] == [(500, "left"), (501, "other"), (503, "both")]
    assert provider().by_id(503) == found[2]
    assert provider().by_id(502) is None
    assert provider().by_id(599) is None


@pytest.mark.parametrize(
    ("fields", "count"),
    [(("vmlinux",), 3), (("other",), 0), (("", "", "l*"), 1), (("", "part"), 0), (("", "", "gone"), 0)],
)
def test_descriptions(fields, count):
    assert len(provider().match(Pattern("made", *fields))) == count


def test_arguments_are_found_by_name():
    (found,) = provider().derivations(probe("left"))
    assert (found.condition, found.values) == ("args[1] != NULL", ("args[1]",))
    assert found.source.firing == RawTracepoint("switch", 3)
    older = Kernel(switch=("prev", "next"))
    assert provider(older).derivations(probe("left", older))[0].values == ("args[0]",)


def test_the_first_definition_that_fits_holds():
    (found,) = provider().derivations(probe("other"))
    assert found.condition == "args[0]"
    newer = Kernel(("tick",), switch=("preempt",), timer=("what",))
    (found,) = provider(newer).derivations(probe("other", newer))
    assert found.condition == "args[0] == (long)&`tick"


def test_more_tracepoints_count_as_far_as_there_are_any():
    found = provider().derivations(probe("both"))
    assert [(d.source.name, d.condition) for d in found] == [("switch", ""), ("timer", "args[0]")]


FUNCTION = Probe(0, "fbt", "vmlinux", "take", "entry", KernelFunction("vmlinux", "take", False))
EVENT = Probe(0, "perf", "", "", "faults-1", PerfEvent("software", (2, 0, 0), 1))
OTHERS = {
    "taken": (Definition("fbt:take:entry", "args->lock != NULL"),),
    "faulted": (Definition("perf:faults-1"),),
    "missing": (Definition("fbt:nothing:return"),),
}


class KernelWithFunction(Kernel):
    def function(self, name):
        return (INT, ("what", "lock")) if name == "take" else None


def match(provider, module, function, name):
    return [each for each in (FUNCTION, EVENT) if each[1:5] == (provider, module, function, name)]


@pytest.mark.parametrize(
    ("name", "source", "condition"), [("taken", FUNCTION, "args[1] != NULL"), ("faulted", EVENT, "")]
)
def test_probes_may_follow_from_functions_and_perf_events(name, source, condition):
    made = DerivedProvider("made", IdentifierBlock(500, 599), OTHERS, KernelWithFunction(), match)
    (found,) = made.match(Pattern("made", "", "", name))
    (derivation,) = made.derivations(found)
    assert (found.firing, derivation.source, derivation.condition) == (source.firing, source, condition)


def test_what_is_absent_has_a_reason():
    absent = {"swap*": "never whole processes"}
    made = DerivedProvider("made", IdentifierBlock(500, 599), OTHERS, KernelWithFunction(), match, absent)
    assert made.absence("swapin") == "never whole processes"
    assert "lacks fbt:nothing:return" in made.absence("missing")
    assert made.absence("other") == ""


@pytest.mark.parametrize("name", DERIVED)
def test_no_probe_is_called_absent(name):
    """But by a pattern that means all others."""
    tables = import_module(f"sonde.providers.derived.{name}")
    patterns = [each for each in getattr(tables, "ABSENT", {}) if each not in ("*", "op-*")]
    assert not [(each, pattern) for each in tables.DEFINITIONS for pattern in patterns if matches(pattern, each)]


def test_types_that_only_libraries_know():
    (found,) = provider().arguments(probe("left"))
    assert found.native == Pointer(TASK)
    assert name_of(found.shown) == "info *"


def test_strings_of_the_process():
    (found,) = provider().arguments(probe("other"))
    assert found.native.user
    assert name_of(found.shown) == "string"


def every_definition():
    for provider_name in DERIVED:
        for name, alternatives in import_module(f"sonde.providers.derived.{provider_name}").DEFINITIONS.items():
            for each in alternatives:
                yield pytest.param(each, id=f"{provider_name}:{name}")
                for other in each.more:
                    yield pytest.param(other._replace(shown=each.shown), id=f"{provider_name}:{name}:{other.event}")


@pytest.mark.share(104)
@pytest.mark.parametrize("definition", list(every_definition()))
def test_definitions_are_d(definition):
    for text in (definition.condition, *(value.text for value in definition.values)):
        if text:
            parse_expression(text, is_type_name=lambda name: name.endswith("_t"))
    assert all(0 <= shown.value < len(definition.values) for shown in definition.shown)


@pytest.mark.parametrize("name", DERIVED)
def test_identifiers_suffice(name):
    block = BLOCKS[name]
    assert len(import_module(f"sonde.providers.derived.{name}").DEFINITIONS) <= block.last - block.first + 1


@pytest.mark.long
def test_blocks_do_not_overlap():
    blocks = sorted(BLOCKS.values())
    assert all(before.last < after.first for before, after in pairwise(blocks))
