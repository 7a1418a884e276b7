"""Probe lines without a scope's help: globals and statics of any file, namespace and object, and arguments by their
numbers, of programs whose values are known."""

import shutil
import subprocess

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.command.command import build, sonde
from support.machine import compilers, packages
from support.symbols.static_programs import assembler

pytestmark = packages.needs("gcc", "g++")

ONE = """
namespace shop { int stock = 5; namespace deep { long sold = 7; } struct Item { static short made; };
                 short Item::made = 3; }
namespace { unsigned char hidden = 11; }
static int same = 21;
int total = 4;
const volatile int limit = 77;
thread_local int mine = 5;
struct pair { long left, right; } pairs[3] = { { 1, 2 }, { 3, -4 }, { 5, 6 } }, *chosen = &pairs[1];
volatile long sink;
extern "C" int other(int);
extern "C" __attribute__((noinline)) int work(int n, long a, long b, long c, long d, long e, long f, int g, pair *h)
{
    static int calls = 100;
    calls++; total += n; shop::deep::sold++; hidden++; same++; mine++; shop::Item::made++; shop::stock += limit;
    chosen = h;
    sink = n + a + b + c + d + e + f + g;
    return total + same + (int)sink;
}
int main(int argc, char **argv)
{
    int sum = limit > 1000;
    for (int i = 0; i < 3; i++)
        sum += work(i, -1, 2, 3, 4, 5, 60 + i, -70 - i, &pairs[i]) + other(i);
    return sum == 0;
}
"""
TWO = """
static int same = 51;
long elsewhere = 1000;
__attribute__((noinline)) int other(int n) { same++; elsewhere += n; return same; }
"""

