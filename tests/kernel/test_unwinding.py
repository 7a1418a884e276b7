"""User stacks without frame pointers, against gdb's backtrace of the same program."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from support.command.command import build, sonde, start
from support.machine import packages

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int sink;
#define FUNCTION __attribute__((noipa))
FUNCTION void innermost(int n) { sink += n; }
static void handler(int n) { innermost(n); sink++; }
FUNCTION int leaf(int n) { sink += n; raise(SIGUSR1); return sink; }
FUNCTION int aligned(int n) {
    int block[16] __attribute__((aligned(64)));
    char more[n + 10];
    memset(block, n, sizeof block);
    memset(more, n, sizeof more);
    sink += block[3] + more[2] + leaf(n);
    return more[n];
}
FUNCTION int varying(int n) {
    char buffer[100 + n];
    memset(buffer, n, sizeof buffer);
    sink += buffer[3];
    return aligned(n) + 1;
}
static int compare(const void *a, const void *b) {
    if (!sink++)
        varying(3);
    return *(int *)a - *(int *)b;
}
FUNCTION int sorting(int n) {
    int v[4] = {3, 1, 2, n};
    qsort(v, 4, sizeof *v, compare);
    return v[0] + sink;
}
FUNCTION int recursing(int n) { return n ? recursing(n - 1) + sink : sorting(n); }
int main(int count, char **words) {
    signal(SIGUSR1, handler);
    do
        sink = 0, recursing(3);
    while (count > 1);
    return 0;
}
"""

OUR_FRAME = re.compile(r"^ *[^ `]+`([^ `]+?)(?:\+0x([0-9a-f]+))?$", re.M)
THEIR_FRAME = re.compile(r"^([^ ]+)(?: \+ (\d+))? in section", re.M)
GDB = """
frame = gdb.newest_frame()
while frame is not None:
    if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
        gdb.execute(f"info symbol {frame.pc()}")
    frame = frame.older()
"""


def ours(text):
    """Functions and offsets of a printed stack."""
    return [(name, int(offset or "0", 16)) for name, offset in OUR_FRAME.findall(text)]


def theirs(program, function, directory):
    """The same of gdb's frames in the function, without those of inlined functions and tail calls, which are not on
    the stack."""
    script = directory / "frames.py"
    script.write_text(GDB)
    commands = ["handle SIGUSR1 nostop noprint pass", f"break *{function}", "run", f"source {script}"]
    words = [word for command in commands for word in ("-ex", command)]
    shown = subprocess.run(["gdb", "-q", "-batch", *words, program], capture_output=True, text=True).stdout
    return [(name, int(offset or 0)) for name, offset in THEIR_FRAME.findall(shown)]


def plain(frames):
    """Up to main, where gdb ends, and without symbol versions and the numbers of a function's parts."""
    named = [(re.sub(r"@.*|\.(part|constprop|isra).*", "", name).lstrip("_"), offset) for name, offset in frames]
    end = next((number for number, (name, _) in enumerate(named) if name == "main"), len(named))
    return named[: end + 1]


@pytest.mark.long
@pytest.mark.parametrize(
    "flags", [("-O2",), ("-O3", "-static"), ("-O2", "-no-pie"), ("-O2", "-static-pie")], ids=" ".join
)
def test_as_gdb_has_it(tmp_path, flags):
    """Through libc, a signal's frame, stacks that are aligned and of varying size."""
    packages.require("gdb")
    program = build(tmp_path, "program", PROGRAM, "-fomit-frame-pointer", *flags)
    text = "pid$target:a.out:innermost:entry { ustack(); exit(0); }"
    shown = ours(sonde("-qn", text, "-x", "unwind=dwarf", "-c", program).stdout)
    assert plain(shown) == plain(theirs(program, "innermost", tmp_path))
    names = [name for name, _ in shown]
    assert {"aligned", "varying", "sorting", "main"} <= set(names)
    assert names.count("recursing") >= 3


def test_keys_depth_and_caller(tmp_path):
    program = build(tmp_path, "program", PROGRAM, "-O2", "-fomit-frame-pointer")
    text = """pid$target:a.out:innermost:entry, pid$target:a.out:leaf:entry {
        @[ustack(3)] = count();
        @depths[probefunc, ustackdepth] = count();
        @callers[probefunc, ufunc(ucaller)] = count();
    }"""
    out = sonde("-qn", text, "-x", "unwind=dwarf", "-x", "ustackframes=4", "-c", program).stdout
    assert ours(out)[0][0] == "innermost" or ours(out)[0][0] == "leaf"
    assert "leaf program`aligned 1" in " ".join(out.split())
    depths = {
        row.split()[0]: int(row.split()[1]) for row in out.splitlines() if re.match(r" +(leaf|innermost) +\d", row)
    }
    assert depths["innermost"] - depths["leaf"] in (4, 5)
    assert depths["leaf"] > 10


