"""Variables of programs by their names, through everything: D, the compiler, the kernel, the output."""

import re

import pytest
from support.command.command import build, sonde, unwrapped

PROGRAM = r"""
#include <string.h>

struct header { char name[16]; long value; };
struct pair { long a; int b; };
struct big { int n[8]; };
enum color { RED, GREEN = 5, BLUE = -1 };
union either { int number; unsigned char bytes[4]; };
struct request {
    int id;
    struct header *headers;
    unsigned flag : 3;
    int low : 7;
    union either either;
    struct { short inner; union { int left; unsigned right; }; };
    enum color color;
    struct request *next;
};
static __thread long in_thread = 7;
static int hidden = 42;
int shown = 5;

__attribute__((noipa)) long work(int count, char *text, struct request *request, short c, signed char d, long e,
                                 int seventh, struct pair pair, struct big big, unsigned char last) {
    long sum = count + seventh + last;
    int x = count * 3;
    for (int i = 0; i < 2; i++) {
        sum += i * x; /* LOOP */
        shown += sum;
        in_thread++;
        hidden += c + d + e;
    }
    return sum + pair.a + pair.b + big.n[3] + request->id + *text; /* END */
}

int main(void) {
    char hello[8];
    struct header headers[3] = {{"one", 1}, {"two", 2}, {"three", -3}};
    struct request other = {18, headers, 1, 1, {7}, {1, {2}}, RED, 0};
    struct request request = {17, headers, 5, -3, {0x01020304}, {-7, {-8}}, GREEN, &other};
    struct pair pair = {1000, 2000};
    struct big big = {{1, 2, 3, 4, 5, 6, 7, 8}};
    strcpy(hello, "hello");
    return work(11, hello, &request, -3, -4, 1L << 40, 77, pair, big, 250) == 0;
}
"""


def line_of(text, mark):
    return next(number for number, line in enumerate(text.splitlines(), 1) if mark in line)


@pytest.fixture(scope="module", params=("-O0", "-O2"))
def program(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("named"), "named", PROGRAM, "-g", request.param)


def traced(program, text):
    result = sonde("-q", "-c", program, "-n", text)
    assert not result.stderr, result.stderr
    return result.stdout.splitlines()


@pytest.mark.share(1)
def test_parameters_at_entry(program):
    """In registers, on the stack from the seventh on, and structures by value."""
    text = """pid$target:a.out:work:entry {
        printf("%d %s %d %d %d %d ", args->count, stringof(args->text), args->request->id, args->c, args->d, args->e);
        printf("%d %d %d %d %d\\n", args->seventh, args->pair.a, args->pair.b, args->big.n[3], args->last);
    }"""
    assert traced(program, text)[0] == f"11 hello 17 -3 -4 {1 << 40} 77 1000 2000 4 250"


@pytest.mark.share(1)
def test_ways_through_types(program):
    text = """pid$target:a.out:work:entry {
        printf("%s %d ", args->request->headers[2].name, args->request->headers[2].value);
        printf("%d %d ", args->request->flag, args->request->low);
        printf("%x %d ", args->request->either.number, args->request->either.bytes[1]);
        printf("%d %d %u ", args->request->inner, args->request->left, args->request->right);
        printf("%d %d ", args->request->color == GREEN, args->request->next->id);
        printf("%d %s\\n", *(&args->request->next->id), copyinstr((uintptr_t)args->text));
        trace(args->request->next->headers->name);
    }"""
    lines = traced(program, text)
    assert lines[0] == f"three -3 5 -3 1020304 3 -7 -8 {2**32 - 8} 1 18 18 hello"
    assert lines[1].startswith("one")


@pytest.mark.share(1)
def test_local_variables_at_a_line(program):
    line = line_of(PROGRAM, "/* LOOP */")
    text = f"""pid$target:a.out:named.c@{line}: {{
        printf("%d %d %d %d\\n", locals->count, locals->x, locals->seventh, locals->big.n[7]);
    }}"""
    assert traced(program, text)[:1] == ["11 33 77 8"]


INLINED = """
volatile int sink;
static inline __attribute__((always_inline)) int scaled(int value, int by)
{
    static volatile int calls = 0;
    calls++;
    sink = value * by; /* COPY */
    return sink;
}
int main(int count, char **words)
{
    int sum = count + 6;
    sum = scaled(sum, 3); /* CALL */
    sum = scaled(sum, 5);
    return scaled(sum, 2) != 210;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_inlined_copies_share_the_statics_of_their_function(tmp_path, level):
    """At a line of the copies; at a line that begins with a call of one the variables are the caller's."""
    program = build(tmp_path, "inlined", INLINED, "-g", level)
    copy, call = (line_of(INLINED, mark) for mark in ("/* COPY */", "/* CALL */"))
    text = f"""pid$target:a.out:inlined.c@{copy}: {{ @calls[probename] = max(locals->calls); }}
        pid$target:a.out:inlined.c@{call}: {{ @[locals->count] = count(); }}"""
    lines = [line.split() for line in traced(program, text) if line]
    assert [line[-1] for line in lines[:3]] == ["1", "2", "3"]
    assert lines[3:] == [["1", "1"]]


