"""Probes in functions of processes, against what the program itself says and what nm and objdump tell of it."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from support.command.command import SONDE, build, environment, sonde, start, table

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) long ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

__attribute__((noinline)) static int inner(int n) { return n < 2 ? n : inner(n - 1) + inner(n - 2); }

__attribute__((noinline)) int alias_strong(int n) { return n * 3; }
int _alias(int) __attribute__((weak, alias("alias_strong")));

int main(int count, char **words) {
    int wait = count > 1 && !strcmp(words[1], "wait");
    char buffer[2];
    if (wait)
        read(0, buffer, 1);
    printf("%ld\n", ten(1, -2, 3, 4, 5, 6, 7, -8, 9, 10));
    printf("%d\n", inner(10));
    printf("%d\n", _alias(14));
    printf("%s\n", strdup("text"));
    return 0;
}
"""

FORMS = {
    "pie": ("-pie", "-fPIE"),
    "fixed": ("-no-pie", "-fno-PIE"),
    "static": ("-static",),
    "dynamic_symbols": ("-rdynamic", "-s"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("pid"), "program", PROGRAM)


def traced(program, text, *words, **options):
    return sonde("-q", *words, "-c", program, "-n", text, **options)


@pytest.mark.share(1)
@pytest.mark.parametrize("form", FORMS)
def test_arguments_and_results(tmp_path, form):
    """Ten arguments, of which four are on the stack, and the value that is returned."""
    program = build(tmp_path, "program", PROGRAM, *FORMS[form])
    arguments = " ".join(f"arg{n}" for n in range(10)).replace(" ", ", ")
    text = f"""
    pid$target:a.out:ten:entry {{ printf("{"%d " * 10}\\n", {arguments}); }}
    pid$target:a.out:ten:return {{ printf("%d %d %s:%s:%s ", arg0, arg1, probemod, probefunc, probename);
        printf("%s\\n", execname); }}
    """
    lines = traced(program, text).stdout.splitlines()
    assert "1 -2 3 4 5 6 7 -8 9 10 " in lines
    returned = next(line for line in lines if line.endswith("program"))
    assert returned == f"-1 {lines[lines.index(returned[3:].split()[0])]} a.out:ten:return program"


def test_recursion_is_counted_to_the_call(program):
    """inner(10) makes 177 calls, of a static function; each returns."""
    out = traced(program, "pid$target:a.out:inner: { @[probename] = count(); }").stdout
    counts = table("\n".join(line for line in out.splitlines() if len(line.split()) == 2))
    assert counts["entry",] == counts["return",] == counts["0",] == 177


def test_every_instruction_is_where_objdump_has_it(program):
    """The offsets that the glob gives are the addresses of the disassembly; each instruction runs as often as those
    before it that do not jump."""
    shown = sonde("-l", "-c", program, "-n", "pid$target:a.out:inner:").stdout
    offsets = {line.split()[-1] for line in shown.splitlines()[1:]} - {"entry", "return"}
    listed = subprocess.run(["objdump", "-d", program], capture_output=True, text=True, check=True).stdout
    body = re.search(r"^([0-9a-f]+) <inner>:\n(.*?)\n\n", listed, re.M | re.S)
    addresses = re.findall(r"^ *([0-9a-f]+):\t[0-9a-f ]+\t", body[2], re.M)
    assert offsets == {f"{int(each, 16) - int(body[1], 16):x}" for each in addresses}


def test_an_address_of_the_program(program):
    """The function `-` takes addresses as nm has them."""
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    address = re.search(r"^0*([0-9a-f]+) T ten$", symbols, re.M)[1]
    out = traced(
        program, f'pid$target:a.out:-:{address} {{ printf("%s %s %d\\n", probefunc, probename, arg1); }}'
    ).stdout
    assert f"- {address} -2\n" in out


def test_each_name_of_a_function_fires(program):
    """An alias stands for the function's best name."""
    text = 'pid$target:a.out:_alias:entry, pid$target:a.out:alias_strong:entry { printf("<%s %d>", probefunc, arg0); }'
    assert traced(program, text).stdout.count("<alias_strong 14>") == 2
    assert traced(program, 'pid$target:a.out:*alias*:entry { printf("<%s>", probefunc); }').stdout.count("<") == 1


@pytest.mark.share(1)
@pytest.mark.parametrize("library", ["libc.so.6", "libc.so", "libc", "libc*", "", "l?bc"])
def test_functions_of_libraries(program, library):
    """The name shown is the strong one of the two that the function has."""
    text = f'pid$target:{library}:strdup:entry {{ printf("<%s %s %s>", probemod, probefunc, copyinstr(arg0)); }}'
    assert "<libc.so.6 __strdup text>" in traced(program, text).stdout


def test_a_process_that_runs(program):
    """-p, and the number alone; it runs on when tracing has ended."""
    for words in (("-p", "{}", "-n", "pid$target"), ("-n", "pid{}")):
        process = subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            text = words[-1].format(process.pid)
            text = f'BEGIN {{ printf("on\\n"); }} {text}:a.out:ten:entry {{ printf("%d\\n", arg9); exit(0); }}'
            with start("-q", *(each.format(process.pid) for each in words[:-1]), text) as tracer:
                assert tracer.stdout.readline() == b"on\n"
                # BEGIN runs when all is attached.
                process.stdin.write("x")
                process.stdin.flush()
                assert tracer.stdout.readline() == b"10\n"
            assert process.wait(10) == 0
            assert "55" in process.stdout.read()
        finally:
            process.kill()
            process.communicate()


def test_a_program_is_whole_again_behind_it(program):
    """After every instruction of two functions was probed, the process goes on with the code of its file."""
    code = r"""
    #include <stdio.h>
    #include <unistd.h>
    __attribute__((noinline)) int work(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i ^ n; return sum; }
    int main() { char b; setbuf(stdout, 0); while (read(0, &b, 1) == 1) {
        unsigned char *p = (void *)work; int sum = 0; for (int i = 0; i < 24; i++) sum += p[i] * (i + 1);
        printf("%d %d\n", sum, work(100)); } }
    """
    path = build(Path(program).parent, "whole", code)
    process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask():
        process.stdin.write("x")
        process.stdin.flush()
        return process.stdout.readline()

    try:
        before = ask()
        text = 'BEGIN { printf("on\\n"); } pid$target::work: { @ = count(); } pid$target::work:return { exit(0); }'
        with start("-q", "-p", str(process.pid), "-n", text) as tracer:
            assert tracer.stdout.readline() == b"on\n"
            during = ask()
            tracer.communicate()
        assert before.split()[0] != during.split()[0], "breakpoints are to be seen in the code"
        assert before.split()[1] == during.split()[1]
        assert ask() == before
    finally:
        process.communicate()


def test_vector_instructions(tmp_path):
    """All of them that are offered can be attached to, and calculate the same."""
    code = r"""
    #include <stdio.h>
    __attribute__((noinline)) double work(float *a, int *b, int n) {
        double sum = 0;
        for (int i = 0; i < n; i++) { a[i] = a[i] * b[i] + 1; b[i] ^= (int)a[i]; sum += a[i]; }
        return sum;
    }
    int main() { static float a[999]; static int b[999]; for (int i = 0; i < 999; i++) a[i] = b[i] = i;
        printf("%.3f %d\n", work(a, b, 999), b[500]); }
    """
    path = build(tmp_path, "vector", code, "-O3", "-mavx2", "-ffast-math")
    plain = subprocess.run([path], capture_output=True, text=True, check=True).stdout
    out = traced(path, "pid$target:a.out:work: { @[probename] = count(); }").stdout
    assert plain in out
    assert len(out.splitlines()) > 40


def test_children_are_not_the_process(tmp_path):
    """Neither a forked child nor one that shares its memory until it execs fires the process's probes."""
    code = r"""
    #include <unistd.h>
    #include <sys/wait.h>
    __attribute__((noinline)) void go(int n) { asm volatile("" :: "r"(n)); }
    int main() { go(1); if (!fork()) { go(2); _exit(0); } wait(0); if (!vfork()) { go(3); _exit(0); } wait(0); go(4); }
    """
    out = traced(
        build(tmp_path, "forks", code), 'pid$target:a.out:go:entry { printf("<%d %d>", arg0, pid == $target); }'
    )
    assert re.findall("<.*?>", out.stdout) == ["<1 1>", "<4 1>"]


def test_all_threads_fire(tmp_path):
    code = r"""
    #include <pthread.h>
    __attribute__((noinline)) void go(long n) { asm volatile("" :: "r"(n)); }
    static void *thread(void *n) { for (int i = 0; i < 1000; i++) go((long)n); return 0; }
    int main() { pthread_t t[4]; for (long i = 0; i < 4; i++) pthread_create(t + i, 0, thread, (void *)i);
        for (int i = 0; i < 4; i++) pthread_join(t[i], 0); }
    """
    path = build(tmp_path, "threads", code, "-pthread")
    counts = table(
        traced(path, "pid$target:a.out:go:entry, pid$target:a.out:go:return { @[probename] = count(); }").stdout
    )
    assert counts == {("entry",): 4000, ("return",): 4000}


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("description", "tag"),
    [
        ("pid$target:a.out:none:entry", "D_PROC_FUNC"),
        ("pid$target:a.out:ten:1", "D_PROC_ALIGN"),
        ("pid$target:a.out:ten:ffff", "D_PROC_OFF"),
        ("pid$target:a.out:-:1", "D_PROC_OFF"),
        ("pid$target:a.out:-:entry", "D_PROC_NAME"),
        ("pid$target:libnone.so:ten:entry", "D_PDESC_ZERO"),
        ("pid$target:a.out:none*:entry", "D_PDESC_ZERO"),
    ],
)
def test_refused(program, description, tag):
    """In the middle of the first instruction, which takes more than a byte, there is nothing to probe either."""
    assert f"[{tag}]" in traced(program, description, "-xerrtags", status=1).stderr