@pytest.mark.long
def test_processes_that_are_not_named(tmp_path):
    """They are looked at when one of their stacks is wanted: from then on all frames are there."""
    program = build(tmp_path, "program", PROGRAM, "-O2", "-fomit-frame-pointer")
    process = subprocess.Popen([program, "for", "ever"])
    text = f"profile-499 /pid == {process.pid}/ {{ @[ustack()] = count(); }} tick-500ms {{ printa(@); trunc(@); }}"
    session = start("-qn", text, "-x", "unwind=dwarf", text=True)
    whole, lines = [], []
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end and not (len(whole) >= 3 and any("sorting" in each for each in whole)):
            line = session.stdout.readline()
            lines.append(line)
            if re.fullmatch(r"\s*\d+\n", line):
                stack, lines = "".join(lines), []
                whole += [stack] if "_start" in stack and "main" in stack else []
    finally:
        for each in (process, session):
            each.kill()
            each.wait()
    assert len(whole) >= 3
    assert any("sorting" in each and "qsort" in each for each in whole)


def test_libraries_that_are_loaded_later(tmp_path):
    library = build(tmp_path, "late.so", "int f(int (*g)(int)) { return g(3) + 1; }", "-shared", "-fPIC", "-O2")
    program = build(
        tmp_path,
        "program",
        f"""
#include <dlfcn.h>
#include <unistd.h>
__attribute__((noinline)) int mark(int n) {{ usleep(n * 1000); return n + 1; }}
int back(int n) {{ return mark(n) + 1; }}
int main() {{
    int (*f)(int (*)(int)) = dlsym(dlopen("{library}", RTLD_NOW), "f");
    for (int i = 0; i < 400; i++)
        f(back);
    return 0;
}}""",
        "-O2",
        "-fomit-frame-pointer",
    )
    text = "pid$target:a.out:mark:entry { @[ustack()] = count(); }"
    out = sonde("-qn", text, "-x", "unwind=dwarf", "-c", program).stdout
    assert re.search(r"mark\n.*back\+.*\n *late.so`f\+.*\n.*main\+", out)


def test_the_option_has_two_values():
    message = sonde("-qn", "BEGIN", "-x", "unwind=orc", status=2).stderr
    assert "unwind" in message


ENGINES = ("kernel", "embedded")
CALL = "#include <sys/syscall.h>\n#include <unistd.h>\n#define NOIPA __attribute__((noipa))\n"


def names_of(program, engine="kernel", *words, probe="syscall::getppid:entry", depth=20):
    """The functions of the stack at the one call that a program makes, the innermost first, without the first."""
    text = f"{probe} /pid == $target/ {{ ustack({depth}); exit(0); }}"
    done = sonde("-q", "--engine", engine, "-xevaltime=exec", "-n", text, *words, "-c", program)
    assert done.stderr == ""
    return [name for name, _ in ours(done.stdout)]


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_the_dynamic_linker(tmp_path, engine):
    """Through a library's first function, which dlopen calls, and through a symbol that is looked up when it is first
    called: there the linker's frame address is counted from rbx, since it aligns the stack. A library that has just
    been loaded is known after some milliseconds."""
    text = (
        CALL
        + """
        static volatile int made;
        void begin(void) __attribute__((constructor));
        void begin(void) { if (getenv("FIRST")) { usleep(300000); made = syscall(SYS_getppid); } }
        static int plain(void) { return 7; }
        static void *choose(void) { made = syscall(SYS_getppid); return plain; }
        int chosen(void) __attribute__((ifunc("choose")));"""
    )
    library = build(tmp_path, "libchosen.so", "#include <stdlib.h>\n" + text, "-shared", "-fPIC", "-O2")
    first = build(tmp_path, "first", f"""#include <dlfcn.h>
        #include <stdlib.h>
        __attribute__((noipa)) int load(void) {{ return dlopen("{library}", RTLD_LAZY) != 0; }}
        int main() {{ setenv("FIRST", "1", 1); return load() + 1 < 0; }}""", "-O2", "-fomit-frame-pointer")  # fmt: skip
    shown = names_of(first, engine)
    assert "begin" in shown
    assert shown.index("load") == shown.index("main") - 1
    late = build(tmp_path, "late", "int chosen(void); __attribute__((noipa)) int calls(void) { return chosen() + 1; }"
                 "int main() { return calls() < 0; }", "-O2", "-fomit-frame-pointer", "-Wl,-z,lazy", library,
                 f"-Wl,-rpath,{tmp_path}")  # fmt: skip
    shown = names_of(late, engine)
    assert shown.index("calls") == shown.index("main") - 1
    assert any(name.startswith("_dl_runtime_resolve") for name in shown)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_vdso(tmp_path, engine):
    """It makes a system call for a clock that it does not know."""
    text = "#include <time.h>\n__attribute__((noipa)) int asks(void) { struct timespec t;" + (
        " return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) + 1; } int main() { return asks() < 0; }"
    )
    program = build(tmp_path, "clock", text, "-O2", "-fomit-frame-pointer")
    done = sonde("-q", "--engine", engine, "-n", "syscall::clock_gettime:entry /pid == $target/ { ustack(); exit(0); }",
                 "-c", program)  # fmt: skip
    assert "[vdso]`" in done.stdout
    assert [name.partition("@")[0] for name, _ in ours(done.stdout)][1:4] == ["clock_gettime", "asks", "main"]


