"""Values of bpftrace's language on both engines: blocks where a condition decides, records, literals that have the sign
of what they are combined with."""

import re

import pytest
from support.command.command import build, sonde

ENGINES = ("kernel", "embedded")
PROGRAM = r"""
macro most(x) { let $v = x; if ($v > 3) { $v = 3 } $v }
macro told(x) { x ? print("told") : print("not told") }
macro cpu(x) { x }
begin / most(2) > 2 / { print("not here") }
begin / most(7) > 2 / {
    $x = 5;
    $y = $x > 3 ? { print("first"); 7 } : { print("second"); 8 };
    print($y);
    if ($x > 9 && { print("not asked"); 1 }) { print("neither") }
    if ($x > 9 || { print("asked"); 1 }) { print("or") }
    $i = 0; while (most($i) < 3) { $i++ }
    print(($i, sizeof({ print("never"); (int8)1 }), cpu("mine"), cpu() >= 0));
    told(1); _ = { print("value"); 1 } != 1;
    $r = (a=1, b="x"); $r = (b={ print("b"); "xyz" }, a={ print("a"); 1000 }); print($r);
    let $s: string[11] = "abcdefghij"; $bytes = (uint8[4])"abc";
    printf("%s %s %s %s %s %s|%5s\n", (1, $s), $bytes, -7, true, (uint8*)16, (uint64)-1, ());
    print((config.max_strlen, config.stack_mode, config.print_maps_on_exit));
    print(((bool)"", (bool)"x", sizeof(string[64]), (1,()))); @[()] = 1; print(@); clear(@);
    $all = (uint64)18446744073709551615; print(($all / 2, $all > 5, $all % 10, $all - 1));
}
"""
SHOWN = """first
7
asked
or
(3, 1, mine, true)
told
value
b
a
{ .a = 1000, .b = xyz }
(1, abcdefghij) [97,98,99,0] -7 true 0x10 18446744073709551615|   ()
(1024, bpftrace, true)
(false, true, 64, (1, ()))
@[()]: 1
(9223372036854775807, true, 5, -2)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_values(engine):
    done = sonde("bt", "-q", "--engine", engine, "-e", PROGRAM, "-c", "true")
    assert done.stdout.rstrip() == SHOWN.rstrip()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_period_of_timers_begins_behind_begin(engine):
    program = "begin { @begun = nsecs } i:ms:50 { print(nsecs - @begun >= 50000000); exit(); }"
    done = sonde("bt", "-q", "--engine", engine, "-e", program, "-c", "sleep 9")
    assert done.stdout.startswith("true\n")


SOURCE = """
#include <stdbool.h>
enum kind { ONE = 1, FIVE = 5 };
struct inner { int a; char tag[8]; };
struct outer { short s; struct inner in; enum kind k; };
__attribute__((noinline)) int take(struct outer *o, long n, bool yes, enum kind k) { return o->s + n + yes + k; }
int counter = 41;
struct outer o = {-3, {11, "tagged"}, FIVE};
int main(void) { volatile int sum = take(&o, -7, true, FIVE); return sum == counter; }
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_all_arguments_and_the_types_that_they_lead_to(engine, tmp_path):
    binary = build(tmp_path, "take", SOURCE, "-g")
    program = f"""
        u:{binary}:take {{
            $all = args; print(($all.n, $all.yes)); @kept = args; printf("%s\\n", args);
            $o = (struct outer *)arg0; print($o.in); print((sizeof(struct outer), args.k == FIVE, (enum kind)1));
            print(*uaddr("counter"));
        }}
    """
    done = sonde("bt", "-q", "--engine", engine, "-e", program, "-c", binary)
    whole = r"\{ .o = 0x[0-9a-f]+, .n = -7, .yes = true, .k = FIVE \}"
    inner = r"\{ .a = 11, .tag = tagged \}"
    shown = rf"\(-7, true\)\n{whole}\n{inner}\n\(20, true, ONE\)\n41\n\s+@kept: {whole}"
    assert re.fullmatch(shown, done.stdout.strip())
    # At the return, too, whose parameters are gone.
    program = f"ur:{binary}:take {{ print((sizeof(struct outer), (enum kind)1, ((struct inner *)0) == 0)); }}"
    assert sonde("bt", "-q", "--engine", engine, "-e", program, "-c", binary).stdout.strip() == "(20, ONE, true)"


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize("flags", [["-pie"], ["-no-pie", "-s", "-rdynamic"]])
def test_data_is_found_by_the_symbol_table_alone(engine, flags, tmp_path):
    source = (
        'short small = 76; char *text = "some text";'
        'void here(void) { __asm__ volatile(""); } int main(void) { small++; here(); return 0; }'
    )
    program = build(tmp_path, "data", source, "-O0", *flags)
    code = f'uprobe:{program}:here {{ print((*uaddr("small"), sizeof(*uaddr("small")), str(*uaddr("text")))); }}'
    done = sonde("bt", "-q", "--engine", engine, "-c", program, "-e", code)
    assert done.stdout.strip() == "(77, 2, some text)"


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_arguments_and_results_are_unsigned(engine, tmp_path):
    source = "long same(long n) { return n; } int main(void) { return (int)same(-2) + 2; }"
    program = build(tmp_path, "negative", source, "-O0")
    code = (
        f"uprobe:{program}:same {{ print((arg0, arg0 > 5)); }} "
        f'uretprobe:{program}:same {{ printf("%d ", retval); print((retval >> 1, retval / 2, retval < 0)); }}'
    )
    done = sonde("bt", "-q", "--no-warnings", "--engine", engine, "-c", program, "-e", code)
    half = (1 << 63) - 1
    assert done.stdout.split("\n")[:2] == [f"({(1 << 64) - 2}, true)", f"-2 ({half}, {half}, false)"]
