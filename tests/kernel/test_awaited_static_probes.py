"""Static probes of libraries that a process loads later, on the embedded engine: each firing is told, from the first
instruction of the library on."""

import re
import subprocess

import pytest
from support.command.command import build, sonde, start
from support.symbols.static_programs import assembler

LIBRARY = (
    assembler(
        """
.text
.globl unit
.type unit, @function
unit:
    cmpw $0, counter(%rip)
    je 1f
    mov %edi, -8(%rsp)
    probe tally, unit__done, counter, "-4@%edi 4@-8(%rsp)"
1:  ret
.size unit, . - unit
.globl always
.type always, @function
always:
    probe tally, always, 0, "-8@%rdi"
    ret
.size always, . - always
.pushsection .probes, "aw"
counter: .2byte 0
.popsection
"""
    )
    + """
void always(long);
__attribute__((constructor)) static void begins(void) { always(1000); }
"""
)

LOADER = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void use(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*unit)(int) = (void (*)(int))dlsym(library, "unit");
    void (*always)(long) = (void (*)(long))dlsym(library, "always");
    for (int n = 0; n < 7; n++) { unit(n); always(n); }
    dlclose(library);
}
static void *uses(void *path) { return use(path), NULL; }
int main(int count, char **words)
{
    pthread_t thread;
    char c;
    if (count > 3) read(0, &c, 1);
    for (int n = 0; n < words[2][0] - '0'; n++) {
        use(words[1]);
        pthread_create(&thread, NULL, uses, words[1]);
        pthread_join(thread, NULL);
        if (!fork()) { use(words[1]); _exit(0); }
        wait(NULL);
    }
    if (words[2][1] == '+') execl("/proc/self/exe", words[0], words[1], "1", NULL);
    puts("done");
}
"""

TEXT = """
tally$target:::unit-done { @u[probeprov == strjoin("tally", lltostr($target)), probemod, probefunc, arg1] = sum(arg0); }
tally$target:::always { @a[probefunc, args[0] == 1000] = count(); }
END { printa("%d %s %s %d %@d\\n", @u); printa("%s %d %@d\\n", @a); printf("end\\n"); }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("awaited")
    library = build(directory, "libtally.so", LIBRARY, "-shared", "-fPIC")
    return build(directory, "loads", LOADER, "-ldl", "-pthread"), library


def expected(uses):
    """What TEXT shows of a library that has been used so often."""
    units = [f"1 libtally.so unit {n} {n * uses}" for n in range(7)]
    return sorted(["", "done", "end", f"always 0 {7 * uses}", f"always 1 {uses}", *units])


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [(), ("-xevaltime=exec",)])
def test_of_a_command(made, options):
    """Loaded again and again, by threads, and behind exec; what fork makes is another process."""
    host, library = made
    done = sonde("--engine", "embedded", *options, "-Zqn", TEXT, "-c", f"{host} {library} 3+")
    assert (sorted(set(done.stdout.split("\n"))), done.stderr) == (expected(8), "")


def test_of_a_process_that_runs(made):
    host, library = made
    with subprocess.Popen([host, library, "2", "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        text = TEXT + 'BEGIN { printf("on\\n"); }'
        with start("--engine", "embedded", "-Zqn", text, "-p", str(process.pid), text=True) as tracer:
            assert tracer.stdout.readline() == "on\n"
            process.stdin.write(b"x")
            process.stdin.close()
            output, errors = tracer.communicate()
        assert process.stdout.read() == b"done\n"
    assert (sorted({*output.split("\n"), "done"}), errors) == (expected(4), "")


def test_without_waiting_it_is_an_error(made):
    done = sonde("--engine", "embedded", "-qn", TEXT, "-c", " ".join((*made, "1")), status=1)
    assert re.search(r"does not match any probes", done.stderr)