MADE = (
    CALL
    + """
#include <string.h>
#include <sys/mman.h>
NOIPA int innermost(void) { return syscall(SYS_getppid) > 0; }
NOIPA int outer(int (*made)(int (*)(void))) { return made(innermost) + 1; }
int main() {
    /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void *place = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place, code, sizeof code);
    return outer(place) < 0;
}"""
)


@pytest.mark.parametrize("engine", ENGINES)
def test_code_that_is_made_at_run_time(tmp_path, engine):
    """It has no table, but frame pointers; whoever calls it and is called need have none."""
    program = build(tmp_path, "made", MADE, "-O2", "-fomit-frame-pointer")
    done = sonde("-q", "--engine", engine, "-n", "syscall::getppid:entry /pid == $target/ { ustack(); exit(0); }",
                 "-c", program)  # fmt: skip
    shown = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert [re.sub(r".*`|\+.*", "", line) for line in shown[1:2]] == ["innermost"]
    assert shown[2].startswith("0x")
    assert [re.sub(r".*`|\+.*", "", line) for line in shown[3:5]] == ["outer", "main"]


RETURNS = (
    CALL
    + """
NOIPA int inner(int n) { return syscall(SYS_getppid) + n; }
NOIPA int outer(int n) { return inner(n) * 2; }
NOIPA int again(int n) { return n ? again(n - 1) * 3 + outer(n) : 1; }
int main() { return again(3) > 1000; }"""
)


