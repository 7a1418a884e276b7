"""What a recording begins with: the same comes back, of files of the first version as well, and nothing else."""

import ast
import base64
import copy
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d.compiled import spec
from support.source.parsed import nodes
from test_specfile import PROGRAMS, maps, numbers, texts

import sonde
from sonde.consume.description import (
    Description,
    FoundProbes,
    ShownOption,
    describe,
    describe_found,
    described,
    found_probes,
)
from sonde.consume.options import Options
from sonde.formats.raw_file import RawFileError
from sonde.model.conversions import Conversion
from sonde.model.named_maps import SPECULATIONS, WAITING
from sonde.model.plain import from_plain, to_plain
from sonde.model.probe import Internal, Probe, Syscall
from sonde.model.records import Action, AggregationSpec, Field, MemberSpec, RecordLayout, TypeSpec

OPTIONS = {"quiet": True, "strsize": 64, "aggrate": 1_000_000_000, "printsize": 16, "aggsortpos": 3}


def options():
    made = Options()
    for name, value in OPTIONS.items():
        setattr(made, name, value)
    return made


def shown(made):
    return {name: getattr(made, name) for name in Options.__slots__}


def first(value):
    """As sonde 0.1.0 wrote values."""
    if isinstance(value, tuple):
        items = [first(each) for each in value]
        return {"class": type(value).__name__, "values": items} if hasattr(value, "_fields") else items
    return {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def first_description(made, rings, options):
    kept = tuple(each for each in made.maps if each.name in (SPECULATIONS, WAITING))
    pairs = tuple(shown(options).items())
    parts = made.records, made.aggregations, made.strings, silent(made.probes), rings, pairs, made.types, kept
    return json.dumps([first(part) for part in parts]).encode()


def silent(probes):
    return tuple(each._replace(firing=Internal("")) for each in probes)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("write", [describe, first_description])
def test_what_is_described_comes_back(name, write):
    """Equal in value and type, but for what a recording does not need."""
    made = spec(PROGRAMS[name])
    found, rings, read = described(write(made, 3, options()))
    assert rings == 3
    assert shown(read) == shown(options())
    kept = tuple(each for each in made.maps if each.name in (SPECULATIONS, WAITING))
    assert repr(found) == repr(
        made._replace(maps=kept, programs=(), probes=silent(made.probes), rings=("ring",), ring_bytes=0)
    )


fields = st.builds(Field, numbers, numbers, texts, st.booleans(), texts)
conversions = st.builds(
    Conversion, texts, texts, st.none() | st.just("*") | numbers, st.none() | st.just("*") | numbers, texts, numbers
)


def values_of(annotation, names):
    """What may stand in a field of a class, by its annotation."""
    known = {
        "Field": fields, "Field | None": st.none() | fields, "bool": st.booleans(),
        "int": numbers, "int | None": st.none() | numbers,
        "str": texts, "tuple[Field, ...]": st.lists(fields, max_size=3).map(tuple),
        "tuple[int, ...]": st.lists(numbers, max_size=3).map(tuple),
        "tuple[Conversion, ...]": st.lists(conversions, max_size=3).map(tuple),
        "tuple[Conversion, ...] | None": st.none() | st.lists(conversions, max_size=3).map(tuple),
    }  # fmt: skip
    return known[annotation]


actions = st.one_of(
    *(st.builds(kind, *(values_of(each, kind) for each in kind.__annotations__.values())) for kind in Action.__args__)
)
"""Any action, also of a kind that is added later: its fields are asked for what they may have."""


def listed(values):
    return st.lists(values, max_size=3).map(tuple)


layouts = st.builds(
    RecordLayout, numbers, numbers, listed(actions), st.booleans(), numbers, listed(texts), st.none() | fields
)
aggregations = st.builds(
    AggregationSpec, texts, texts, listed(numbers), listed(fields), numbers, numbers, texts, st.booleans()
)
members = st.builds(
    MemberSpec,
    *({"int": numbers, "str": texts, "bool": st.booleans()}[each] for each in MemberSpec.__annotations__.values()),
)
types = st.builds(
    TypeSpec, texts, texts, numbers, st.booleans(), numbers, listed(st.tuples(texts, numbers)), listed(members)
)
probes = st.builds(Probe, numbers, texts, texts, texts, texts, st.builds(Internal, texts))
strings = listed(st.binary(max_size=40))
descriptions = st.builds(
    Description, st.just(2), numbers, listed(st.builds(ShownOption, texts, st.booleans() | numbers)), listed(layouts),
    listed(aggregations), strings, listed(probes), listed(types), listed(maps),
)  # fmt: skip


@pytest.mark.long
@given(st.one_of(descriptions, st.builds(FoundProbes, strings, listed(probes))))
def test_any_value_survives(value):
    data = json.loads(json.dumps(to_plain(value)))
    assert repr(from_plain(type(value), data)) == repr(value)


@given(strings, listed(probes))
def test_probes_that_are_found_later(found, which):
    """In both versions; how they are fired is not kept."""
    fired = tuple(each._replace(firing=Syscall(1, "read", True, False)) for each in which)
    expected = FoundProbes(found, silent(which))
    assert found_probes(describe_found(found, fired)) == expected
    assert found_probes(json.dumps([first(found), first(silent(which))]).encode()) == expected


JUNK = (
    0, -1, 1 << 40, 1e300, "", "Field", None, True, [], {}, [[]], {"is": "Field"}, {"is": []}, {"bytes": 7},
    {"bytes": "!"}, {"class": "Field", "values": []}, {"class": [], "values": {}},
    {"class": "Internal", "values": [1, 2, 3]},
)  # fmt: skip


def changed(data, chance):
    """The JSON with one to three of its values replaced."""
    data = copy.deepcopy(data)
    for _ in range(chance.randint(1, 3)):
        at, place, holder = data, None, None
        while isinstance(at, list | dict) and at and (place is None or chance.random() < 0.85):
            holder, place = at, chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
            at = at[place]
        if chance.random() < 0.2:
            del holder[place]
        else:
            holder[place] = copy.deepcopy(chance.choice(JUNK))
        if not data:
            break
    return json.dumps(data).encode()


@pytest.mark.long
@pytest.mark.parametrize("write", [describe, first_description])
@pytest.mark.parametrize("name", ["actions", "no probes but the session's own"])
def test_anything_else_is_one_message(name, write):
    whole = json.loads(write(spec(PROGRAMS[name]), 2, options()))
    chance = random.Random(13)
    messages = [message_of(changed(whole, chance)) for _ in range(1000)]
    assert not any("\n" in message for message in messages)
    assert sum(map(bool, messages)) > 500


def message_of(payload):
    """What is said of it, "" if it is read."""
    try:
        described(payload)
    except RawFileError as error:
        return str(error) or "nothing is said"
    return ""


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"7", b"null", b'"x"', b"[]", b"{}", b"[" * 100_000, b"\xff", b'{"version": null}']
)
def test_what_is_no_description(payload):
    for read in (described, found_probes):
        with pytest.raises(RawFileError, match=r"damaged|version"):
            read(payload)