def test_a_library_replaced_on_disk(tmp_path):
    """The mapped file is probed, not what its path has come to mean."""
    first = "int mine(int n) { return n + 1; }"
    second = "int other(int n) { return n; } int mine(int n) { return n * other(n) + 2; }"
    library = build(tmp_path, "libmine.so", first, "-shared", "-fPIC")
    code = "#include <unistd.h>\nint mine(int); int main() { char b; read(0, &b, 1); return mine(41); }"
    path = build(tmp_path, "user", code, library)
    process = subprocess.Popen([path], stdin=subprocess.PIPE, env={"LD_LIBRARY_PATH": str(tmp_path)})
    try:
        while library not in Path(f"/proc/{process.pid}/maps").read_text():
            assert process.poll() is None
        os.unlink(library)
        build(tmp_path, "libmine.so", second, "-shared", "-fPIC")
        text = 'BEGIN { printf("on\\n"); } pid$target:libmine:mine:return { printf("%d\\n", arg1); exit(0); }'
        with start("-q", "-p", str(process.pid), "-n", text) as tracer:
            assert tracer.stdout.readline() == b"on\n"
            process.stdin.close()
            assert tracer.stdout.readline() == b"42\n"
    finally:
        process.kill()
        process.wait()


def test_killed_tracer_leaves_nothing(program):
    """The kernel takes the breakpoints away with sonde, however that ends."""
    process = subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        text = f'BEGIN {{ printf("on\\n"); }} pid{process.pid}:a.out:*: {{ @ = count(); }}'
        with subprocess.Popen([SONDE, "-q", "-n", text], stdout=subprocess.PIPE, env=environment()) as tracer:
            assert tracer.stdout.readline() == b"on\n"
            tracer.send_signal(signal.SIGKILL)
        assert process.communicate("x", 10)[0].splitlines()[1] == "55"
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.long
def test_a_thousand_functions(program):
    """All functions of the C library that are called are counted, with `entry` and `return` alike."""
    text = "pid$target:libc:*:entry, pid$target:libc:*:return { @[probename] = count(); }"
    done = sonde("-c", program, "-n", text)
    assert int(re.search(r"matched (\d+) probes", done.stderr)[1]) > 2000
    counts = table("\n".join(line for line in done.stdout.splitlines() if line.endswith(tuple("0123456789"))))
    assert counts["entry",] >= counts["return",] > 10


