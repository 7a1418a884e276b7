"""lockstat: how long threads wait for the kernel's locks, by what they wait for."""

from support.command.command import build, sonde

MUTEX = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
/* Read a lot through one open file, whose offset is under a mutex. */
int main(int argc, char **argv) {
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *data = malloc(8 << 20);
    ftruncate(file, 8 << 20);
    for (int child = 0; child < 6; child++)
        if (!fork()) {
            for (int i = 0; i < 20; i++) { read(file, data, 8 << 20); lseek(file, 0, SEEK_SET); }
            _exit(0);
        }
    while (wait(0) > 0) { }
    return 0;
}
"""

WRITERS = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* Write a lot to one file, opened by each: the inode is under a semaphore of writers. */
int main(int argc, char **argv) {
    char *data = calloc(1, 4 << 20);
    for (int child = 0; child < 6; child++)
        if (!fork()) {
            int file = open(argv[1], O_RDWR | O_CREAT, 0600);
            for (int i = 0; i < 20; i++) pwrite(file, data, 4 << 20, 0);
            _exit(0);
        }
    while (wait(0) > 0) { }
    return 0;
}
"""


def rows(text):
    return {tuple(line.split()[:-1]): int(line.split()[-1]) for line in text.splitlines() if line.strip()}


def test_a_mutex_is_waited_for(tmp_path):
    """Somebody slept or spun; a wait has a lock and a time that fits into the trace's."""
    program = build(tmp_path, "mutex", MUTEX)
    text = """BEGIN { start = timestamp; }
        lockstat:::adaptive-block, lockstat:::adaptive-spin /execname == "mutex"/ {
        @[probename, args[0] != NULL, args[1] > 0 && args[1] < timestamp - start] = count(); }
        lockstat:::adaptive-acquire-error /execname == "mutex"/ { @error = count(); }"""
    found = rows(sonde("-qc", f"{program} {tmp_path}/file", "-n", text).stdout)
    assert set(found) <= {("adaptive-block", "1", "1"), ("adaptive-spin", "1", "1")}
    assert found[("adaptive-block", "1", "1")] > 0


def test_a_semaphore_is_waited_for_by_writers(tmp_path):
    """All wait to write, for the lock of one inode, and those who slept were off the CPU."""
    program = build(tmp_path, "writers", WRITERS)
    text = """lockstat:::rw-block /execname == "writers"/ { @[args[0], args[2] == RW_WRITER] = sum(args[1]); }"""
    lines = sonde("-qc", f"{program} {tmp_path}/file", "-n", text).stdout.splitlines()
    found = [line.split() for line in lines if line.strip()]
    assert max(int(time) for _, writer, time in found if writer == "1") > 1_000_000


def test_spinning_is_told_from_sleeping(tmp_path):
    """What waits for a spin lock has its place in no other probe; the sums of begin and end are the same."""
    program = build(tmp_path, "mutex", MUTEX)
    text = """rawtp:::contention_end { @ends = count(); }
        lockstat:::spin-spin { @spin = count(); @least = min(args[1]); }
        lockstat:::spin-spin /args[1] > 10000000000/ { @long = count(); }"""
    done = sonde("-qc", f"{program} {tmp_path}/file", "-n", text)
    values = [int(line) for line in done.stdout.split()]
    assert values[0] > 0
    if len(values) > 1:
        ends, spins, least = values
        assert spins <= ends
        assert least > 0
