"""ucaller and ustack() have the direct caller at every instruction of a function, whether it has a frame or not."""

import pytest
from support.command.command import build, sonde
from support.machine import packages
from support.symbols.static_programs import assembler

CHAIN = (
    assembler("""
.globl marked
.type marked, @function
marked:
.cfi_startproc
    probe demo, first, 0, ""
    sub $24, %rsp
.cfi_adjust_cfa_offset 24
    probe demo, later, 0, ""
    add $24, %rsp
.cfi_adjust_cfa_offset -24
    ret
.cfi_endproc
.size marked, . - marked
""")
    + r"""
#include <pthread.h>
#include <sys/wait.h>
volatile int sink;
void marked(void);
__attribute__((noipa)) int leaf(int x) { sink += x; return x + 1; }
__attribute__((noipa)) int framed(int x) {
    volatile int many[40];
    for (int n = 0; n < 40; n++) many[n] = x + n;
    return many[x];
}
__attribute__((noipa)) int middle(int x) { int r = leaf(x) + framed(x); marked(); sink += r; return r + 2; }
__attribute__((noipa)) int again(int x) { return x ? again(x - 1) + sink : middle(2); }
__attribute__((noipa)) int outer(int x) { int r = middle(x); sink += r; return r + again(3); }
static void *run(void *p) { sink = outer(5); return p; }
int main(void) {
    pthread_t thread;
    sink = outer(1);
    pthread_create(&thread, 0, run, 0);
    return pthread_join(thread, 0);
}
"""
)

FLAGS = {
    "frames": ("-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"),
    "none": ("-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"),
    "marked": ("-O2", "-fno-omit-frame-pointer", "-fcf-protection=full", "-fno-optimize-sibling-calls"),
    "plain": ("-O0",),
}


@pytest.fixture(scope="module", params=list(FLAGS))
def chain(request, tmp_path_factory):
    packages.needs("gcc")
    directory = tmp_path_factory.mktemp("chain")
    return build(directory, "chain", CHAIN, "-g", "-pthread", "-Wl,--export-dynamic", *FLAGS[request.param])


def counts(program, text):
    """The lines of an aggregation as a dict from the words before the count."""
    lines = (line.rsplit(None, 1) for line in sonde("-qc", program, "-n", text).stdout.splitlines() if line.strip())
    return {" ".join(words.split()): int(number) for words, number in lines}


@pytest.mark.share(1)
@pytest.mark.parametrize("probes", ["entry", "return", ""])
def test_every_instruction_has_the_direct_caller(chain, probes):
    """In the main thread and in others; with the return probed, which changes the address on the stack, and without."""
    functions = ("leaf", "framed", "middle")
    where = ", ".join(f"pid$target:a.out:{name}:{probes}" for name in functions)
    found = counts(chain, f'{where} {{ @[probefunc, ufunc(ucaller), tid == pid ? "main" : "other"] = count(); }}')
    assert set(found) == {
        f"{function} chain`{caller} {thread}"
        for function, callers in (("leaf", ["middle"]), ("framed", ["middle"]), ("middle", ["outer", "again"]))
        for caller in callers
        for thread in ("main", "other")
    }


@pytest.mark.share(1)
def test_the_caller_has_a_name(chain):
    """usym() and ufunc() give the caller's, at the entry as at the return, without its offset."""
    text = (
        "pid$target:a.out:middle:entry, pid$target:a.out:middle:return { @[usym(ucaller), ufunc(ucaller)] = count(); }"
    )
    assert counts(chain, text) == {"chain`outer chain`outer": 4, "chain`again chain`again": 4}


@pytest.mark.share(1)
def test_the_stack_goes_on_behind_the_caller(chain):
    """Where there are frame pointers all of it is there, each function as often as it was called."""
    text = "pid$target:a.out:leaf:entry { ustack(12); }"
    lines = [
        line.split("`")[1].split("+")[0] for line in sonde("-qc", chain, "-n", text).stdout.splitlines() if "`" in line
    ]
    starts = [n for n, name in enumerate(lines) if name == "leaf"]
    assert len(starts) == 4
    assert {tuple(lines[n : n + 2]) for n in starts} == {("leaf", "middle")}
    if lines[2] == "outer":
        stacks = [tuple(lines[a:b]) for a, b in zip(starts, [*starts[1:], None], strict=True)]
        assert [each[2 : each.index("outer") + 1] for each in stacks] == 2 * [("outer",), 4 * ("again",) + ("outer",)]


@pytest.mark.long
def test_depth_and_keys_count_the_caller(chain):
    text = "pid$target:a.out:leaf:entry { @[ustackdepth > 1] = count(); @k[ustack(2)] = count(); }"
    lines = [line.split() for line in sonde("-qc", chain, "-n", text).stdout.splitlines() if line.strip()]
    assert lines[0] == ["1", "4"]
    assert lines[1] == ["chain`leaf"]
    assert all(each[0].startswith("chain`middle+") for each in lines[2:-1:2])


@pytest.mark.share(1)
def test_static_probes_have_the_caller_wherever_they_are(chain):
    text = "demo$target::: { @[probename, ufunc(ucaller)] = count(); }"
    assert counts(chain, text) == {"first chain`middle": 4, "later chain`middle": 4}


@pytest.mark.share(1)
def test_a_number_is_an_address_of_the_traced_process_for_its_format(chain):
    """%A of what is no more than a number; ended processes keep their names."""
    text = """pid$target:a.out:leaf:entry { printf("%A\\n", ucaller); @[ucaller] = count(); }
        END { printa("%A\\n", @); }"""
    lines = [line for line in sonde("-qc", chain, "-n", text).stdout.splitlines() if line]
    assert len(lines) == 5
    assert {line.split("+")[0] for line in lines} == {"chain`middle"}
