"""Functions of traced processes, by breakpoints: every call is told once, and the processes do what they do alone."""

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.command.targets import program
from support.command.unprivileged import SONDE, sonde, without_privileges
from support.places import EXAMPLES, PROGRAMS

CALLED = (PROGRAMS / "called.c").read_text()
COUNT = "{0}:a.out:step:entry, {0}:a.out:step:return {{ @[probename] = count(); }}"


def counted(text, words, binary, *options):
    """What the program prints, and the counts by the probes' names."""
    done = sonde("--engine", "embedded", "-q", *options, "-n", text, "-c", f"{binary} {words}")
    found = dict(re.findall(r"^ +(entry|return) +(\d+)$", done.stdout, re.MULTILINE))
    return done.stdout, {name: int(count) for name, count in found.items()}


def alone(binary, words):
    return subprocess.run([binary, *words.split()], stdout=subprocess.PIPE, text=True).stdout


def calls_made(words, with_children):
    """How often `called` calls step(): by its words, and in its children."""
    threads, calls, forks, brief, _ = map(int, words.split())
    extra = calls * bool(brief) and -(-calls // brief)
    children = calls * bool(forks) and -(-calls // forks)
    return threads * (calls + extra + with_children * 10 * children)


@pytest.mark.long
@pytest.mark.parametrize("words", ["8 700 0 0 0", "8 500 0 25 0", "8 300 50 0 0", "8 700 0 0 1", "4 300 40 30 1"])
def test_every_call_is_told_once(words):
    """By many threads at once, by threads that start and end, with fork, and with a signal each millisecond."""
    binary = program(CALLED)
    output, found = counted(COUNT.format("pid$target"), words, binary)
    assert alone(binary, words) in output
    assert found == dict.fromkeys(("entry", "return"), calls_made(words, False))


def test_a_file_is_probed_in_all_that_is_traced():
    words = "2 100 20 20 0"
    binary = program(CALLED)
    text = f"uprobe:{binary}:step:entry, uprobe:{binary}:step:return {{ @[probename] = count(); }}"
    output, found = counted(text, words, binary)
    assert alone(binary, words) in output
    assert found == dict.fromkeys(("entry", "return"), calls_made(words, True))


TWICE = "long twice(long a) { return 2 * a; }"
WAYS = """
pid$target:a.out:step:entry, pid$target:a.out:step:return { @[probename] = count(); }
pid$target:%s:twice:entry, pid$target:%s:twice:return { @t[probename] = count(); }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("flags", [(), ("-no-pie",), ("-static",)])
def test_what_is_probed_may_be_called_in_any_way(flags):
    """In handlers on other stacks, behind exec, in a library that comes and goes; not for what vfork makes."""
    library = program(TWICE, "-shared", "-fPIC")
    binary = program((PROGRAMS / "call_ways.c").read_text(), *flags)
    done = sonde("--engine", "embedded", "-q", "-n", WAYS % (library, library), "-c", f"{binary} {library}")
    assert alone(binary, library) in done.stdout
    assert re.findall(r"(\w+) +(\d+)$", done.stdout.partition("\n\n")[2], re.MULTILINE) == [
        ("entry", "11"), ("return", "11"), ("entry", "15"), ("return", "15"),
    ]  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("flags", [(), ("-DFILTERED",)])
def test_handlers_see_where_a_probed_instruction_has_faulted(flags):
    """Also where it is executed in its place, as in a process that has a seccomp filter."""
    binary = program((PROGRAMS / "faulting.c").read_text(), *flags)
    text = "pid$target:a.out:load:, pid$target:a.out:divide:, pid$target:a.out:illegal: { @[probefunc] = count(); }"
    done = sonde("--engine", "embedded", "-q", "-n", text, "-c", binary)
    assert done.stdout.startswith("210 15 0\n")


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [(), ("-xseccomp=no",)])
def test_processes_use_the_signal_of_breakpoints_as_if_alone(options):
    """It may have a handler, be blocked, pending and ignored."""
    binary = program((PROGRAMS / "trapping.c").read_text())
    output, found = counted(COUNT.format("pid$target"), "", binary, *options)
    assert output.startswith(alone(binary, ""))
    assert found == dict.fromkeys(("entry", "return"), 9)


OWN = r"""
#include <signal.h>
#include <stdio.h>
__attribute__((noipa)) long step(long a) { return a + 1; }
static volatile long seen, at;
static void handler(int number, siginfo_t *told, void *context) { seen += 1 + 1000 * told->si_code; }
int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (long i = 0; i < 20; i++) {
        register long given __asm__("rdi") = i;
        __asm__ volatile("call step; int3" : "+r"(given) : : "rax", "memory");
        if (i & 1) raise(SIGTRAP);
    }
    printf("%ld\\n", seen);
}
"""


@pytest.mark.long
@pytest.mark.parametrize("text", [COUNT, COUNT.replace("count()", "count(); @stack[ustackdepth] = count()")])
@pytest.mark.parametrize("options", [(), ("-xseccomp=no",)])
def test_a_breakpoint_of_the_process_that_a_function_returns_to_is_its_own(text, options):
    """Whether a program looks at the thread there, which waits, or not."""
    binary = program(OWN)
    output, found = counted(text.format("pid$target"), "", binary, *options)
    assert output.startswith(alone(binary, ""))
    assert found.items() >= {"entry": 20, "return": 20}.items()


FORKING = r"""
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) long step(long n)
{
    long made = n > 0 ? step(n - 1) : n ? 1 : fork();
    __asm__ volatile("");
    return made;
}
int main(void)
{
    for (int i = 0; i < 5; i++) {
        long made = step(i);
        if (!made) { step(-1); _exit(0); }
        waitpid(made, 0, 0);
    }
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize(("probe", "entries", "returns"), [("uprobe:{}", 20, 35), ("pid$target", 15, 15)])
def test_functions_in_which_a_process_is_made_return_in_both(probe, entries, returns):
    """If the probes are for both."""
    binary = program(FORKING)
    text = COUNT.format(probe.format(binary)).replace(":a.out:step", ":step" if "uprobe" in probe else ":a.out:step")
    _, found = counted(text, "", binary)
    assert found == {"entry": entries, "return": returns}


LEFT = r"""
#include <setjmp.h>
#include <stdio.h>
static jmp_buf here;
__attribute__((noinline)) void jumper(int n) { if (n % 3 == 0) longjmp(here, 1); __asm__ volatile(""); }
__attribute__((noinline)) long behind(long n) { __asm__ volatile(""); return n * 2; }
__attribute__((noinline)) long before(long n) { __asm__ volatile(""); return behind(n + 1); }
__attribute__((noinline)) long fib(long n)
{
    if (n < 2) return n;
    long first = fib(n - 1), second = fib(n - 2);
    __asm__ volatile("" : "+r"(second));
    return first + second;
}
int main(void)
{
    volatile long left = 0, sum = 0;
    for (volatile int i = 0; i < 20; i++) {
        if (setjmp(here)) left++; else jumper(i);
        sum += before(i);
    }
    printf("%ld %ld %ld\n", left, sum, fib(10));
}
"""


def test_returns_are_those_of_the_calls_that_return():
    """Of calls that longjmp leaves none, of recursion each one, of a call in the end of another one both."""
    names = ("jumper", "behind", "before", "fib")
    probes = ", ".join(f"pid$target:a.out:{name}:entry, pid$target:a.out:{name}:return" for name in names)
    text = f"{probes} {{ @[probefunc, probename] = count(); }}"
    done = sonde("--engine", "embedded", "-q", "-n", text, "-c", program(LEFT, "-foptimize-sibling-calls"))
    found = {
        (name, kind): int(n) for name, kind, n in re.findall(r"^ +(\w+) +(\w+) +(\d+)$", done.stdout, re.MULTILINE)
    }
    assert done.stdout.startswith("7 420 55\n")
    assert found == {
        ("jumper", "entry"): 20, ("jumper", "return"): 13, ("behind", "entry"): 20, ("behind", "return"): 20,
        ("before", "entry"): 20, ("before", "return"): 20, ("fib", "entry"): 177, ("fib", "return"): 177,
    }  # fmt: skip


THROWN = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN extern "C" __attribute__((noinline)) long
OWN deep(long n) { if (n == 0) throw 1; long found = deep(n - 1) + 1; asm volatile("" : "+r"(found)); return found; }
OWN catches(long n) { try { return deep(n); } catch (int) { return -n; } }
OWN forks(long n) { pid_t made = fork(); if (made) waitpid(made, NULL, 0); return made; }
int main(void)
{
    long sum = 0;
    for (volatile int i = 0; i < 7; i++) sum += catches(i);
    for (volatile int i = 0; i < 3; i++) if (!forks(i)) _exit(0);
    printf("%ld\n", sum);
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_a_return_is_told_once_and_never_of_what_an_exception_left(level):
    """Also where the handler jumps to the place that the call returns to, with the stack that it has there. What fork
    makes in a traced function returns from it, too."""
    binary = program(THROWN, level, "-lstdc++", language="c++")
    names = ("deep", "catches", "forks")
    probes = ", ".join(f"uprobe:{binary}:{name}:entry, uprobe:{binary}:{name}:return" for name in names)
    done = sonde("--engine", "embedded", "-q", "-n", f"{probes} {{ @[probefunc, probename] = count(); }}", "-c", binary)
    found = re.findall(r"^ +(\w+) +(\w+) +(\d+)$", done.stdout, re.MULTILINE)
    assert done.stdout.startswith("-21\n")
    assert {(name, kind): int(count) for name, kind, count in found} == {
        ("deep", "entry"): 28, ("catches", "entry"): 7, ("catches", "return"): 7, ("forks", "entry"): 3,
        ("forks", "return"): 6,
    }  # fmt: skip


WAITING = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long step(long a) { __asm__ volatile(""); return a + 1; }
static void *steps(void *pause)
{
    for (volatile long n = 0;; usleep((long)pause)) n = step(n);
}
int main(int count, char **words)
{
    volatile long n = 0;
    char c;
    pthread_t thread;
    for (int i = 1; i < count; i++) pthread_create(&thread, NULL, steps, (void *)(i * 300L));
    if (count > 1) pthread_create(&thread, NULL, (void *(*)(void *))pause, NULL);
    setbuf(stdout, NULL);
    putchar('.');
    while (read(0, &c, 1) == 1) {
        n = step(n);
        putchar('.');
    }
    printf("%ld\n", n);
    return 5;
}
"""


def code_of(process):
    """The bytes of the program that it may execute, from its memory, and where it has any code."""
    with open(f"/proc/{process.pid}/maps") as maps:
        lines = [each for each in maps if " r-xp " in each]
    line = lines[0]
    start, end = (int(word, 16) for word in line.split()[0].split("-"))
    with open(f"/proc/{process.pid}/mem", "rb", 0) as memory:
        memory.seek(start)
        return memory.read(end - start), lines


@pytest.mark.share(1)
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("threads", [0, 5])
def test_a_process_is_left_as_it_was(end, threads):
    """However sonde ends: its code has no breakpoint any more, no piece of memory more, and it does what it would."""
    words = [*without_privileges(), program(WAITING), *["thread"] * threads]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    text = 'pid$target:a.out:step: { @[probename] = count(); } BEGIN { printf("on\\n"); }'
    command = [*without_privileges(), SONDE, "--engine", "embedded", "-q", "-n", text, "-p", str(process.pid)]
    try:
        assert process.stdout.read(1) == b"."
        untouched = code_of(process)
        tracer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert tracer.stdout.readline() == b"on\n"
        steps(process, 20)
        assert code_of(process) != untouched
        tracer.send_signal(end)
        tracer.communicate()
        latest = time.monotonic() + 10
        while code_of(process) != untouched and time.monotonic() < latest:
            time.sleep(0.01)
        assert code_of(process) == untouched
        steps(process, 5)
        assert process.communicate()[0] == b"25\n"
        assert process.returncode == 5
    finally:
        process.kill()
        process.wait()


def steps(process, count):
    process.stdin.write(b"x" * count)
    process.stdin.flush()
    for _ in range(count):
        assert process.stdout.read(1) == b"."


def test_a_process_that_is_not_traced_is_refused():
    other = subprocess.Popen([*without_privileges(), "cat"], stdin=subprocess.PIPE)
    try:
        while Path(f"/proc/{other.pid}/comm").read_text() != "cat\n":
            time.sleep(0.01)
        text = f"pid{other.pid}:libc:read:entry {{ }}"
        done = sonde("--engine", "embedded", "-n", text, "-c", "true", status=1)
        assert f"-p {other.pid} adds this one" in " ".join(done.stderr.split())
    finally:
        other.kill()
        other.wait()


NARROW = r"""
__attribute__((noinline)) int step(int a) { __asm__ volatile(""); return a + 1; }
void _start(void) { __asm__ volatile("int $0x80" : : "a"(1), "b"(step(2))); }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("probe", ["pid$target:a.out:step:entry", "uprobe:%s:step:return"])
def test_32_bit_programs_are_refused(probe):
    binary = program(NARROW, "-m32", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-fno-stack-protector")
    probe = probe.replace("%s", binary)
    done = sonde("--engine", "embedded", "-n", f"{probe} {{ }}", "-c", binary, status=1)
    assert "has breakpoints for 64-bit ones alone" in " ".join(done.stderr.split())


FREE = r"""
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) long step(long a) { __asm__ volatile(""); return a + 1; }
static long switches(void) { struct rusage used; getrusage(RUSAGE_SELF, &used); return used.ru_nvcsw; }
int main(void)
{
    long n = 0, before = switches();
    for (int i = 0; i < 1009; i++) syscall(SYS_getppid);
    for (int i = 0; i < 211; i++) munmap(mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    long after = switches();
    for (int i = 0; i < 101; i++) n = step(n);
    printf("%ld %s\n", n, after - before < 500 ? "free" : "stopped");
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("evaluation", ["exec", "postinit"])
def test_system_calls_that_nobody_asks_for_stop_nothing(evaluation):
    """A stop is a switch; and a call that is asked for stops."""
    words = ("--engine", "embedded", "-q", f"-xevaltime={evaluation}", "-c", program(FREE), "-n")
    done = sonde(*words, "pid$target:a.out:step:entry { @ = count(); }")
    assert done.stdout == "101 free\n\n              101\n"
    more = "syscall::getppid:return, syscall::munmap:entry { @[probefunc] = count(); }"
    done = sonde(*words, "pid$target:a.out:step:entry { @[probefunc] = count(); }" + more)
    found = dict(re.findall(r"^ +(\w+) +(\d+)$", done.stdout, re.MULTILINE))
    assert (found["step"], found["getppid"], int(found["munmap"]) >= 211) == ("101", "1009", True)


NAMED = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) long named(const char *name, long more)
{
    __asm__ volatile("");
    return strlen(name) + more;
}
int main(void)
{
    char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), text[16];
    long sum = 0;
    munmap(memory + 4096, 4096);
    strcpy(memory + 4096 - 5, "last");
    for (volatile int i = 0; i < 300; i++) {
        sprintf(text, "name %d", i % 3);
        sum += named(text, i);
        strcpy(text, "changed");
    }
    sum += named(memory + 4096 - 5, 1);
    printf("%ld\\n", sum);
}
"""


@pytest.mark.long
@pytest.mark.parametrize("more", ["", "@s[ustackdepth > 0] = count();"])
def test_strings_are_those_of_the_moment(more):
    """Fetched while the thread stands, up to where memory ends; or read where the thread is held."""
    text = f"pid$target:a.out:named:entry {{ @[copyinstr(arg0)] = count(); {more} }}"
    done = sonde("--engine", "embedded", "-q", "-n", text, "-c", program(NAMED))
    assert done.stderr == ""
    found = dict(re.findall(r"^ +(last|name .) +(\d+)$", done.stdout, re.MULTILINE))
    assert found == {"last": "1", "name 0": "100", "name 1": "100", "name 2": "100"}


@pytest.mark.long
def test_examples_of_functions_and_lines():
    """Programs of examples/ on a function's calls and on a variable at a line."""
    binary = program(CALLED, "-g")
    command = f"{binary} 1 40 0 0 0"
    times = sonde("--engine", "embedded", "-s", str(EXAMPLES / "function-times.d"), "-c", command, "a.out", "*").stdout
    calls = dict(re.findall(r"^(\w+) +(\d+) +\d+ +\d+$", times, re.MULTILINE))
    assert (calls["step"], calls["work"], calls["main"]) == ("40", "1", "1")
    line = next(n for n, text in enumerate(CALLED.splitlines(), 1) if "return a * 31" in text)
    # The compiler reads the source from its standard input.
    words = ("-s", str(EXAMPLES / "line-values.d"), "-c", command, f"source@{line}", "b")
    values = sonde("--engine", "embedded", *words).stdout
    counts = [int(n) for n in re.findall(r"\|@* +(\d+) *$", values, re.MULTILINE)]
    assert counts == [0, 1, 1, 2, 4, 8, 16, 8, 0]
