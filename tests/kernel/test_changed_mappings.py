"""Names of addresses where a process puts other code into the place of some, loads libraries one after the other, makes
code in its heap and its stack, forks and executes another program: live and of a recording, each stack with the names
that its addresses had when it was taken."""

import shutil

import pytest
from support.command.command import build, sonde
from support.machine import compilers

LIBRARY = """
__attribute__((noipa)) long NAME(long (*called)(int), int n) {
    long result = called(n);
    __asm__ volatile("");
    return result + 1;
}"""

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOIPA __attribute__((noipa))
static const char *directory, *last;
NOIPA long mark(int n) { long r = syscall(SYS_getpgid, 0) + n; __asm__ volatile(""); return r; }
typedef long called(long (*)(int), int);
NOIPA long through(called *made, int n) { long r = made(mark, n); __asm__ volatile(""); return r; }
/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %esi,%edi; call *%rax; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
static void load(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/lib%s.so", directory, name);
    void *library = dlopen(path, RTLD_NOW);
    through((called *)dlsym(library, name), 1);
    dlclose(library);
}
static void *work(void *argument) { load("one"); load("two"); return argument; }
static void made(char *place) {
    place = (char *)(((unsigned long)place + 4095) & -4096ul);
    memcpy(place, code, sizeof code);
    mprotect(place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    through((called *)place, 2);
}
int main(int count, char **words) {
    char room[12288];
    pthread_t thread;
    directory = words[1], last = words[2];
    load("one"), load("two"), load("one");
    mark(3);
    made(malloc(12288)), made(room);
    char *place = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    made(place);
    munmap(place, 8192);
    load("two");
    mmap(place, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    made(place);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    int child = fork(), status;
    if (!child) {
        load("one"), load("two"), made(place);
        execl(last, last, directory, NULL);
        _exit(9);
    }
    waitpid(child, &status, 0);
    load("two"), load("one");
    return status != 0;
}"""

OTHER = PROGRAM.split("int main")[0] + (
    'int main(int count, char **words) { directory = words[1]; load("two"); load("one"); return 0; }'
)

MADE = "a page"
EXPECTED = [
    "one", "two", "one", "mark", MADE, MADE, MADE, "two", MADE, "one", "two",
    "one", "two", MADE, "two", "one", "two", "one",
]  # fmt: skip

TEXT = """syscall::getpgid:entry /pid == $target || progenyof($target)/ {
    printf("# %s\\n", execname); ustack(6); @[execname, ustack(6)] = count(); }"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    directory = tmp_path_factory.mktemp("changed")
    flags = "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"
    for name in ("one", "two"):
        words = ["gcc", *flags, "-fPIC", "-shared", f"-DNAME={name}", "-o", f"lib{name}.so", "library.c"]
        shutil.copy2(compilers.kept(words, {"library.c": LIBRARY}, f"lib{name}.so"), directory)
    for name, text in (("program", PROGRAM), ("other", OTHER)):
        build(directory, name, text, *flags, "-pthread", "-ldl")
    return directory


def called_by(frames):
    """Whom a stack is of: the function that has called `mark`, or a page where that has no name."""
    names = [each.partition("`")[2].partition("+")[0] or MADE for each in frames]
    found = next(each for each in names if each not in ("syscall", "mark"))
    return "mark" if found == "main" else found


def stacks(output):
    """Of the records in their order, and of the aggregation by the program: whom each is of."""
    records, counted, frames = [], {}, []
    for line in output.splitlines():
        words = line.split()
        if line.startswith("# "):
            frames = []
            records.append((words[1], frames))
        elif words and ("`" in line or words[0].startswith("0x")):
            frames.append(words[-1])
        elif len(words) == 1 and not words[0].isdigit():
            frames, name = [], words[0]
        elif len(words) == 1:
            key = name, called_by(frames)
            counted[key] = counted.get(key, 0) + int(words[0])
    return [(name, called_by(frames)) for name, frames in records], counted


def check(done):
    found, counted = stacks(done.stdout)
    assert [each for _, each in found] == EXPECTED, done.stdout
    assert [name for name, _ in found] == ["program"] * 14 + ["other"] * 2 + ["program"] * 2
    assert counted == {each: found.count(each) for each in found}


@pytest.mark.share(1)
@pytest.mark.parametrize("unwind", ["auto", "frames"])
def test_stacks_of_the_embedded_engine(built, unwind):
    command = f"{built}/program {built} {built}/other"
    check(sonde("-q", "--engine", "embedded", f"-xunwind={unwind}", "-n", TEXT, "-c", command))


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_stacks_while_they_are_recorded_and_of_the_recording(built, engine, tmp_path):
    command, file = f"{built}/program {built} {built}/other", tmp_path / "recording"
    live = sonde("-q", "--engine", engine, "--record", str(file), "-n", TEXT, "-c", command)
    check(live)
    replayed = sonde("-q", "--replay", str(file), "-n", TEXT)
    check(replayed)
    assert replayed.stdout == live.stdout
