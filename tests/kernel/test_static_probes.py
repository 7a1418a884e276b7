"""Static probes (USDT) of programs and libraries, whose notes the tests write in assembler."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.command.command import build, sonde, start, table
from support.machine import compilers
from support.symbols.static_programs import assembler

FORMS = {
    "8@%rax": 0x1122334455667788,
    "-8@%rax": 0x1122334455667788,
    "4@%eax": 0x55667788,
    "-4@%ecx": -2,
    "4@%ecx": 0xFFFFFFFE,
    "-2@%cx": -2,
    "2@%ax": 0x7788,
    "1@%al": 0x88,
    "-1@%al": 0x88 - 256,
    "1@%ah": 0x77,
    "-1@%dh": 0x99 - 256,
    "1@%sil": 0x44,
    "1@%bpl": 0x66,
    "8@%r8": 0x8182838485868788,
    "4@%r8d": 0x85868788,
    "-4@%r9d": 0x85868789 - (1 << 32),
    "2@%r10w": 0x878A,
    "1@%r11b": 0x8B,
    "-1@%r12b": 0x8C - 256,
    "4@%rax": 0x55667788,
    "%r13": 0x818283848586878D,
    "%r14d": 0x8586878E,
    "8@$42": 42,
    "-4@$-7": -7,
    "4@$-7": 0xFFFFFFF9,
    "8@$0x7fffffffffffffff": 0x7FFFFFFFFFFFFFFF,
    "-1@$0377": -1,
    "8@(%rbx)": 0x0807060504030201,
    "-4@4(%rbx)": 0x08070605,
    "2@-2(%rdi)": 0x1817,
    "8@8(%rbx,%r15,4)": 0x6867666564636261,
    "1@(%rbx,%r15)": 0x13,
    "4@table+16(,%r15,1)": None,
    "4@table(%rip)": 0x04030201,
    "-2@table+6(%rip)": 0x0807,
    "1@3+table(%rip)": 0x04,
    "1@table-8+9(%rip)": 0x02,
    "8@0x10(%rbx)": 0x2827262524232221,
    "(%rbx)": 0x0807060504030201,
    "8@%fs:0": "self",
    "8@%fs:(%rdx)": None,
    "-4@%fs:private@tpoff": -77,
    "4f@32(%rbx)": 0x44434241,
    "-1@(%ebx)": None,
}
"""Operands and what they are, None where that depends on where the program is loaded."""

VALUES = {
    "rax": 0x1122334455667788, "rcx": 0xFFFFFFFFFFFFFFFE, "rdx": 0x3333333333339900, "rsi": 0x44, "rbp": 0x66,
    **{f"r{n}": 0x8182838485868780 + n for n in range(8, 15)}, "r15": 10,
}  # fmt: skip

FORMS_TEXT = f"""
.data
.balign 8
table: .byte {", ".join(hex(16 * (n // 8) + n % 8 + 1) for n in range(64))}
.type table, @object
.size table, 64
.text
.globl forms
.type forms, @function
forms:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    lea table(%rip), %rbx
    lea 16(%rbx), %rdi
    {chr(10).join(f"movabs ${value}, %{name}" for name, value in VALUES.items())}
    probe forms, all__forms, 0, "{" ".join(FORMS)}"
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
.size forms, . - forms
"""

PROGRAM = (
    assembler(FORMS_TEXT)
    + r"""
#include <stdio.h>
void forms(void);
__thread int private = -77;
int main() {
    private++;
    private--;
    forms();
    return 0;
}
"""
)


@pytest.mark.share(1)
@pytest.mark.parametrize("form", [("-pie", "-fPIE"), ("-no-pie", "-fno-PIE")], ids=["pie", "fixed"])
def test_every_form_of_operand(tmp_path, form):
    program = build(tmp_path, "program", PROGRAM, *form)
    known = [number for number, value in enumerate(FORMS.values()) if value is not None]
    numbers = ", ".join(f"(int64_t)arg{n}" for n in known)
    text = f'forms$target:a.out:forms:all-forms {{ printf("{"%d " * len(known)}\\n", {numbers}); }}'
    shown = sonde("-qn", text, "-c", program).stdout.split()
    for operand, value in zip(known, shown, strict=True):
        form, wanted = list(FORMS.items())[operand]
        if wanted == "self":
            assert int(value) > 0x1000
            continue
        wanted = wanted - (1 << 64) if wanted >> 63 == 1 else wanted
        assert int(value) == wanted, form


SITE = """
.text
.globl {0}
.type {0}, @function
{0}:
    {1}
    probe work, job__done, work_semaphore, "{2}"
    ret
.size {0}, . - {0}
"""

WORK = (
    assembler(
        SITE.format("first", "mov $7, %eax", "-4@%eax")
        + SITE.format("second", "mov $8, %r10", "8@%r10")
        + SITE.format("third", "movl $9, -8(%rsp)", "-4@-8(%rsp)")
        + """
.globl both
.type both, @function
both:
    mov $10, %eax
    probe work, job__done, work_semaphore, "-4@%eax"
    mov $11, %ecx
    probe work, job__done, work_semaphore, "2@%cx"
    ret
.size both, . - both
.pushsection .probes, "aw"
work_semaphore: .2byte 0
.popsection
"""
    )
    + """
extern unsigned short work_semaphore __attribute__((visibility("hidden")));
int listeners(void) { return *(volatile unsigned short *)&work_semaphore; }
"""
)

WORKER = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
void first(void), second(void), third(void), both(void);
int listeners(void);
int main(int count, char **words) {
    char buffer[2];
    setvbuf(stdout, 0, _IOLBF, 0);
    do {
        printf("%d\n", listeners());
        first(), second(), third(), both();
    } while (count > 1 && read(0, buffer, 1) == 1);
    return 0;
}
"""


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    directory = tmp_path_factory.mktemp("static")
    library = build(directory, "libwork.so", WORK, "-shared", "-fPIC")
    return build(directory, "worker", WORKER, library, f"-Wl,-rpath,{directory}")


def test_sites_of_a_probe(worker):
    """In a library; one probe a function, whose sites have arguments in different places and of different sizes."""
    text = 'work$target:libwork::job-done { printf("%s %s %d %d\\n", probefunc, probemod, arg0, arg1); }'
    lines = sonde("-qn", text, "-c", worker).stdout.splitlines()
    assert [line for line in lines if "libwork" in line] == [
        "first libwork.so 7 0",
        "second libwork.so 8 0",
        "third libwork.so 9 0",
        "both libwork.so 10 0",
        "both libwork.so 11 0",
    ]


@pytest.mark.share(1)
@pytest.mark.parametrize("description", ["work$target:::", "w*k$target:lib*::*done", "work$target:::job__done"])
def test_globs_and_counts(worker, description):
    out = sonde("-qn", description + "{ @[probefunc] = count(); }", "-c", worker).stdout
    counts = table("\n".join(line for line in out.splitlines() if len(line.split()) == 2))
    assert counts == {("first",): 1, ("second",): 1, ("third",): 1, ("both",): 2}


def test_listing_tells_the_types(worker):
    shown = sonde("-lv", "-n", "work$target:::", "-c", worker).stdout
    rows = [line.split() for line in shown.splitlines() if "job-done" in line]
    assert {row[3] for row in rows} == {"first", "second", "third", "both"}
    types = [line.split()[1] for line in shown.splitlines() if "args[0]:" in line]
    assert sorted(types) == ["int32_t", "int32_t", "int64_t", "uint64_t"]


def test_typed_arguments(worker):
    """Where sites differ an argument has a type that all of them fit in."""
    out = sonde("-qn", "work$target::both: { print(args[0]); } work$target::second: { print(args[0]); }", "-c", worker)
    shown = [line.split() for line in out.stdout.splitlines() if "_t" in line]
    assert shown == [["(uint64_t)8"], ["(int64_t)10"], ["(int64_t)11"]]


def stepping(worker):
    return subprocess.Popen([worker, "steps"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def step(process):
    process.stdin.write("x")
    process.stdin.flush()
    return int(process.stdout.readline())


def wait_for(process, wanted):
    """Step until the program sees so many listeners."""
    for _ in range(200):
        if step(process) == wanted:
            return
        time.sleep(0.05)
    pytest.fail(f"the semaphore never was {wanted}")


@pytest.mark.share(1)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_semaphores_count_who_listens(worker, end):
    """One for each site; none is left, even if sonde is killed."""
    process = stepping(worker)
    try:
        assert int(process.stdout.readline()) == 0
        tracer = start("-qn", f"work{process.pid}:::job-done {{ @ = count(); }}")
        try:
            wait_for(process, 5)
        finally:
            tracer.send_signal(end)
            tracer.wait(30)
        wait_for(process, 0)
    finally:
        process.stdin.close()
        process.wait(10)


@pytest.mark.long
def test_descriptions_that_match_nothing(worker):
    process = stepping(worker)
    try:
        for text, says in (
            (f"play{process.pid}:::", "are of work"),
            (f"work{process.pid}:::pause", "shows the static probes there"),
            ("work4194999:::", "there is no process 4194999"),
        ):
            message = sonde("-qn", text, status=1).stderr
            assert "does not match any probes" in message
            assert says in message
    finally:
        process.kill()
        process.wait()


def test_probes_of_a_file(worker):
    """For every process that runs its code; one probe for all sites, called by its provider."""
    library = str(Path(worker).parent / "libwork.so")
    text = (
        f"usdt:{library}:w*k:job__done {{ @[probeprov, probefunc, probename, pid] = count(); @sum[pid] = sum(arg0); }}"
    )
    processes = [stepping(worker) for _ in range(2)]
    tracer = start("-qn", text, stdout=subprocess.PIPE, text=True)
    try:
        for process in processes:
            wait_for(process, 5)
        tracer.send_signal(signal.SIGINT)
        rows = [line.split() for line in tracer.communicate()[0].splitlines() if line]
        for process in processes:
            wait_for(process, 0)
    finally:
        tracer.kill()
        tracer.wait()
        for process in processes:
            process.kill()
            process.wait()
    counts = {int(row[3]): int(row[4]) for row in rows if row[:3] == ["usdt", "work", "job-done"]}
    sums = {int(row[0]): int(row[1]) for row in rows if len(row) == 2}
    # A process may be in the middle of a step when tracing begins and ends; the first may be known in parts.
    for process in processes:
        assert counts[process.pid] >= 5
        assert sums[process.pid] >= sum(range(7, 12))


def test_by_its_name_and_the_process(worker):
    text = 'usdt$target:libwork:work:job-done { printf("%s %s %d\\n", probefunc, probename, arg0); }'
    lines = sonde("-qn", text, "-c", worker).stdout.splitlines()
    assert [line for line in lines if line.startswith("work")] == [f"work job-done {n}" for n in range(7, 12)]


HOST = r"""
#include <dlfcn.h>
int main(int count, char **words) {
    void *library = dlopen(words[1], RTLD_NOW);
    ((void (*)(void))dlsym(library, "second"))();
    return 0;
}
"""


def test_in_a_library_that_is_loaded_later(worker, tmp_path):
    host = build(tmp_path, "host", HOST, "-ldl")
    library = Path(worker).parent / "libwork.so"
    text = f'work$target:{library}::job-done {{ printf("%s %d\\n", probefunc, arg0); }}'
    assert sonde("-qn", text, "-c", f"{host} {library}").stdout.split() == ["second", "8"]


def test_a_file_needs_its_name():
    assert "a probe in a file needs that file's name" in sonde("-qn", "usdt:*:work:", status=1).stderr
    assert "there is no program or library /absent" in sonde("-qn", "usdt:/absent:work:x", status=1).stderr


def test_exceptions_of_the_library_of_cpp():
    """libstdc++ has probes of its own, in files that distributions make."""
    source = "int main() { for (int i = 0; i < 3; i++) try { throw i; } catch (int) {} return 0; }\n"
    program = compilers.built("throws.cc", source, "g++")
    notes = subprocess.run(["readelf", "-n", _library(program)], capture_output=True, text=True, check=True).stdout
    if "libstdcxx" not in notes:
        pytest.skip("libstdc++ is built without probes")
    out = sonde("-qn", "libstdcxx$target:::{ @[probename] = count(); }", "-c", program).stdout
    assert table(out) == {("throw",): 3, ("catch",): 3}


FORMS_ALIKE = assembler("""
.globl fire
.type fire, @function
fire:
    mov $7000, %eax
    probe demo, tick, 0, "8@%rax"
    probe demo, tick, 0, "8@$0"
    ret
.size fire, . - fire
""")


def test_a_register_and_a_constant_of_its_number_are_two_arguments(tmp_path):
    """rax is register 0."""
    program = build(tmp_path, "alike", FORMS_ALIKE + "void fire(void);\nint main(void) { fire(); return 0; }\n")
    assert sonde("-qc", program, "-n", 'demo$target:::tick { printf("%d ", arg0); }').stdout.split() == ["7000", "0"]


def _library(program):
    shown = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return next(line.split()[2] for line in shown.splitlines() if "libstdc++" in line)
