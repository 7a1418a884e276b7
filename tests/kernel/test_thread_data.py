"""Thread-local data of a library that is loaded late, of each thread its own."""

import subprocess

import pytest
from support.command.command import sonde, unwrapped
from support.machine import packages

LIBRARY = """
KIND __thread long mine = 7;
__attribute__((noinline)) void more(long n) { mine += n; __asm__ volatile("" ::: "memory"); }
"""
PROGRAM = """
#include <dlfcn.h>
#include <pthread.h>
static void (*more)(long);
static void *begin(void *number) { for (int i = 0; i < 3; i++) more((long)number); return 0; }
int main(int count, char **words)
{
    pthread_t threads[4];
    more = dlsym(dlopen(words[1], RTLD_NOW), "more");
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, begin, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""
TEXT = "pid$target:library.so:more:entry { @[args->n, globals->mine] = count(); }"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    packages.require("gcc")
    directory = tmp_path_factory.mktemp("thread")
    (directory / "program.c").write_text(PROGRAM)
    (directory / "library.c").write_text(LIBRARY)
    for words in (
        ["-pthread", "program.c", "-o", "program"],
        ["-DKIND=static", "-shared", "-fPIC", "library.c", "-o", "library.so"],
    ):
        subprocess.run(["gcc", "-g", "-O1", *words], cwd=directory, check=True)
    (directory / "exported").mkdir()
    words = ["-DKIND=", "-shared", "-fPIC", "library.c", "-o", "exported/library.so"]
    subprocess.run(["gcc", "-g", "-O1", *words], cwd=directory, check=True)
    return directory


def test_each_thread_has_its_own(built, monkeypatch):
    """A thread that has not used any has none yet: the first call of each is a fault."""
    monkeypatch.chdir(built)
    done = sonde("-qn", TEXT, "-c", "./program ./library.so")
    found = sorted(tuple(map(int, line.split())) for line in done.stdout.splitlines() if line.strip())
    assert found == sorted((n, 7 + n * turn, 1) for n in range(1, 5) for turn in (1, 2))
    assert done.stderr.count("invalid address") == 4


def test_what_another_object_may_define_is_refused(built, monkeypatch):
    """With the reason, and nothing about variables of clauses."""
    monkeypatch.chdir(built)
    done = sonde("-qn", TEXT, "-c", "./program exported/library.so", status=1)
    assert "it is thread-local data of a library" in unwrapped(done.stderr)
    assert "nothing sets" not in done.stderr
    assert "BEGIN" not in done.stderr
