"""Probes in libraries that the process has yet to load: no call is missed, the first one included."""

import re
import subprocess

import pytest
from support.command.command import build, sonde, start, table, unwrapped

LIBRARY = """
static volatile int sink;
int plus(int n)
{
    sink = n;
    return n + 1;
}
"""

PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words)
{
    char byte;
    if (getenv("WAIT"))
        read(0, &byte, 1);
    for (int round = 0; round < 2; round++) {
        void *library = dlopen(LIBRARY, RTLD_NOW);
        int (*plus)(int) = (int (*)(int))dlsym(library, "plus");
        int n = 0;
        while (n < 100)
            n = plus(n);
        dlclose(library);
    }
    puts("done");
    return 0;
}
"""


@pytest.fixture
def library(tmp_path):
    directory = tmp_path / "plugins"
    directory.mkdir()
    return build(directory, "libplus.so", LIBRARY, "-g", "-O0", "-shared", "-fPIC")


def program(tmp_path, called, *flags):
    return build(tmp_path, "loader", PROGRAM, f'-DLIBRARY="{called}"', *flags)


@pytest.mark.share(1)
@pytest.mark.parametrize("way", ["a path in the program", "beside the program", "a run path", "the current directory"])
def test_every_call_is_seen(tmp_path, library, way, monkeypatch):
    """Loaded, let go and loaded again; entries, returns and lines."""
    flags = ()
    if way == "a path in the program":
        called = library
    elif way == "beside the program":
        called = build(tmp_path, "libplus.so", LIBRARY, "-g", "-O0", "-shared", "-fPIC")
    elif way == "a run path":
        called, flags = "libplus.so", ("-Wl,-rpath,$ORIGIN/plugins",)
    else:
        called = "./libplus.so"
        monkeypatch.chdir(library.rpartition("/")[0])
    text = """
    pid$target:libplus.so:plus:entry, pid$target:libplus:plus:return, pid$target:libplus.so:libplus.so.c@5:
    { @[probemod, probefunc] = count(); }
    """
    done = sonde("-q", "-c", program(tmp_path, called, *flags), "-n", text)
    assert "done" in done.stdout
    counts = table(done.stdout.replace("done\n", ""))
    assert counts == {("libplus.so", "plus"): 400, ("libplus.so", "libplus.so.c@5"): 200}


def test_a_library_named_by_its_path(tmp_path, library):
    """Of a process that runs, which is whole when sonde has left it and goes on."""
    path = program(tmp_path, library)
    process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"WAIT": "1"})
    try:
        text = f'BEGIN {{ printf("on\\n"); }} pid$target:{library}:plus:entry /arg0 == 99/ {{ @ = count(); }}'
        with start("-q", "-p", str(process.pid), "-n", text) as tracer:
            assert tracer.stdout.readline() == b"on\n"
            assert process.communicate("x")[0] == "done\n"
            assert tracer.communicate()[0].split() == [b"2"]
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


BASE = "static volatile int sink; int prepared(int n) { sink = n; return n + 1; }"

WITH_CONSTRUCTOR = """
int prepared(int n);
static volatile int sink;
static int counted(int n) { sink = n; return prepared(n); }
__attribute__((constructor)) static void begin(void) { for (int n = 0; n < 5; n++) counted(n); }
int plus(int n) { return n + 1; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("way", ["a command", "a process"])
def test_constructors_of_libraries_are_seen(tmp_path, way):
    """A constructor runs before dlopen() returns, and calls a library that is loaded along with its own."""
    base = build(tmp_path, "libbase.so", BASE, "-g", "-O0", "-shared", "-fPIC")
    library = build(tmp_path, "libplus.so", WITH_CONSTRUCTOR, "-g", "-O0", "-shared", "-fPIC", base)
    path = program(tmp_path, library)
    functions = (
        (library, "begin:entry"),
        (library, "counted:entry"),
        (library, "counted:return"),
        (base, "prepared:entry"),
    )
    where = ", ".join(f"pid$target:{file}:{function}" for file, function in functions)
    text = f'BEGIN {{ printf("on\\n"); }} {where} {{ @[probefunc, probename] = count(); }}'
    if way == "a command":
        output = sonde("-q", "-c", path, "-n", text).stdout.replace("done\n", "").replace("on\n", "")
    else:
        process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"WAIT": "1"})
        try:
            with start("-q", "-p", str(process.pid), "-n", text, text=True) as tracer:
                assert tracer.stdout.readline() == "on\n"
                assert process.communicate("x")[0] == "done\n"
                output = tracer.communicate()[0]
        finally:
            process.kill()
            process.wait()
    # Loaded, let go and loaded again.
    times = {"begin:entry": 2, "counted:entry": 10, "counted:return": 10, "prepared:entry": 10}
    assert table(output) == {tuple(function.split(":")): count for function, count in times.items()}


def test_it_is_said_that_a_library_is_not_loaded(tmp_path, library):
    """A name that another program's library has would be waited for in vain; a static program loads none."""
    done = sonde("-c", program(tmp_path, library), "-n", "pid$target:libplus:plus:entry { @ = count(); }")
    assert re.search(rf"process \d+ has not loaded libplus\.so: the probes are in {library}\n", done.stderr)
    for module in ("libpl*", "libplus.s?"):
        done = sonde("-q", "-c", program(tmp_path, library), "-n", f"pid$target:{module}:pl*:entry {{ @ = count(); }}")
        assert int(done.stdout.split()[-1]) == 200
    static = build(tmp_path, "static", "int main() { return 0; }", "-static")
    refused = sonde("-c", static, "-n", "pid$target:libc.so.6:getenv:entry", status=1)
    assert "the process has no object libc.so.6; it has a.out" in refused.stderr


def test_a_file_that_is_not_found(tmp_path, library):
    """The message says how to name it."""
    refused = sonde("-c", program(tmp_path, "nowhere"), "-n", "pid$target:libplus.so:plus:entry", status=1)
    assert re.search(
        r"the process has no object libplus\.so; it has a\.out, .*can be named by its path", unwrapped(refused.stderr)
    )


def test_an_offset_of_a_library_to_come(tmp_path, library):
    """It is that of an instruction before the kernel is asked."""
    text = f"pid$target:{library}:plus:2"
    refused = sonde("-xerrtags", "-c", program(tmp_path, library), "-n", text, status=1)
    assert "[D_PROC_ALIGN]" in refused.stderr
    assert "instructions begin at" in refused.stderr