CASES = {
    "total": [4, 4, 5], "same": [21, 22, 23], "two.c@same": [51, 52, 53], "one.cc@same": [21, 22, 23],
    "elsewhere": [1000, 1000, 1001], "shop::stock": [5, 82, 159], "stock": [5, 82, 159],
    "shop::deep::sold": [7, 8, 9], "shop::Item::made": [3, 4, 5], "hidden": [11, 12, 13], "calls": [100, 101, 102],
    "limit": [77, 77, 77], "pairs[1].right": [-4, -4, -4], "chosen->right": [-4, 2, -4], "chosen[0].left": [3, 1, 3],
    "n": [0, 1, 2], "$arg1": [0, 1, 2], "$arg2": [-1, -1, -1], "$arg6": [5, 5, 5], "$arg7": [60, 61, 62],
}  # fmt: skip
"""What each variable is when `work` is entered for the first, second and third time."""
MODES = {
    f"{level} {kind}": (level, *flags)
    for level in ("-O0", "-O1", "-O2", "-O3")
    for kind, flags in {"pie": ("-pie", "-fPIE"), "fixed": ("-no-pie", "-fno-pie")}.items()
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("globals")


def program(folder, mode, *, is_stripped=False):
    """The path of a copy: a line is about every process that runs the file."""
    path = folder / ("program" + "".join(MODES[mode]))
    if not path.exists():
        words = ["g++", "-g", *MODES[mode], "-o", "program", "one.cc", "-x", "c", "two.c"]
        shutil.copy2(compilers.kept(words, {"one.cc": ONE, "two.c": TWO}, "program"), path)
    if is_stripped:
        subprocess.run(["strip", "--strip-debug", "-o", f"{path}.stripped", str(path)], check=True)
        return f"{path}.stripped"
    return str(path)


def fetched(path, place, names, compiler, *more):
    """The values of the variables, each as a signed number, of each firing."""
    declared = sonde("vars", "--struct", path, place, *names).stdout
    members = [each.split(";")[0].split()[-1].lstrip("*") for each in declared.splitlines()[1:-1]]
    prints = "".join(f'bpf_printk("={number} %ld", (s64)w.{each});' for number, each in enumerate(members))
    source = f"""
    {declared.replace(declared.split()[1], "variables")}
    char lines[] SEC("config") = "exec={path}\\nline={place} {" ".join(names)}\\n";
    SEC("line") int program(void *context)
    {{ struct variables w; if (bpf_fetch_variables(context, &w, sizeof w)) return 0; {prints} return 0; }}
    """
    done = sonde("--object", compiled(source, compiler), "-c", path, *more)
    found = {name: [] for name in names}
    for line in done.stdout.splitlines():
        if line.startswith("="):
            number, value = line[1:].split()
            found[names[int(number)]].append(int(value))
    return found


@pytest.mark.share(1)
@pytest.mark.parametrize("mode", MODES)
def test_values_at_the_entry(folder, mode):
    compiler = (BOTH[1] if mode.endswith("pie") and not BOTH[1].marks[0].args[0] else BOTH[0]).values[0]
    found = fetched(program(folder, mode), "work", list(CASES), compiler)
    assert found == CASES


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_numbers_take_no_debug_information(folder, compiler):
    path = program(folder, "-O2 pie", is_stripped=True)
    found = fetched(path, "work", ["$arg1", "$arg2", "$arg6", "$arg7", "$arg8"], compiler)
    # Of an int on the stack the upper half may be anything.
    found["$arg8"] = [each & 0xFFFFFFFF for each in found["$arg8"]]
    assert found == {
        "$arg1": [0, 1, 2], "$arg2": [-1, -1, -1], "$arg6": [5, 5, 5], "$arg7": [60, 61, 62],
        "$arg8": [(1 << 32) - 70, (1 << 32) - 71, (1 << 32) - 72],
    }  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_globals_at_a_return_where_the_program_is_at_a_fixed_place(folder, compiler):
    """In one that may be anywhere nothing tells where, as the program counter is the caller's."""
    names = ["$retval", "elsewhere", "two.c@same", "total"]
    found = fetched(program(folder, "-O2 fixed"), "other%return", names, compiler)
    assert found == {
        "$retval": [52, 53, 54], "elsewhere": [1000, 1001, 1003], "two.c@same": [52, 53, 54], "total": [4, 5, 7],
    }  # fmt: skip
    done = sonde("vars", "--struct", program(folder, "-O2 pie"), "other%return", "$retval", "elsewhere", status=1)
    assert "elsewhere of other cannot be fetched: where its object is loaded is not known at a return" in done.stderr


LIBRARY = "int shared = 5; static int own = 8; int grow(int n) { shared += n; own++; return shared; }\n"
USER = """
extern int shared, grow(int);
int main(void) { for (int i = 0; i < 3; i++) { shared += 100; grow(i); } return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("flags", [("-no-pie", "-fno-pie"), ("-pie", "-fPIE")])
@pytest.mark.parametrize("compiler", BOTH)
def test_a_librarys_variable_is_found_where_its_users_have_it(tmp_path, compiler, flags):
    """A program at a fixed place has a copy of it, which the library's own code uses."""
    words = ["gcc", "-g", "-O2", "-shared", "-fPIC", "-Wl,-soname,libgrow.so", "-o", "libgrow.so", "library.c"]
    made = compilers.kept(words, {"library.c": LIBRARY}, "libgrow.so")
    user = compilers.built("user.c", USER, "gcc", "-O2", *flags, str(made), "-Wl,-rpath,$ORIGIN")
    library, user = (shutil.copy2(each, tmp_path) for each in (made, user))
    source = f"""
    struct work {{ int shared, own, n; }};
    char lines[] SEC("config") = "exec={library}\\nline=grow shared own n\\n";
    SEC("line") int program(void *context)
    {{
        struct work w;
        if (bpf_fetch_variables(context, &w, sizeof w)) return 0;
        bpf_printk("%d %d %d", w.shared, w.own, w.n);
        return 0;
    }}
    """
    done = sonde("--object", compiled(source, compiler), "-c", user)
    assert done.stdout.splitlines() == ["105 8 0", "205 9 1", "306 10 2"]


SITES = """
static int total = 4;
__attribute__((noinline)) int work(int n)
{
    __asm__ volatile("probe demo step 0 4@%0" : : "r"(n * 2));
    return total += n;
}
int main(void) { int sum = 0; for (int i = 1; i < 4; i++) sum += work(i); return sum == 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_variables_beside_the_arguments_of_a_static_probe(tmp_path, compiler):
    path = build(tmp_path, "sites", assembler("") + SITES, "-g", "-O2")
    found = fetched(path, "%demo:step", ["arg0", "n", "total"], compiler)
    assert found == {"arg0": [2, 4, 6], "n": [1, 2, 3], "total": [4, 5, 7]}