def test_not_to_be_saved(program, tmp_path):
    """A spec file is for other times and machines, a probe for the process as it is."""
    with subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        text = f"pid{process.pid}:a.out:ten:entry"
        assert f"{text} cannot be saved" in sonde("--save", str(tmp_path / "spec"), "-n", text, status=1).stderr
        assert not (tmp_path / "spec").exists()
        process.communicate(b"x")


def test_functions_that_are_chosen_when_linked(tmp_path):
    """The one that runs is probed, not the one that chooses, under the name that the program calls. (That of strcmp
    begins on some processors with an instruction that the kernel probes not.)"""
    code = r"""
    #include <string.h>
    int main(int count, char **words) { static char a[999]; char *volatile p = a;
        p[0] = 'x'; p[count] = 'y'; return strcmp(p, "xy") || strlen(p) != 2; }
    """
    text = """
    pid$target:libc:strlen:entry { printf("%s\\n", probefunc); }
    pid$target:libc:strlen:return { printf("%s %d\\n", probefunc, arg1); }
    """
    path = build(tmp_path, "indirect", code, "-fno-builtin", "-Wl,-z,now")
    assert {"strlen", "strlen 2"} <= set(traced(path, text).stdout.splitlines())
    counted = traced(path, "pid$target:libc:strle[n]:entry { @ = count(); }").stdout
    assert int(counted) > 0


