"""Variables by name where there are many of them, or many probes that have them in different places."""

import pytest
from support.command.command import build, sonde

ARGUMENTS, LOCALS = 40, 100
MANY = f"""
__attribute__((noipa)) long many({", ".join(f"int a{n}" for n in range(ARGUMENTS))}) {{
    {" ".join(f"volatile long l{n} = a{n % ARGUMENTS} + {n}l;" for n in range(LOCALS))}
    return {" + ".join(f"l{n}" for n in range(LOCALS))}; /* HERE */
}}
int main(void) {{ return many({", ".join(str(3 * n) for n in range(ARGUMENTS))}) == 0; }}
"""

ALIKE = r"""
#include <string.h>
volatile int sink;
static inline __attribute__((always_inline)) int scaled(int value, int factor) {
    int product = value * factor;
    sink += product; /* INLINED */
    return product;
}
__attribute__((noipa)) int work_one(int count) { return scaled(count, 2) + 1; }
__attribute__((noipa)) int work_two(long other, int count) { return scaled(count + (int)other, 3) + 2; }
__attribute__((noipa)) int work_three(char *count) { return scaled(strlen(count), 4); }
int main(void) { return work_one(10) + work_two(5, 20) + work_three("abc") == 0; }
"""


def printed(program, text):
    return [line for line in sonde("-q", "-c", program, "-n", text).stdout.splitlines() if line]


@pytest.mark.long
def test_a_clause_takes_all_the_variables_there_are(tmp_path):
    """Forty arguments and a hundred local variables, more than any kernel has registers for."""
    program = build(tmp_path, "many", MANY, "-g", "-O0")
    line = next(number for number, text in enumerate(MANY.splitlines(), 1) if "HERE" in text)
    names = [f"args->a{n}" for n in range(ARGUMENTS)] + [f"locals->l{n}" for n in range(LOCALS)]
    text = f'pid$target:a.out:many.c@{line}: {{ printf("{"%d " * len(names)}\\n", {", ".join(names)}); }}'
    expected = [3 * n for n in range(ARGUMENTS)] + [3 * (n % ARGUMENTS) + n for n in range(LOCALS)]
    assert [int(each) for each in printed(program, text)[0].split()] == expected
    text = f'pid$target:a.out:many:entry {{ printf("{"%d " * ARGUMENTS}\\n", {", ".join(names[:ARGUMENTS])}); }}'
    assert [int(each) for each in printed(program, text)[0].split()] == expected[:ARGUMENTS]


@pytest.fixture(scope="module", params=("-O0", "-O2"))
def alike(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("alike"), "alike", ALIKE, "-g", request.param)


@pytest.mark.share(1)
def test_a_glob_of_functions_that_have_it_elsewhere(alike):
    text = 'pid$target:a.out:work_*:entry { printf("%s %d\\n", probefunc, args->count != 0); }'
    assert sorted(printed(alike, text)) == ["work_one 1", "work_three 1", "work_two 1"]
    text = "pid$target:a.out:work_t*o:entry, pid$target:a.out:work_one:entry { @[probefunc] = sum(args->count); }"
    assert sorted(" ".join(line.split()) for line in printed(alike, text)) == ["work_one 10", "work_two 20"]


PLACE_AND_VALUE = r"""
__attribute__((noipa)) void f(void) {
    long v;
    asm volatile("nop\n movq $77, %0\n nop" : "=m"(v));
    asm volatile("" :: "m"(v));
}
__attribute__((noipa)) void g(void) {
    long own, v = (long)&own;
    asm volatile("nop\n movq $5, %0\n nop" : "=m"(own));
}
int main(void) { f(); g(); return 0; }
"""


def test_what_is_at_an_address_is_not_the_address(tmp_path):
    """Two functions with a variable of one name and type: the one's is where the stack pointer says, the other's is
    that address itself."""
    program = build(tmp_path, "place", PLACE_AND_VALUE, "-g", "-O2", "-fcf-protection=none")
    text = """pid$target:a.out:[fg]:a {
        printf("%s %d %d\\n", probefunc, locals->v, locals->v == uregs[R_RSP] - 8); }"""
    first, second = printed(program, text)
    assert first == "f 77 0"
    assert second.startswith("g ")
    assert second.endswith(" 1")


