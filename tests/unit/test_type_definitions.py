"""Types that a unit only declares have the members that another unit, or another loaded object, gives them."""

import shutil
import subprocess

import pytest
from support.machine import compilers, packages
from support.symbols.compiled_objects import needs_gcc

from sonde.model.types import Struct, resolve, size_of
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Points

pytestmark = needs_gcc

USER_C = """
struct store; union both; struct twofold; struct nowhere; struct alike; struct box { struct store *inner; };
struct store *opened(void); union both *joined(void); struct twofold *one_of_two(void); struct alike *shared(void);
__attribute__((noinline)) int seen(struct store *store, union both *both, struct twofold *twofold,
                                   struct nowhere *nowhere, struct alike *alike, struct box *box)
{
    return store != 0 && both != 0 && twofold != 0 && nowhere != 0 && alike != 0 && box != 0;
}
int main(void)
{
    struct box box = { opened() };
    return seen(opened(), joined(), one_of_two(), 0, shared(), &box);
}
"""
OWNER_C = """
struct alike { char same; int here; };
struct store { char tag; struct store *next; int size : 5; int rest : 11; };
struct storeroom { long unlike; };
union both { int number; float real; };
struct twofold { int first; };
static struct store one; static union both two; static struct twofold three; struct storeroom room;
struct alike in_one;
struct store *opened(void) { return &one; }
union both *joined(void) { return &two; }
struct twofold *one_of_two(void) { return &three; }
struct alike *shared(void) { return &in_one; }
"""
OTHER_C = """
struct alike { char same; int here; };
struct twofold { long second, third; };
static struct twofold four; struct alike in_two;
long other(void) { return four.second + in_two.here; }
"""
USER_CC = """
namespace shop { class Store; template <typename T> struct Shelf; namespace { struct Own { int own; }; } }
struct Store;
class Front { public: struct Hidden; Hidden *hidden; int of(shop::Store *, ::Store *, shop::Shelf<int> *); };
__attribute__((noinline)) int Front::of(shop::Store *store, ::Store *plain, shop::Shelf<int> *shelf)
{
    return store != 0 && plain != 0 && shelf != 0;
}
int use(Front *front);
int main() { Front front; front.hidden = 0; shop::Own own = { 2 }; return front.of(0, 0, 0) + use(&front) + own.own; }
"""
OWNER_CC = """
struct Base { virtual ~Base() {} int based; };
namespace shop {
class Store : public Base { public: int kept; };
template <typename T> struct Shelf { T item; long width; };
}
struct Store { char other; };
class Front { public: struct Hidden; Hidden *hidden; int of(shop::Store *, ::Store *, shop::Shelf<int> *); };
struct Front::Hidden { short behind; };
int use(Front *front)
{
    static Front::Hidden made; static shop::Store store; static Store plain; static shop::Shelf<int> shelf;
    front->hidden = &made;
    return store.kept + plain.other + shelf.item;
}
"""
WAYS = [
    ("-O0",), ("-O2",), ("-O0", "-gdwarf-4"), ("-O0", "-gdwarf-3", "-gstrict-dwarf"), ("-O0", "-gsplit-dwarf"),
    ("-O0", "-gsplit-dwarf", "-gdwarf-4"), ("-O0", "-fdebug-types-section"),
    ("-O0", "-fdebug-types-section", "-gdwarf-4"), ("-O0", "-gz=zlib"), ("-O1", "-flto"),
]  # fmt: skip
COMPILERS = [pytest.param(each, marks=packages.needs(each)) for each in ("gcc", "clang")]


def built(compiler, flags, texts, ending):
    files = {f"{name}.{ending}": text for name, text in texts.items()}
    return str(compilers.kept([compiler, "-g", *flags, *files, "-o", "program"], files, "program"))


def pointed(points, function, *names):
    """What the parameters of a function point to."""
    (point,) = points.at_function(function)
    kinds = {each.variable.name: resolve(each.variable.type) for each in points.named(point)}
    return [resolve(kinds[each].to) for each in names]


def members(struct):
    assert isinstance(struct, Struct)
    assert struct.complete, struct.missing
    return [(each.name, each.offset, each.bits) for each in struct.members if not each.name.startswith("_vptr")]


STORE = [("tag", 0, 0), ("next", 64, 0), ("size", 128, 5), ("rest", 133, 11)]


def check_c(path):
    points = Points(open_information(path))
    store, both, twofold, nowhere, alike, box = pointed(
        points, "seen", "store", "both", "twofold", "nowhere", "alike", "box"
    )
    assert members(store) == STORE
    assert size_of(store) == 24
    assert members(resolve(resolve(store.find("next").type).to)) == STORE
    assert members(resolve(resolve(box.find("inner").type).to)) == STORE
    assert members(both) == [("number", 0, 0), ("real", 0, 0)]
    assert members(alike) == [("same", 0, 0), ("here", 32, 0)]
    assert not twofold.complete
    assert "different structures twofold" in twofold.missing
    assert not nowhere.complete
    assert nowhere.missing == ""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", WAYS, ids="_".join)
def test_structures_of_another_file_have_their_members(compiler, flags):
    if compiler == "clang" and "-flto" in flags:
        flags = ("-O1",)  # Its plug-in for the linker is a package of its own.
    check_c(built(compiler, flags, {"user": USER_C, "owner": OWNER_C, "other": OTHER_C}, "c"))


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", [pytest.param(each, marks=packages.needs(each)) for each in ("g++", "clang++")])
@pytest.mark.parametrize("flags", WAYS[:-1], ids="_".join)
def test_classes_of_another_file_are_told_apart_by_what_they_are_in(compiler, flags):
    points = Points(open_information(built(compiler, flags, {"user": USER_CC, "owner": OWNER_CC}, "cc")))
    this, store, plain, shelf = pointed(points, "Front::of", "this", "store", "plain", "shelf")
    assert store.find("kept").offset == 96
    assert store.find("based").offset == 64
    assert members(plain) == [("other", 0, 0)]
    assert members(shelf) == [("item", 0, 0), ("width", 64, 0)]
    assert members(resolve(resolve(this.find("hidden").type).to)) == [("behind", 0, 0)]


@packages.needs("dwz")
def test_definitions_that_dwz_has_moved_are_found(tmp_path):
    path = built("gcc", ("-O0",), {"user": USER_C, "owner": OWNER_C, "other": OTHER_C}, "c")
    for name in ("one", "two"):
        shutil.copy(path, tmp_path / name)
    subprocess.run(["dwz", "-m", "common", "one", "two"], cwd=tmp_path, check=True)
    check_c(str(tmp_path / "one"))


def test_a_library_has_what_its_users_declare():
    owner = compilers.built("owner.c", OWNER_C, "gcc", "-g", "-shared", "-fPIC")
    user = compilers.built("user.c", USER_C, "gcc", "-g", owner)
    program, library = open_information(user), open_information(owner)
    (store,) = pointed(Points(program), "seen", "store")
    assert not store.complete
    asked = []

    def elsewhere():
        asked.append(True)
        return program, library

    points = Points(program, elsewhere)
    store, both = pointed(points, "seen", "store", "both")
    assert asked == []  # A type is looked for when its members are asked for.
    assert members(store) == STORE
    assert members(both) == [("number", 0, 0), ("real", 0, 0)]