@pytest.mark.parametrize("version", [1, 3, 1 << 80])
def test_other_versions_are_named(version):
    data = json.loads(describe(spec("BEGIN { }"), 1, Options())) | {"version": version}
    with pytest.raises(RawFileError, match=f"of version {version},"):
        described(json.dumps(data).encode())


@pytest.mark.parametrize("rings", [-1, (1 << 16) + 1, True, "1"])
def test_the_number_of_rings_has_bounds(rings):
    data = json.loads(describe(spec("BEGIN { }"), 1, Options())) | {"rings": rings}
    with pytest.raises(RawFileError, match="rings"):
        described(json.dumps(data).encode())


SERIALISING = {
    "model.plain": "the serialiser",
    "model.specfile": "text and checksum of what the serialiser has made",
    "consume.description": "bytes of what the serialiser has made",
    "captures.values": "bytes of what the serialiser has made",
    "consume.first_descriptions": "the first version, which is read",
    "consume.recorder": "the name of a map",
    "consume.recorded": "the name of a map",
    "frontends.bpftrace.report.json_objects": "lines of `sonde bt -f json`, for programs that read them",
    "library.arrow_pandas": "what pandas looks for in a table",
    "library.data.json_values": "lines of `sonde -f json`, for programs that read them",
    "frontends.python.captured": "what a function has from outside, for the checker",
    "library.rich_pictures": "a picture within an element of HTML",
    "formats.speedscope": "a file of another program's",
    "reader": "messages between sonde and its own reader, which both have the same code",
    "recording.firing_file": "bytes of what the serialiser has made",
    "pictures.page": "numbers of a picture, for its script",
    "lazy": "compiled modules, as Python has written them",
    "cli.module_bundle": "compiled modules, as Python has written them",
}
"""Modules that turn values into JSON or back, and why."""


def test_values_have_one_serialiser():
    root = Path(sonde.__file__).parent
    known = {"json", "pickle", "marshal", "base64", "shelve", "copyreg"}
    found = set()
    for path in root.rglob("*.py"):
        for node in nodes(path):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            if known & set(names):
                found.add(".".join(path.relative_to(root).with_suffix("").parts))
    assert found == set(SERIALISING)
