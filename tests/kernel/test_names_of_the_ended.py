"""Names for addresses of processes that have ended, or have executed another program, when they are printed."""

import os
import re
import signal
import subprocess

import pytest
from support.command.command import build, start

ASK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
#define ASK() ({ long r; asm volatile("syscall" : "=a"(r) : "0"(110L) : "rcx", "r11", "memory"); r; })
"""

CHAIN = (
    ASK
    + r"""
__attribute__((noinline)) int NAME(void) { return ASK() + 1; }
int main(int count, char **words) {
    char byte;
    if (count > 1 && words[1][0] == '-')
        read(0, &byte, 1);
    NAME();
    if (getenv("LAST"))
        sleep(1);
    if (count > 1 && words[1][0] != '-')
        execv(words[1], words + 1);
    return 0;
}
"""
)

MEMFD = (
    ASK
    + r"""
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
extern char **environ;
__attribute__((noinline)) int in_memory(void) { return ASK() + 1; }
int main(int count, char **words) {
    if (count > 1) {
        in_memory();
        sleep(1);
        return 0;
    }
    char *again[] = {words[0], "again", 0};
    int file = open("/proc/self/exe", O_RDONLY), memory = memfd_create("nmdmemory", MFD_CLOEXEC);
    while (sendfile(memory, file, 0, 1 << 20) > 0)
        ;
    return fexecve(memory, again, environ);
}
"""
)

COMPILER = (
    ASK
    + r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
    static const unsigned char code[] = {0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0xc3};
    char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[100];
    sprintf(path, "/tmp/perf-%d.map", getpid());
    FILE *file = fopen(path, "w");
    memcpy(memory + 64, code, sizeof code);
    fprintf(file, "%lx 20 first compiled\n%lx %lx second compiled\n", memory, memory + 64, sizeof code);
    fclose(file);
    ((int (*)(void))(memory + 64))();
    puts(path);
    sleep(1);
    return 0;
}
"""
)

PLUGIN = ASK + "int plugin_function(void) { return ASK() + 1; }\n"

LOADER = (
    ASK
    + r"""
#include <dlfcn.h>
#include <pthread.h>
static void *load(void *path) {
    void *library = dlopen(path, RTLD_NOW);
    int (*function)(void) = dlsym(library, "plugin_function");
    function();
    dlclose(library);
    return 0;
}
int main(int count, char **words) {
    pthread_t thread;
    pthread_create(&thread, 0, load, words[1]);
    pthread_join(thread, 0);
    return 0;
}
"""
)

PROGRAM = (
    'BEGIN { printf("ready\\n"); } '
    'syscall::getppid:entry /strstr(execname, "nmd") != NULL/ { @[execname, ustack(1)] = count(); }'
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The names that one session has shown of all the programs."""
    directory = tmp_path_factory.mktemp("programs")
    static = ["-static", "-no-pie"]
    first = build(directory, "nmdfirst", CHAIN, "-DNAME=first_function", *static)
    second = build(directory, "nmdsecond", CHAIN, "-DNAME=second_function", *static)
    deleted = build(directory, "nmddeleted", CHAIN, "-DNAME=deleted_function")
    inside = build(directory, "nmdinside", CHAIN, "-DNAME=inside_function")
    early = build(directory, "nmdearly", CHAIN, "-DNAME=early_function")
    memory = build(directory, "nmdmemory", MEMFD)
    compiler = build(directory, "nmdcompiler", COMPILER)
    plugin = build(directory, "plugin.so", PLUGIN, "-shared", "-fPIC")
    loader = build(directory, "nmdloader", LOADER)
    running = subprocess.Popen([early, "-"], stdin=subprocess.PIPE)
    session = start("-q", "-n", PROGRAM, text=True)
    try:
        while session.stdout.readline() != "ready\n":
            assert session.poll() is None, session.stderr.read()
        subprocess.run([first, second], check=True)
        subprocess.run([deleted], check=True)
        subprocess.run([loader, plugin], check=True)
        mount = f"mount -t tmpfs none {directory}/hidden && cp {inside} {directory}/hidden/nmdinside"
        (directory / "hidden").mkdir()
        # Whose files cannot be found any more after their ends live long enough to be seen on a busy machine.
        hidden = ["unshare", "-m", "sh", "-c", f"{mount} && LAST=1 {directory}/hidden/nmdinside"]
        lasting = [
            subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for words in ([memory], [compiler], hidden)
        ]
        mapped = [each.communicate()[0] for each in lasting][1].strip()
        running.communicate(b"x")
        for each in (deleted, plugin):
            os.unlink(each)
        session.send_signal(signal.SIGINT)
        output, errors = session.communicate()
        os.unlink(mapped)
    finally:
        session.kill()
        session.wait()
        running.kill()
        running.wait()
    assert errors == ""
    return {word.partition("+")[0] for word in output.split() if "`" in word or word.startswith("0x")}


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "name",
    [
        "nmdfirst`first_function",
        "nmdsecond`second_function",
        "nmddeleted`deleted_function",
        "nmdearly`early_function",
        "plugin.so`plugin_function",
        "nmdinside`inside_function",
        "memfd:nmdmemory`in_memory",
    ],
)
def test_of_files(shown, name):
    """Of two programs that a process executed, deleted, from before the session, in a thread, unloaded, in a mount
    namespace that is gone, in memory."""
    assert name in shown


def test_of_compiled_code(shown):
    assert any(re.fullmatch(r"perf-\d+\.map`second", name) for name in shown)


def test_no_address_is_without_name(shown):
    assert len(shown) == 8
