"""Each stack has the names that its addresses had when it was taken: libraries that take each other's place, programs
that others execute at the same addresses, compiled code that moves; on both engines, in aggregations and records."""

import re
from collections import Counter

import pytest
from support.command.command import build, sonde
from support.machine import packages
from support.machine.access import needs

pytestmark = needs("CAP_SYS_ADMIN")

ENGINES = ("kernel", "embedded")

PLUGIN = "int {0}_calls(int (*f)(void)) {{ int n = 0; for (int i = 0; i < 40; i++) n += f(); return n; }}"
HOST = r"""
#include <dlfcn.h>
#include <unistd.h>
static int call(void) { return getppid() > 0; }
int main(int count, char **names) {
    for (int turn = 0; turn < 6; turn++) {
        void *plugin = dlopen(names[1 + turn % 2], RTLD_NOW);
        if (!plugin) return 2;
        int (*entry)(int (*)(void)) = dlsym(plugin, turn % 2 ? "second_calls" : "first_calls");
        if (entry(call) != 40) return 3;
        dlclose(plugin);
    }
    return 0;
}"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    """A command: 120 calls of getppid(2) below each of two functions, which lie at the same addresses in turn."""
    place = tmp_path_factory.mktemp("plugins")
    built = [build(place, f"{name}.so", PLUGIN.format(name), "-O1", "-shared", "-fPIC") for name in ("first", "second")]
    host = build(place, "host", HOST, "-O1")
    return " ".join(map(str, (host, *built)))


def callers(text):
    """How often each function of a plugin has called, by the lines of stacks with counts after them."""
    found = Counter()
    for stack, count in re.findall(r"((?:^ +\S+`\S+\n)+) +(\d+)$", text, re.MULTILINE):
        found.update({name: int(count) for name in re.findall(r"\.so`(\w+)_calls\+", stack)})
    return found


@packages.needs("gcc")
@pytest.mark.parametrize("engine", ENGINES)
def test_libraries_that_take_each_others_place(plugins, engine):
    program = "syscall::getppid:entry /pid == $target/ { @[ustack(5)] = count(); }"
    done = sonde("-q", "--engine", engine, "-n", program, "-c", plugins)
    assert callers(done.stdout) == {"first": 120, "second": 120}
    # A stack is seen once, however often its library came back.
    assert len(re.findall("_calls", done.stdout)) == 2


@packages.needs("gcc")
@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_they_do_so_in_records_symbols_and_bpftrace(plugins, engine):
    each = 'syscall::getppid:entry /pid == $target/ { printf("%d", pid); ustack(5); @[ufunc(ucaller)] = count(); }'
    done = sonde("-q", "--engine", engine, "-n", each, "-c", plugins)
    assert Counter(re.findall(r"\.so`(\w+)_calls\+", done.stdout)) == {"first": 120, "second": 120}
    program = "tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack(5), comm] = count(); }"
    done = sonde("bt", "-q", "--engine", engine, "-e", program, "-c", plugins)
    found = dict(re.findall(r"(\w+)_calls\+\d+\n(?:.*\n)*?.*, host\]: (\d+)", done.stdout))
    assert found == {"first": "120", "second": "120"}
    program = f'uprobe:{plugins.split()[2]}:second_calls {{ @[usym(reg("ip"))] = count(); print(usym(reg("ip"))); }}'
    done = sonde("bt", "-q", "--engine", engine, "-e", program, "-c", plugins)
    assert done.stdout.split() == ["second_calls"] * 3 + ["@[second_calls]:", "3"]


WORKING = r"""
#include <sys/personality.h>
#include <unistd.h>
int {0}_calls(void) {{ int n = 0; for (int i = 0; i < 40; i++) n += getppid() > 0; return n; }}
int main(int count, char **names) {{
    if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {{
        personality(ADDR_NO_RANDOMIZE);
        execv(names[0], names);
    }}
    if ({0}_calls() != 40) return 3;
    if (count > 1) execv(names[1], names + 1);
    return 0;
}}"""


@packages.needs("gcc")
@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_programs_at_the_same_addresses(tmp_path, engine):
    """Without randomised addresses the one that is executed has the addresses of the one before, and the same vdso."""
    first, last = (
        build(tmp_path, name, WORKING.format(of), "-O1") for name, of in (("begin", "first"), ("last", "second"))
    )
    program = "syscall::getppid:entry /pid == $target/ { @[execname, ustack(4)] = count(); }"
    done = sonde("-q", "--engine", engine, "-n", program, "-c", f"{first} {last}")
    found = re.findall(r"^ +(begin|last) +\n(?: +\S+`\S+\n)*? +\S+`(\w+)_calls\+\S+\n", done.stdout, re.MULTILINE)
    assert sorted(found) == [("begin", "first"), ("last", "second")]


COMPILING = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* mov eax, 110; syscall; ret: getppid(2) */
static const unsigned char code[] = {0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0xc3};
static FILE *map;
static void compile(char *at, const char *name) {
    memcpy(at, code, sizeof code);
    fprintf(map, "%lx 40 %s\n", (unsigned long)at, name);
    fflush(map);
    /* Whoever traces looks at the map every now and then. */
    usleep(400000);
}
static void run(char *at, int times) { for (int i = 0; i < times; i++) ((int (*)(void))at)(); }
int main(void) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    map = fopen(path, "w");
    int file = memfd_create("code", 0), flags[] = {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED};
    if (ftruncate(file, 1 << 16)) return 1;
    char *place = mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, flags[MEMORY], MEMORY == 2 ? file : -1, 0);
    compile(place, "first"); run(place, 30);
    compile(place + 4096, "first"); compile(place, "second"); run(place, 20); run(place + 4096, 5);
    compile(place, "third"); run(place, 10);
    unlink(path);
    return 0;
}"""


@packages.needs("gcc")
@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("memory", ["private", "shared", "file"])
def test_compiled_code_that_moves(tmp_path, engine, memory):
    """In each kind of memory that compilers put code into."""
    number = ["private", "shared", "file"].index(memory)
    command = build(tmp_path, "compiling", COMPILING, "-O1", f"-DMEMORY={number}")
    program = (
        "syscall::getppid:entry /pid == $target/ { @[ufunc(ucaller), ucaller] = count(); @s[ustack(2)] = count(); }"
    )
    done = sonde("-q", "--engine", engine, "-n", program, "-c", str(command))
    found = Counter()
    for name, count in re.findall(r"perf-\d+\.map`(\w+)\+\S+\n(?: +\S+\n)? +(\d+)$", done.stdout, re.MULTILINE):
        found[name] += int(count)
    assert found == {"first": 35, "second": 20, "third": 10}, done.stdout
