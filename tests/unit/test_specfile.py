"""Spec files: what is written is read back exactly, and nothing else is accepted."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d.compiled import TARGET, compilation, spec
from test_codegen_determinism import PROGRAMS as DETERMINED

from sonde.model.options import OptionTable
from sonde.model.plain import from_plain, to_plain
from sonde.model.probe import Internal, Probe, RawTracepoint, Syscall, Timer, Tracepoint, Uprobe
from sonde.model.records import Action
from sonde.model.spec import Fetch, FetchStep, MapSpec, ProbeSpec, Stamp, VariablesSpec
from sonde.model.specfile import (
    CompiledFor,
    Fact,
    KeptSetting,
    ProgramPart,
    SpecFile,
    SpecFileError,
    from_text,
    to_text,
)

PROGRAMS = DETERMINED | {
    "actions": """
        BEGIN { printf("%-*d|%.3s|%Y", 5, 4, "abc", walltimestamp); tracemem(&`max_pfn, 16, 4); trace(`max_pfn); }
        BEGIN { @a = avg(1); @s[1] = sum(2); @l = lquantize(3, 0, 10); @e = max(1); @i[stack()] = min(2); }
        BEGIN { printa("%@d", @a, @e); clear(@e); trunc(@s); trunc(@s, 2); normalize(@s, 3); denormalize(@s); }
        BEGIN { setopt("quiet"); setopt("aggsortkey", "1"); system("echo %d", 1); freopen("%s", "x"); exit(1); }
        struct { int a[2]; struct { long b : 3; string s; }; float f; enum { ONE = 1 } e; char *p; } o;
        BEGIN { print(o); print(curthread); print(probename); print(1); }
        BEGIN { stack(2); ustack(); sym(1); usym(2); printf("%k", stack(1)); } END { } syscall::read:entry { }
    """,
    "no probes but the session's own": "BEGIN { exit(0); }",
}


def content(made, **changes):
    compiled_for = CompiledFor("x86_64", "6.18.0", "abc", (Fact("struct", "task_struct", "12"),))
    options = (KeptSetting("quiet", True), KeptSetting("strsize", 64), KeptSetting("rings", "cpu"))
    file = SpecFile("1.0", compiled_for, (ProgramPart("description 'BEGIN'", 1),), options, False, made)
    return file._replace(**changes)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("strsize", [16, 256, 4096])
@pytest.mark.parametrize("rings", [False, True])
def test_what_is_saved_is_loaded(name, strsize, rings):
    """Equal in value and type, for each program and settings that change its shape."""
    file = content(spec(PROGRAMS[name], strsize=strsize, rings_per_cpu=rings))
    loaded = from_text(to_text(file))
    assert loaded == file
    assert repr(loaded) == repr(file)


texts = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.integers(-(1 << 63), (1 << 64) - 1)
st.register_type_strategy(int, numbers)
firings = st.one_of(
    st.builds(Internal, texts), st.builds(Syscall, numbers, texts, st.booleans(), st.booleans()),
    st.builds(Timer, numbers, st.booleans()), st.builds(RawTracepoint, texts, numbers),
    st.builds(Tracepoint, texts, texts, st.booleans()),
)  # fmt: skip
probes = st.builds(Probe, numbers, texts, texts, texts, texts, firings)
maps = st.recursive(
    st.builds(MapSpec, texts, numbers, numbers, numbers, numbers),
    lambda inner: st.builds(
        MapSpec, texts, numbers, numbers, numbers, numbers, numbers, st.none() | inner,
        st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=20)), max_size=3).map(tuple), st.booleans(),
        st.booleans(), texts,
    ),
    max_leaves=3,
)  # fmt: skip


steps = st.lists(st.builds(FetchStep, texts, numbers), max_size=3).map(tuple)
fetches = st.lists(st.builds(Fetch, numbers, numbers, texts, steps), max_size=3).map(tuple)
variables = st.builds(VariablesSpec, numbers, fetches)


@given(
    st.one_of(probes, maps, variables, st.builds(ProbeSpec, probes, numbers), st.builds(Stamp, numbers, texts, texts))
)
def test_any_value_survives(value):
    data = json.loads(json.dumps(to_plain(value)))
    assert repr(from_plain(type(value), data)) == repr(value)


def test_loading_changes_constants_only():
    """A map's descriptor in the place of a call's number would be a call of another helper, after all checks."""
    made = spec("BEGIN { @[1] = sum(2); }")
    program = made.programs[0]
    opcodes = program.code[::8]
    assert opcodes.count(0x85) > 1
    for at, opcode in enumerate(opcodes[:-1]):
        for change in (
            {"map_references": (*program.map_references, (at, "state"))}, {"stamps": (Stamp(at, "target"),)},
        ):  # fmt: skip
            text = to_text(content(made._replace(programs=(program._replace(**change), *made.programs[1:]))))
            if opcode == 0x18:
                from_text(text)
            else:
                assert "refers to no map" in reason(text) or "unknown stamp" in reason(text)


def test_permission_is_not_taken_from_a_file():
    options = OptionTable()
    assert not options.is_kept("destructive")
    assert options.is_kept("aggrate")
    assert not options.is_kept("cpp")
    assert not options.is_kept("nothing")


def test_every_action_can_be_saved():
    """The alternatives are all known, also those that no program above has."""
    assert {each.__name__ for each in Action.__args__} >= {"TraceAction", "OtherAction"}


def reason(text):
    with pytest.raises(SpecFileError) as found:
        from_text(text)
    assert "\n" not in str(found.value)
    return str(found.value)


def test_what_is_no_spec_file():
    for text in ("", "{", "[]", "{}", "7", '{"format": "sonde spec"}', '{"format": "x", "version": 1}', "[" * 100000):
        assert "no spec file" in reason(text)


def test_a_newer_file():
    data = json.loads(to_text(content(spec("BEGIN { }"))))
    assert "newer version" in reason(json.dumps(data | {"version": 2}))


def test_a_file_with_a_character_changed_or_lost():
    text = to_text(content(spec(PROGRAMS["actions"])))
    chance = random.Random(7)
    for _ in range(60):
        at = chance.randrange(len(text) - 2)
        for damaged in (text[:at], text[:at] + chr(33 + chance.randrange(90)) + text[at + 1 :]):
            try:
                same = json.loads(damaged) == json.loads(text)
            except ValueError:
                same = False
            if not same:
                assert reason(damaged)


def signed_again(data):
    """The file with a checksum that is right."""
    from sonde.model.specfile import _checksum

    rest = {name: value for name, value in data.items() if name not in ("format", "version", "checksum")}
    return json.dumps({**data, "checksum": _checksum(rest)})


def leaves(data, path=()):
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    yield path
    for name, value in items:
        yield from leaves(value, (*path, name))


def test_every_value_is_checked():
    """A value of another type anywhere is refused, whatever the checksum."""
    text = to_text(content(spec('BEGIN { @[1] = sum(2); printf("%d %s", 1, execname); }')))
    for path in list(leaves(json.loads(text))):
        if path[:1] in ((), ("format",), ("version",), ("checksum",)):
            continue
        data = json.loads(text)
        at = data
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = {"is": "nothing"}
        assert reason(signed_again(data)), path


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "rings"), ["other"]),
        (("spec", "programs", 0, "code"), "00"),
        (("spec", "programs", 0, "map_references"), [[10**6, "state"]]),
        (("spec", "programs", 0, "stamps"), [{"at": 0, "kind": "evil"}]),
        (("spec", "records", 0, "size"), 4),
        (("spec", "records", 0, "actions", 0, "fields", 0, "kind"), "__import__"),
        (("spec", "records", 0, "actions", 0, "conversions", 0, "width"), "1; evil()"),
        (("spec", "aggregations", 0, "map"), "none"),
        (("spec", "records", 0, "actions", 1, "type"), 99),
        (("spec", "types", 1, "element"), 1),
        (("spec", "types", 2, "members", 0, "type"), -1),
        (("spec", "unknown"), 1),
        (("spec", "records", 1, "actions", 0, "field", "detail"), "evil()"),
        (("spec", "records", 1, "actions", 0, "field", "detail"), "2) or evil("),
        (("spec", "records", 1, "actions", 0, "field", "size"), 7),
        (("spec", "aggregations", 1, "keys", 0, "detail"), "evil()"),
        (("spec", "aggregations", 2, "keys", 0, "size"), 4),
        (("spec", "aggregations", 0, "keys", 0, "size"), 3),
        (("spec", "aggregations", 0, "function"), "evil"),
        (("spec", "aggregations", 0, "words"), 1 << 40),
        (("spec", "aggregations", 0, "has_extent"), True),
        (("spec", "aggregations", 3, "parameters"), []),
        (("spec", "aggregations", 3, "parameters"), [0, 10, 0]),
        (("spec", "aggregations", 3, "parameters"), [0, 1 << 60, 1]),
        (("spec", "aggregations", 4, "parameters"), [0, 0, 0, 0]),
        (("spec", "aggregations", 4, "parameters"), [10, 0, 10**6, 10]),
        (("spec", "aggregations", 4, "words"), 3),
    ],
)
def test_references_lead_somewhere(path, value):
    data = json.loads(
        to_text(
            content(
                spec(
                    'struct { int a[2]; } o; BEGIN { @[1] = sum(2); printf("%d %s", 1, execname); print(o); } '
                    "END { stack(2); @s[stack(2)] = count(); @u[ustack()] = count(); "
                    "@l = lquantize(1, 0, 9); @m = llquantize(5, 10, 0, 3, 10); }"
                )
            )
        )
    )
    at = data
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    assert "damaged" in reason(signed_again(data))


@pytest.mark.parametrize("elements", [[[0, "none"]], [[1, "general0"]], [[-1, "general0"]], [], None])
def test_programs_that_nothing_fires_are_called(elements):
    """By an array that has them, and has nothing else."""
    general = TARGET._replace(features=TARGET.features | {"general_probes"})
    made = compilation("syscall::read:entry,syscall::read:return { @[probename] = count(); }", general).spec()
    data = json.loads(to_text(content(made)))
    assert from_text(to_text(content(made))).spec == made
    (array,) = (each for each in data["spec"]["maps"] if each.get("elements"))
    array["elements"] = elements
    assert "damaged" in reason(signed_again(data))


def test_probes_of_processes_are_not_for_files():
    """A file cannot put breakpoints into a process."""
    found = spec("BEGIN { exit(0); }")
    (program,) = found.programs
    ((probe, cookie),) = program.probes
    moved = probe._replace(firing=Uprobe(1, "/bin/sh", 4097, "entry"))
    changed = found._replace(programs=(program._replace(probes=(ProbeSpec(moved, cookie),)),))
    assert "is of a process" in reason(to_text(content(changed)))
