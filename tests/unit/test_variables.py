"""What sonde names at a place, its type and its value, against gdb at every line of programs it has compiled."""

import pytest
from support.machine import packages
from support.symbols.compiled_objects import C_SOURCE, CXX_SOURCE, SOURCES, compiled, needs_gcc, needs_gdb, needs_rust
from support.symbols.gdb_comparison import compared

from sonde.model.types import Enum, Pointer, Struct, name_of, resolve, size_of
from sonde.symbols.dwarf.breakpoints import stops
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.scopes import all_scopes, nameable, scopes_at
from sonde.symbols.dwarf.types import Types

pytestmark = needs_gcc

needs_clang = packages.needs("clang++")

LEVELS = ("-O0", "-O2", "-O3")
VARIANTS = [
    *(("c variables", (level,)) for level in LEVELS),
    *(("c++ variables", (level,)) for level in LEVELS),
    ("c variables", ("-O2", "-gsplit-dwarf")), ("c variables", ("-O2", "-gsplit-dwarf", "-gdwarf-4")),
    pytest.param("clang++ variables", ("-O0",), marks=needs_clang),
    ("c variables", ("-O2", "-gdwarf-3")), ("c++ variables", ("-O2", "-gdwarf-4", "-fdebug-types-section")),
]  # fmt: skip


def check(language, flags):
    """Every value that sonde knows is gdb's; the shares of what it does not know and cannot fetch are small."""
    results = compared(compiled(*flags, language=language), SOURCES[language][0])
    pairs = [each for each in results if each["gdb"] is not None]
    known = [each for each in pairs if each["sonde"] is not None]
    assert [each for each in known if each["sonde"] != each["gdb"]] == []
    fetched = [each for each in known if each["steps"] is not None]
    assert [each for each in fetched if each["steps"] != each["gdb"]] == []
    assert len(fetched) > 0.8 * len(known)
    beyond = [each for each in pairs if each["sonde"] is None or each["obstacle"]]
    assert len(beyond) <= 0.03 * len(pairs), beyond
    return known


@pytest.mark.share(0, 3)
@needs_gdb
@pytest.mark.parametrize(("language", "flags"), VARIANTS, ids=str)
def test_values_are_those_gdb_prints(language, flags):
    known = check(language, flags)
    assert len({(each["pc"], each["path"]) for each in known}) > 240
    if flags != ("-O0",):
        assert sum(each["list"] for each in known) > 80


@pytest.mark.long
@needs_gdb
@needs_rust
@pytest.mark.parametrize("level", [0, 2, 3])
def test_values_of_rust_are_those_gdb_prints(level):
    known = check("rust variables", ("-C", f"opt-level={level}"))
    assert len({(each["pc"], each["path"]) for each in known}) > 200


def entry_variables(name, *flags):
    information = open_information(compiled(*flags))
    (function,) = information.functions(name)
    types = Types()
    return function, types


def test_types_are_those_of_the_language():
    function, types = entry_variables("loop", "-O0")
    (request, count, *_) = next(all_scopes(function, types)).variables
    assert (request.name, name_of(request.type), request.is_parameter) == ("request", "struct request *", True)
    assert name_of(count.type) == "int"
    pointer = resolve(request.type)
    assert isinstance(pointer, Pointer)
    assert pointer.user
    struct = resolve(pointer.to)
    assert isinstance(struct, Struct)
    assert {name: (struct.find(name).offset // 8, name_of(struct.find(name).type)) for name in
            ("at", "sizes", "headers", "inner", "left", "right", "callback", "next")} == {
        "at": (0, "struct point"), "sizes": (8, "struct point[3]"), "headers": (48, "struct header *"),
        "inner": (56, "short"), "left": (60, "int"), "right": (60, "unsigned int"),
        "callback": (72, "int (*)(int, const char *)"), "next": (80, "struct request *"),
    }  # fmt: skip
    bits = resolve(struct.find("bits").type)
    assert [(each.name, each.offset, each.bits) for each in bits.members] == [("a", 0, 3), ("b", 3, 7), ("c", 10, 40)]
    color = resolve(struct.find("color").type)
    assert color == Enum("color", 4, True, (("RED", 0), ("GREEN", 5), ("BLUE", -1)))
    assert size_of(struct) == 88
    assert resolve(resolve(struct.find("next").type).to) is struct


@pytest.mark.parametrize("version", ["2", "3", "4", "5"])
def test_bit_fields_are_where_they_are_in_every_version(version):
    information = open_information(compiled("-O0", f"-gdwarf-{version}", "-gstrict-dwarf"))
    (function,) = information.functions("loop")
    struct = resolve(resolve(next(all_scopes(function, Types())).variables[0].type).to)
    bits = resolve(struct.find("bits").type)
    assert [(each.name, each.offset, each.bits) for each in bits.members] == [("a", 0, 3), ("b", 3, 7), ("c", 10, 40)]


def test_a_name_is_that_of_the_innermost_block():
    path = compiled("-O0")
    information = open_information(path)
    line = C_SOURCE[: C_SOURCE.index("        sink = total;\n    }\n    return")].count("\n") + 1
    (stop,) = stops(information, "program.c", line)
    named = {each.name: name_of(each.type) for each in nameable(scopes_at(stop.function, stop.address, Types()))}
    assert named == {"request": "struct request *", "count": "int", "total": "long"}


def test_an_inlined_copy_knows_its_own_names_only():
    information = open_information(compiled("-O2"))
    line = C_SOURCE[: C_SOURCE.index("    sink += doubled")].count("\n") + 1
    found = stops(information, "program.c", line)
    assert len(found) == 2
    for stop in found:
        scopes = scopes_at(stop.function, stop.address, Types())
        assert [each.name for each in scopes if each.name] == ["loop", "twice"]
        assert {each.name for each in nameable(scopes)} == {"value", "doubled"}


def test_classes_have_their_members():
    information = open_information(compiled("-O0", language="c++"))
    (function,) = information.functions("total")
    (this, factor, *_) = next(all_scopes(function, Types())).variables
    basket = resolve(resolve(this.type).to)
    assert [each.name for each in basket.members] == ["items", "count"]
    assert name_of(factor.type) == "int"
    assert "Basket::total" in CXX_SOURCE