def test_a_function_of_ones_own_that_is_chosen(tmp_path):
    """Of several implementations in the program the chosen one; static programs choose only when they have begun."""
    code = r"""
    static int quick(int n) { return n + 1; }
    static int slow(int n) { return n + 2; }
    static void *choose(void) { return slow; }
    int work(int n) __attribute__((ifunc("choose")));
    int main() { return work(40) != 42; }
    """
    text = "pid$target:a.out:work:return { trace(probefunc); trace(arg1); }"
    assert traced(build(tmp_path, "own", code, "-Wl,-z,now"), text).stdout == "work42\n"
    static = build(tmp_path, "static", code, "-static")
    assert "has not been chosen yet" in traced(static, text, status=1).stderr


@pytest.mark.long
def test_probed_code_calculates_the_same(tmp_path):
    """With a breakpoint at every instruction that is offered, of string functions in all their vector forms."""
    code = r"""
    #include <stdio.h>
    #include <string.h>
    int main() {
        static char a[3000], b[3000];
        unsigned sum = 0;
        for (volatile int n = 1; n < 2900; n = n * 5 / 4 + 1) {
            memset(a, 'a' + n % 20, n); memcpy(b, a, n); memmove(b + 3, b, n); b[n + 3] = 0;
            sum = sum * 31 + strlen(b) + 7 * memcmp(a, b, n) + strcmp(a, b);
            char *found = memchr(b, 'c', n), *other = strchr(b, 'f'), *last = strrchr(b, 'g');
            sum = sum * 31 + (found ? found - b : 1) + (other ? other - b : 2) + (last ? last - b : 3);
            for (int i = 0; i < n + 3; i++) sum = sum * 33 + b[i];
        }
        printf("%u\n", sum);
    }
    """
    path = build(tmp_path, "strings", code, "-fno-builtin", "-Wl,-z,now")
    plain = subprocess.run([path], capture_output=True, text=True, check=True).stdout
    names = ("memset", "memcpy", "memmove", "strlen", "memcmp", "strcmp", "memchr", "strchr", "strrchr")
    probes = ", ".join(f"pid$target:libc:*{name}*:" for name in names)
    out = traced(path, f"{probes} {{ @ = count(); }}").stdout.split()
    assert out[0] == plain.strip()
    assert int(out[1]) > 0


@pytest.mark.long
def test_functions_that_return_twice(tmp_path):
    """All returns of the C library are probed but theirs, and the program takes its course."""
    code = r"""
    #include <setjmp.h>
    #include <stdio.h>
    #include <sys/wait.h>
    #include <ucontext.h>
    #include <unistd.h>
    static jmp_buf here;
    __attribute__((noinline)) static void far(int n) { if (n) far(n - 1); else longjmp(here, 5); }
    int main() {
        volatile int times = 0;
        ucontext_t context;
        int got = setjmp(here);
        if (!got) far(3);
        getcontext(&context);
        if (!times++) setcontext(&context);
        if (!vfork()) _exit(0);
        wait(0);
        printf("%d %d\n", got, times);
        return 0;
    }
    """
    path = build(tmp_path, "twice", code)
    out = traced(path, "pid$target:::return { @ = count(); }").stdout.split()
    assert out[:2] == ["5", "2"]
    assert int(out[2]) > 0
    for name in ("_setjmp", "vfork", "getcontext", "dlsym", "dlopen", "backtrace"):
        refused = traced(path, f"pid$target:libc:{name}:return", "-xerrtags", status=1).stderr
        assert "[D_PROC_CREATEFAIL]" in refused


