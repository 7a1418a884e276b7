"""Breakpoints that cannot be where they should be: how many, and why, is told."""

import re

import pytest
from support.command.targets import program
from support.command.unprivileged import sonde

TWICE = "long twice(long a) { return 2 * a; }"

SHARED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const unsigned char CALL[] = "\x48\x83\xec\x08\x48\x89\xf8\xbf\x07\x00\x00\x00\xff\xd0\x48\x83\xc4\x08\xc3";
__attribute__((noinline)) long step(long a) { __asm__ volatile(""); return a + 1; }
int main(int count, char **words)
{
    Dl_info found;
    long sum = 0;
    long (*own)(long) = (long (*)(long))dlsym(dlopen(words[1], RTLD_NOW), "twice");
    dladdr((void *)own, &found);
    long offset = (char *)own - (char *)found.dli_fbase;
    int file = open(words[1], O_RDONLY), code = memfd_create("code", 0);
    char *shared = mmap(0, 1 << 16, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    write(code, CALL, sizeof CALL);
    long (*call)(void *) = (long (*)(void *))mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, code, 0);
    for (int i = 0; i < 11; i++) sum += ((long (*)(long))(shared + offset))(i) + own(i) + call(step);
    for (int i = 0; i < 5; i++) sum += step(i);
    printf("%ld\n", sum);
}
"""


def test_code_that_takes_no_breakpoint_is_told():
    """Code that is mapped shared cannot be written; what is called from there returns to where none can be put."""
    library = program(TWICE, "-shared", "-fPIC")
    probes = ", ".join(f"{name}:entry, {name}:return" for name in (f"uprobe:{library}:twice", "pid$target:a.out:step"))
    text = f"{probes} {{ @[probefunc, probename] = count(); }}"
    done = sonde("--engine", "embedded", "-q", "-n", text, "-c", f"{program(SHARED)} {library}")
    assert done.stdout.startswith("323\n")
    found = re.findall(r"^ +(\w+) +(\w+) +(\d+)$", done.stdout, re.MULTILINE)
    assert sorted(found) == [
        ("step", "entry", "16"), ("step", "return", "5"), ("twice", "entry", "11"), ("twice", "return", "11"),
    ]  # fmt: skip
    told = " ".join(done.stderr.split())
    assert sum(map(int, re.findall(r"(\d+) breakpoint drops?", told))) == 12
    assert re.search(r"1 breakpoints could not be put into process \d+ \(\w+\): Input/output error", told)
    assert re.search(r"11 calls in process \d+ \(\w+\) return to where no breakpoint could be put", told)


FILTERED = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) long step(long a) { __asm__ volatile(""); return a + 1; }
static void *waits(void *nothing) { return pause(), nothing; }
int main(int count, char **words)
{
    struct sock_filter allows = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog filter = {1, &allows};
    pthread_t thread;
    long sum = 0;
    if (count > 1) pthread_create(&thread, NULL, waits, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    for (int i = 0; i < 13; i++) sum += step(i);
    printf("%ld\n", sum);
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize(("words", "lost"), [("", []), ("thread", ["13"])])
def test_breakpoints_that_others_could_pass_are_told(words, lost):
    """In a process with a filter of its own a breakpoint is out for a step: if there are other threads that matters."""
    text = "pid$target:a.out:step:entry { @ = count(); }"
    done = sonde("--engine", "embedded", "-q", "-n", text, "-c", f"{program(FILTERED)} {words}")
    assert done.stdout.split() == ["91", "13"]
    told = " ".join(done.stderr.split())
    assert re.findall(r"was out for a step (\d+) times", told) == lost
    assert bool(told) == bool(lost)


WITHOUT_ITS_FIRST = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_t first;
static void *loads(void *path)
{
    long sum = 0;
    pthread_join(first, NULL);
    long (*twice)(long) = (long (*)(long))dlsym(dlopen(path, RTLD_NOW), "twice");
    for (int i = 0; i < 17; i++) sum += twice(i);
    printf("%ld\n", sum);
    fflush(stdout);
    _exit(0);
}
int main(int count, char **words)
{
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, NULL, loads, words[1]);
    pthread_exit(NULL);
}
"""


def test_a_process_whose_first_thread_has_ended_is_traced_on():
    library = program(TWICE, "-shared", "-fPIC")
    text = f"uprobe:{library}:twice:return {{ @ = sum(arg1); }}"
    done = sonde("--engine", "embedded", "-q", "-n", text, "-c", f"{program(WITHOUT_ITS_FIRST)} {library}")
    assert (done.stdout.split(), done.stderr) == (["272", "272"], "")