@pytest.mark.share(1)
def test_types_that_differ_are_named(alike):
    text = "pid$target:a.out:work_*:entry { trace(args->count * 2); }"
    message = sonde("-q", "-c", alike, "-n", text, status=1).stderr
    assert "args->count is" in message
    assert ":work_three:entry" in message


@pytest.mark.share(1)
def test_copies_of_inlined_code_have_their_own_places(alike):
    line = next(number for number, text in enumerate(ALIKE.splitlines(), 1) if "INLINED" in text)
    text = f'pid$target:a.out:alike.c@{line}: {{ printf("%d\\n", locals->product); }}'
    assert sorted(map(int, printed(alike, text))) == [12, 20, 75]


LIBRARY = """
static __thread long mine = 5;
static int counter = 3;
int exported = 9;
__attribute__((noipa)) long in_library(int n, long *result) {
    mine += n;
    counter++;
    exported += 2;
    *result = mine;
    return mine;
}
"""
USER = """
#include <pthread.h>
extern int exported;
long in_library(int, long *);
static __thread int own = 33;
static void *thread(void *nothing) { long result; own = 44; in_library(100, &result); return nothing; }
int main(void) {
    long result;
    pthread_t other;
    in_library(1, &result);
    pthread_create(&other, 0, thread, 0);
    pthread_join(other, 0);
    return own + exported == 0;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("model", ["global-dynamic", "initial-exec"])
def test_data_of_a_library(tmp_path, model):
    """Its threads' own, whichever way the library finds them; its static data; what the program has a copy of."""
    library = build(tmp_path, "libdata.so", LIBRARY, "-g", "-fPIC", "-shared", f"-ftls-model={model}")
    program = build(tmp_path, "user", USER, "-g", library, f"-Wl,-rpath,{tmp_path}", "-pthread")
    text = """pid$target:libdata.so:in_library:return {
            printf("%d %d %d %d\\n", globals->mine, globals->counter, globals->exported, args[1]); }
        pid$target:a.out:thread:return, pid$target:a.out:main:return {
            printf("%d %d\\n", globals->own, globals->exported); }"""
    assert printed(program, text) == ["6 4 11 6", "105 5 13 105", "44 13", "33 13"]


ENTERED = r"""
volatile int sink;
struct node { int value; };
__attribute__((noipa)) int deep(int first, int second, struct node *node) {
    sink = first + second + node->value;
    __asm__ volatile("" ::: "di", "si", "dx", "cx", "r8", "memory");
    sink = 3; /* LATER */
    return sink;
}
__attribute__((noipa)) int one(int k, struct node *node) {
    int x = k + 1, y = deep(x, 7, node);
    sink = y;
    return y + x + (node != 0);
}
__attribute__((noipa)) int two(int k) {
    struct node own = {k};
    sink = deep(k, 9, &own);
    return own.value;
}
int main(void) {
    struct node own = {5};
    int (*volatile pointer)(int, int, struct node *) = deep;
    one(20, &own);
    two(33);
    return pointer(1, 2, &own) == 0;
}
"""


def test_values_that_a_function_has_not_kept(tmp_path):
    """They are what the caller gave the call, or its caller; of a call that nothing tells of they are not known."""
    program = build(tmp_path, "entered", ENTERED, "-g", "-O2")
    line = next(number for number, text in enumerate(ENTERED.splitlines(), 1) if "LATER" in text)
    text = f"""pid$target:a.out:entered.c@{line}: {{
        printf("%d %d %d\\n", locals->first, locals->second, locals->node->value); }}"""
    result = sonde("-q", "-c", program, "-n", text)
    assert [each for each in result.stdout.splitlines() if each] == ["21 7 5", "33 9 33"]
    assert result.stderr.count("invalid address") == 1


def test_a_file_for_whoever_runs_it(tmp_path):
    """Where it is loaded only the process knows: static data are found from the probe."""
    source = "static int counter = 4; __attribute__((noipa)) int work(int n) { return counter += n; }\n"
    program = build(tmp_path, "anyone", source + "int main(void) { return work(3) + work(4) == 0; }", "-g")
    text = f'uprobe:{program}:work:entry {{ printf("%d %d\\n", args->n, globals->counter); }}'
    assert printed(program, text) == ["3 4", "4 7"]