def test_functions_that_look_at_their_return_address(tmp_path):
    """All returns of the program are probed but theirs, and each finds its own caller. The embedded engine has all."""
    code = r"""
    #define OWN __attribute__((noipa))
    void *seen[4];
    OWN int asks(void) { seen[0] = __builtin_return_address(0); return 1; }
    OWN int keeps(int n) {
        char room[400];
        for (int i = 0; i < n; i++) room[i] = n;
        seen[1] = __builtin_return_address(0);
        return room[n / 2] == n;
    }
    OWN int plain(int n) { return n + 1; }
    OWN int calls(int n) { int sum = asks() + keeps(n) + plain(n); asm volatile("" ::: "memory"); return sum; }
    int main(void) {
        int sum = calls(7);
        for (int i = 0; i < 2; i++)
            if ((char *)seen[i] < (char *)calls || (char *)seen[i] > (char *)main + 400)
                return 1;
        return sum != 10;
    }
    """
    path = build(tmp_path, "looks", code)
    text = (
        ", ".join(f"pid$target:a.out:{name}:return" for name in ("*[kpl]s", "plain")) + " { @[probefunc] = count(); }"
    )
    done = traced(path, text)
    assert done.stdout.split() == ["calls", "1", "plain", "1"]
    refused = traced(path, "pid$target:a.out:keeps:return", status=1).stderr
    assert "it reads its own return address, which the kernel replaces" in refused
    done = traced(path, text, "--engine", "embedded")
    assert done.stdout.split() == ["asks", "1", "calls", "1", "keeps", "1", "plain", "1"]


COROUTINES = r"""
#include <stdio.h>
#include <ucontext.h>
static ucontext_t first, contexts[2];
static char stacks[2][1 << 16];
__attribute__((noipa)) int work(int own, int n)
{
    int sum = n;
    if (n) {
        swapcontext(&contexts[own], &contexts[!own]);
        sum += work(own, n - 1);
    }
    return sum;
}
static void runs(int own) { printf("%d\n", work(own, own ? 3 : 4)); fflush(stdout); }
int main(void)
{
    for (int n = 0; n < 2; n++) {
        getcontext(&contexts[n]);
        contexts[n].uc_stack.ss_sp = stacks[n];
        contexts[n].uc_stack.ss_size = sizeof stacks[n];
        contexts[n].uc_link = n ? &first : &contexts[1];
        makecontext(&contexts[n], (void (*)(void))runs, 1, n);
    }
    swapcontext(&first, &contexts[0]);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("code", "flags", "reason"),
    [
        (COROUTINES, (), "its program switches stacks"),
        ("__attribute__((noipa)) int work(int n) { return n; } int main() { return work(0); }", ("-pg",), "with -pg"),
    ],
)
def test_returns_of_programs_that_have_ways_of_their_own_with_stacks(tmp_path, monkeypatch, code, flags, reason):
    """Which a return address of the kernel's would end, or have them say something else: on the embedded engine they
    are as they are alone."""
    monkeypatch.setenv("GMON_OUT_PREFIX", str(tmp_path / "calls"))
    path = build(tmp_path, "stacks", code, *flags)
    plain = subprocess.run([path], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    for name in ("work", "w*"):
        refused = traced(path, f"pid$target:a.out:{name}:return", status=1).stderr
        assert reason in " ".join(refused.split())
    text = "pid$target:a.out:work:return { @ = count(); }"
    done = traced(path, text, "--engine", "embedded")
    assert done.stdout.startswith(plain)
    assert int(done.stdout.split()[-1]) >= 1


def test_the_process_executes_a_program(tmp_path):
    """It goes on to fire in the files that were probed: its own program again, and the library in another one."""
    other = build(tmp_path, "other", 'int main() { return atoi("7") != 7; }', "-fno-builtin")
    code = f"""
    #include <unistd.h>
    __attribute__((noinline)) void go(int n) {{ asm volatile("" :: "r"(n)); }}
    int main(int count, char **words) {{
        go(count);
        if (count == 1) execl(words[0], words[0], "again", (char *)0);
        execl("{other}", "{other}", (char *)0);
    }}
    """
    path = build(tmp_path, "first", code)
    text = """
    pid$target:a.out:go:entry { @[probefunc, arg0] = count(); }
    pid$target:libc:atoi:entry { @[execname, 0] = count(); }
    """
    assert table(traced(path, text).stdout) == {("go", "1"): 1, ("go", "2"): 1, ("other", "0"): 1}