@pytest.mark.share(1)
def test_only_the_path_that_uses_a_variable_fetches_it(program):
    """A pointer that cannot be read is no fault behind a predicate that is false."""
    text = """pid$target:a.out:work:entry /args->count == 12/ { trace(args->request->headers[9999999].name); }
        pid$target:a.out:work:entry {
            printf("%d\\n", args->count == 11 ? args->seventh : args->request->headers[9999999].value);
        }"""
    assert "77" in traced(program, text)


@pytest.mark.share(1)
def test_data_of_the_object(program):
    """Static, global and thread-local data, before and after."""
    text = """pid$target:a.out:work:entry,
        pid$target:a.out:work:return { printf("%d %d %d\\n", globals->shown, globals->hidden, globals->in_thread); }"""
    assert traced(program, text)[:2] == ["5 42 7", "714 28 9"]


@pytest.mark.share(1)
def test_result_of_a_function(program):
    """args[1] has the function's return type."""
    text = "pid$target:a.out:work:return { print(args[1]); }"
    assert traced(program, text)[0] == "(long)3496"


@pytest.mark.share(1)
def test_arguments_by_number_have_types(program):
    text = """pid$target:a.out:work:entry { printf("%d %d %s\\n", args[2]->id, args[3], args[2]->headers->name); }"""
    assert traced(program, text)[0] == "17 -3 one"


REFUSED = {
    "entry { trace(args->coun); }": "did you mean count?",
    "entry { trace(args->nothing); }": "there are count, text, request",
    "entry { trace(args[12]); }": "index 12 is out of range",
    "return { trace(args->count); }": "save it at the entry, self->count = args->count",
    "return { trace(args[0]); }": "args[1] is what it returns",
    "entry { trace(globals->nothing); }": "defines no variable of that name",
    "entry { trace(&args->count); }": "has no address",
    "entry { args->count = 1; }": "can only be applied to a writable variable",
}


@pytest.mark.long
def test_what_is_wrong_is_said_with_a_remedy(program):
    for clause, remedy in REFUSED.items():
        result = sonde("-q", "-c", program, "-n", f"pid$target:a.out:work:{clause}", status=1)
        assert unwrapped(remedy) in unwrapped(result.stderr)


def test_without_debug_information_there_are_registers(tmp_path):
    program = build(tmp_path, "plain", PROGRAM)
    text = 'pid$target:a.out:work:entry { printf("%d %d\\n", arg0, arg6); }'
    assert traced(program, text)[0] == "11 77"
    result = sonde("-q", "-c", program, "-n", "pid$target:a.out:work:entry { trace(args->count); }", status=1)
    assert "has no debug information (looked for" in " ".join(result.stderr.split())
    assert "compile with -g" in result.stderr


def test_names_of_kernel_arguments():
    text = """rawtp:sched::sched_switch /args->prev->pid != args->next->pid/ {
        printf("%d %d\\n", args->next->pid == args[2]->pid, args->preempt); exit(0); }"""
    result = sonde("-q", "-n", text)
    assert result.stdout.splitlines()[0].startswith("1 "), result.stderr
    result = sonde("-q", "-n", "rawtp:sched::sched_switch { trace(args->nex->pid); }", status=1)
    assert "did you mean next?" in result.stderr


def test_where_a_variable_is_that_is_optimised_out(tmp_path):
    program = build(tmp_path, "named", PROGRAM, "-g", "-O2")
    text = "pid$target:a.out:work:entry { trace(locals->x); }"
    message = sonde("-q", "-c", program, "-n", text, status=1).stderr
    assert "failed to resolve locals->x" in message
    assert "it is optimised out there" in message
    first, last = (
        int(each, 16) for each in re.search(r"available at offsets (\w+) to (\w+) \(named.c:", message).groups()
    )
    listed = sonde("vars", program, "work").stdout
    assert f"+{first:#x} to +{last:#x}" in next(line for line in listed.splitlines() if " x " in line)
    text = f"pid$target:a.out:work:{first:x} {{ trace(locals->x); }}"
    assert traced(program, text)[0] == "33"
