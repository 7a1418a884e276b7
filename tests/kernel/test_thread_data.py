"""Thread-local data of a library that is loaded late, of each thread its own."""

from support.command.command import sonde, unwrapped
from support.machine import compilers

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


def command(kind):
    """One that uses a library whose data is of that kind."""
    program = compilers.built("program.c", PROGRAM, "gcc", "-g", "-O1", "-pthread")
    words = ["gcc", "-g", "-O1", f"-DKIND={kind}", "-shared", "-fPIC", "library.c", "-o", "library.so"]
    return f"{program} {compilers.kept(words, {'library.c': LIBRARY}, 'library.so')}"


def test_each_thread_has_its_own():
    """A thread that has not used any has none yet: the first call of each is a fault."""
    done = sonde("-qn", TEXT, "-c", command("static"))
    found = sorted(tuple(map(int, line.split())) for line in done.stdout.splitlines() if line.strip())
    assert found == sorted((n, 7 + n * turn, 1) for n in range(1, 5) for turn in (1, 2))
    assert done.stderr.count("invalid address") == 4


def test_what_another_object_may_define_is_refused():
    """With the reason, and nothing about variables of clauses."""
    done = sonde("-qn", TEXT, "-c", command(""), status=1)
    assert "it is thread-local data of a library" in unwrapped(done.stderr)
    assert "nothing sets" not in done.stderr
    assert "BEGIN" not in done.stderr