@pytest.mark.long
def test_functions_whose_return_is_probed(tmp_path):
    """Their return addresses stand elsewhere: a stack has the true ones, of however many there are, also where two
    probes are at one return."""
    program = build(tmp_path, "returns", RETURNS, "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
    text = """syscall::getppid:entry /pid == $target/ { ustack(); }
        pid$target:a.out:inner:entry { ustack(); }"""
    probes = """
        pid$target:a.out:outer:return, pid$target:a.out:again:return, pid$target:a.out:inner:return { @n = count(); }
        pid$target:a.out:outer:return { @m = count(); } END { clear(@n); clear(@m); trunc(@n); trunc(@m); }"""
    plain, probed = (ours(sonde("-qn", each, "-c", program).stdout) for each in (text, text + probes))
    assert probed == plain
    assert [name for name, _ in plain].count("main") == 6


LEFT = (
    CALL
    + """
#include <setjmp.h>
#include <signal.h>
static jmp_buf back;
NOIPA int mark(int n) { return syscall(SYS_getppid) + n; }
NOIPA int deep(int n) { if (!n) longjmp(back, 1); return deep(n - 1) * 3 + 1; }
NOIPA int begun(int n) { mark(n); return deep(n) + 1; }
NOIPA int other(int n) { return mark(n) + 1; }
NOIPA int kept(int n) {
    volatile char room[64];
    if (!setjmp(back)) return begun(n);
    room[n] = 1;
    mark(n);
    return other(n) + room[n];
}
NOIPA int over(int n) { int first = kept(n); return mark(first & 7) + other(n); }
NOIPA int jumped(int n) { if (!setjmp(back)) begun(n); __asm__ volatile(""); return mark(n); }
static void handle(int signal) { over(4); }
int main() {
    static char stack[1 << 16];
    stack_t other_stack = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other_stack, 0);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle, .sa_flags = SA_ONSTACK}, 0);
    over(2) + over(20);
    return (jumped(3) + kept(raise(SIGUSR1)) + over(1)) == 1234567;
}"""
)


@pytest.mark.share(0, 3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("flags", ["-O2 -fomit-frame-pointer", "-O0", "-O2 -fno-omit-frame-pointer"])
@pytest.mark.parametrize("way", ["ustack(30)", 'printf("%x", ucaller)'])
def test_functions_that_longjmp_leaves(tmp_path, engine, flags, way):
    """They did not return: none of them is the caller of what is called where they were."""
    program = build(tmp_path, "left", LEFT, "-no-pie", *flags.split())
    text = f"pid$target:a.out:mark:entry {{ {way}; }}"
    names = "begun", "deep", "other", "kept", "over", "jumped", "handle"
    probes = ", ".join(f"pid$target:a.out:{name}:return" for name in names)
    words = "-q", "--engine", engine, "-n"
    plain, probed = (sonde(*words, each, "-c", program).stdout for each in (text, text + probes + " { n++; }"))
    assert probed == plain
    assert plain


THIRTY_TWO = """
    .globl _start
_start: xor %ebp, %ebp
    call first
    mov $1, %eax
    xor %ebx, %ebx
    int $0x80
first: push %ebp
    mov %esp, %ebp
    call second
    pop %ebp
    ret
second: push %ebp
    mov %esp, %ebp
    mov $64, %eax
    int $0x80
    pop %ebp
    ret
"""


def test_processes_of_32_bits(tmp_path):
    packages.require("as", "ld")
    source, made, program = tmp_path / "small.s", tmp_path / "small.o", tmp_path / "small"
    source.write_text(THIRTY_TWO)
    subprocess.run(["as", "--32", "-o", made, source], check=True)
    subprocess.run(["ld", "-m", "elf_i386", "-o", program, made], check=True)
    out = sonde("-qn", "syscall:ia32:getppid:entry /pid == $target/ { ustack(); }", "-c", str(program)).stdout
    assert [name for name, _ in ours(out)] == ["second", "first", "_start"]


MOST = 400
"""Programs that run until the tables of their objects are there."""

WHOLE = 12
"""The functions of a stack of PROGRAM that the kernel's own walk does not find all, without those of the library."""


@pytest.mark.long
def test_processes_that_have_ended_when_sonde_has_time(tmp_path):
    """What they had mapped is read before it is looked for what programs have met there."""
    program = build(tmp_path, "short", PROGRAM, "-O2", "-fomit-frame-pointer")
    text = """BEGIN { printf("ready\\n"); }
        syscall::tgkill:entry /execname == "short"/ { printf("%d frames\\n", ustackdepth); @[ustack()] = count(); }"""
    session = start("-qn", text, text=True)
    try:
        assert session.stdout.readline() == "ready\n"
        depths = []
        while not depths or depths[-1] < WHOLE:
            assert len(depths) < MOST, depths
            session.send_signal(signal.SIGSTOP)
            subprocess.run([program], check=True)
            session.send_signal(signal.SIGCONT)
            depths.append(int(session.stdout.readline().split()[0]))
            time.sleep(0.05)
    finally:
        session.kill()
        session.wait()
    assert depths[-1] >= WHOLE, depths


@pytest.mark.long
def test_stacks_that_are_counted_alone_are_whole(tmp_path):
    """Of programs that begin after sonde, where no stack is shown."""
    program = build(tmp_path, "counted", PROGRAM, "-O2", "-fomit-frame-pointer")
    text = """BEGIN { printf("ready\\n"); }
        syscall::tgkill:entry /execname == "counted"/ { printf("%d frames\\n", ustackdepth); }"""
    session = start("-qn", text, text=True)
    try:
        assert session.stdout.readline() == "ready\n"
        depths = [0]
        while depths[-1] < WHOLE:
            assert len(depths) < MOST, depths
            subprocess.run([program], check=True)
            depths.append(int(session.stdout.readline().split()[0]))
    finally:
        session.kill()
        session.wait()


@pytest.mark.long
def test_processes_that_begin_and_end(tmp_path):
    """Of programs whose objects have been met once every stack is whole, however short they run: nothing need be known
    of a process."""
    program = build(tmp_path, "brief", PROGRAM, "-O2", "-fomit-frame-pointer")
    text = """BEGIN { met = 0; printf("ready\\n"); }
        syscall::tgkill:entry /execname == "brief" && !met/ { printf("%d frames\\n", ustackdepth); }
        syscall::tgkill:entry /execname == "brief" && met/ { @[pid, ustack()] = count(); n++; }
        syscall::tgkill:entry /execname == "brief" && n == 39/ { exit(0); }
        syscall::getpgid:entry /pid == $1/ { met = 1; }"""
    session = start("-qn", text, str(os.getpid()), text=True)
    try:
        assert session.stdout.readline() == "ready\n"
        depths = []
        # Whole stacks are equally deep, several times; those that are cut grow, or have five frames with a pointer.
        while len(depths) < 5 or len({*depths[-5:]}) > 1 or depths[-1] < WHOLE:
            assert len(depths) < MOST, depths
            subprocess.run([program], check=True)
            depths.append(int(session.stdout.readline().split()[0]))
            time.sleep(0.05)
        os.getpgid(0)
        pids = set()
        for _ in range(39):
            child = subprocess.Popen([program])
            pids.add(child.pid)
            child.wait()
        out, _ = session.communicate()
    finally:
        session.kill()
        session.wait()
    stacks = re.split(r"\n\s*\d+\n", out.lstrip("\n"))
    later = [each for each in stacks if any(str(pid) in each for pid in pids)]
    assert len(later) == 39
    assert all("leaf" in each and "sorting" in each and "main" in each and "_start" in each for each in later), out


WITHOUT_TREE = """
import sys
import sonde.codegen.expressions.unwinding
from sonde.cli.start import main
sonde.codegen.expressions.unwinding._offsets = lambda g: None
sys.argv[0] = "sonde"
main()
"""


@pytest.mark.long
def test_kernels_that_have_mappings_elsewhere(tmp_path):
    """Before Linux 6.1 programs search what the session has noted of each process."""
    program = build(tmp_path, "program", PROGRAM, "-O2", "-fomit-frame-pointer")
    words = ["-q", "-n", "pid$target:a.out:innermost:entry { ustack(); exit(0); }", "-c", program]
    way = subprocess.run([sys.executable, "-c", WITHOUT_TREE, *words], capture_output=True, text=True)
    assert way.returncode == 0, way.stderr
    assert ours(way.stdout) == ours(sonde(*words).stdout)
    assert [name for name, _ in ours(way.stdout)].count("recursing") >= 3


def compilation(directory, functions):
    """The words of a command that keeps a compiler busy."""
    packages.require("gcc")
    source = directory / "large.c"
    source.write_text("".join(
        f"double f{n}(double x, int n) {{ double s = 0; for (int i = 0; i < n; i++) {{ s += x * i * {n};"
        f" switch (i % 7) {{ case 0: s += 1; break; case 3: s *= 1.5; break; }} }} return s; }}\n"
        for n in range(functions)
    ))  # fmt: skip
    return ["gcc", "-O2", "-c", "-o", str(directory / "large.o"), str(source)]


@pytest.mark.long
def test_the_first_profile_of_a_large_object(tmp_path, monkeypatch):
    """Of a compiler, whose table takes a second, stacks are whole before that has been made."""
    command = shlex.join(compilation(tmp_path, 150))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    text = 'profile-997 /execname == "cc1" && progenyof($target)/ { @[ustack()] = count(); }'
    out = sonde("-qn", text, "-x", "aggsize=64m", "-c", command).stdout
    *stacks, _ = re.split(r"^ +(\d+)\n", out, flags=re.M)
    pairs = list(zip(stacks[::2], map(int, stacks[1::2]), strict=True))
    whole = sum(count for stack, count in pairs if "`__libc_start_" in stack)
    every = sum(count for _, count in pairs)
    assert every > 100
    assert whole >= 0.9 * every


@pytest.mark.long
def test_a_profile_that_begins_while_a_large_object_runs(tmp_path, monkeypatch):
    """Nothing is known of the process, and yet its first stacks are whole."""
    words = compilation(tmp_path, 2000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    with subprocess.Popen(words, start_new_session=True) as compiler:
        try:
            time.sleep(0.5)
            own = f'execname == "cc1" && ppid == {compiler.pid}'
            done = sonde("-qn", f"profile-997 /{own}/ {{ @[ustackdepth < 3] = count(); }} tick-1s {{ exit(0); }}")
            assert compiler.poll() is None
        finally:
            os.killpg(compiler.pid, signal.SIGKILL)
    found = dict(map(int, line.split()) for line in done.stdout.splitlines() if line.strip())
    assert found[0] > 100
    assert found.get(1, 0) <= 0.01 * found[0]
    shortened = re.search(r"(\d+) shortened stack", done.stderr)
    assert shortened is None or int(shortened[1]) <= 0.01 * found[0]
