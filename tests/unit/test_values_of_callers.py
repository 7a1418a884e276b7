"""What only callers know of a parameter is taken from them: across split units, and where the function lacks it."""

import pytest
from support.machine import compilers
from support.symbols.compiled_objects import needs_gcc, needs_gdb, output
from support.symbols.gdb_comparison import compared

pytestmark = needs_gcc

CALLED = """
struct pair { long first; long second; };
extern volatile long sink;
void cold(void);
__attribute__((noinline)) long removed(struct pair *pair, long unused, long *tail)
{
    sink = pair->first;
    cold();
    sink = *tail;
    return sink;
}
static __attribute__((noinline)) long shrunk(struct pair *pair, long spare, int by)
{
    sink = by;
    cold();
    return pair->second + sink;
}
long called(struct pair *pair, int by)
{
    sink = 1;
    cold();
    sink = 2;
    long result = shrunk(pair, by + 1, 3);
    return result + shrunk(pair + 1, by + 1, 3) + by;
}
"""
CALLING = """
struct pair { long first; long second; };
volatile long sink;
long called(struct pair *, int), removed(struct pair *, long, long *);
__attribute__((noinline)) void cold(void) { sink++; }
int main(int argc, char **argv)
{
    struct pair pairs[] = { { argc, 2 }, { 3, 4 } };
    long kept = argc + 6, result = 0;
    for (int i = 0; i < 3; i++)
        result += called(pairs, 5 * argc) + removed(pairs, kept + i, &kept);
    return (result + kept) == 0;
}
"""
WAYS = [(), ("-gsplit-dwarf",), ("-gsplit-dwarf", "-gdwarf-4"), ("-gdwarf-4",), ("-flto", "-fno-ipa-ra")]
"""Without -fno-ipa-ra values are in registers that functions need not keep: gdb takes them to be there."""


def built(*flags):
    files = {"called.c": CALLED, "calling.c": CALLING}
    return str(compilers.kept(["gcc", "-g", "-O2", *flags, *files, "-o", "program"], files, "program"))


@pytest.mark.share(1)
@needs_gdb
@pytest.mark.parametrize("flags", WAYS, ids=lambda flags: "_".join(flags) or "plain")
def test_values_of_callers_are_those_gdb_prints(flags):
    path = built(*flags)
    results = compared(path, "called.c")
    pairs = [each for each in results if each["gdb"] is not None]
    assert [each for each in pairs if each["sonde"] != each["gdb"]] == []
    assert {"by", "pair"} <= {each["path"] for each in pairs}


@needs_gdb
def test_a_parameter_that_a_function_lacks_is_what_its_callers_gave():
    path = built()
    assert "DW_OP_GNU_parameter_ref" in output("readelf", "--debug-dump=loc", path)
    found = [each for each in compared(path, "called.c") if each["path"] == "spare" and each["gdb"] is not None]
    assert len(found) > 4
    assert all(each["sonde"] == each["gdb"] == 6 for each in found), found
