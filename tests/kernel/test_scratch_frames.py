"""Each firing has a frame of scratch memory to itself, in whatever order the firings of a CPU begin and end."""

import itertools
import struct

import pytest
from support.command.command import build, sonde, table
from support.d.d_run import Run

from sonde.codegen.program import FRAMES, SCRATCH

TEXT = 'BEGIN { this->s = strjoin("frame-", probename); trace(this->s); trace(strjoin(this->s, this->s)); }'

HELD = struct.pack("=Q", 1) + b"\xaa" * 56


@pytest.mark.parametrize("held", [each for n in range(FRAMES + 1) for each in itertools.combinations(range(FRAMES), n)])
def test_a_held_frame_is_left_alone(held):
    """Also one that was taken behind another that is free: the firing that has it outlasts that one's."""
    with Run(TEXT) as run:
        indexes = range(len(frames(run)))
        before = {index: HELD + frames(run)[index][len(HELD) :] for index in indexes if index % FRAMES in held}
        for index, frame in before.items():
            run.tracing.write_map(SCRATCH, struct.pack("=I", index), frame)
        run.begin()
        after = frames(run)
        assert {index: after[index] for index in before} == before
        assert all(after[index][:8] == bytes(8) for index in indexes if index not in before)
        if len(held) < FRAMES:
            assert [[each.rstrip(b"\0") for each in record] for record in run.values()] == [
                [b"frame-BEGIN", b"frame-BEGINframe-BEGIN"]
            ]
        else:
            assert run.lost() == {"nested": 1}
            assert run.values() == []


def frames(run):
    found = [value for _, value in run.tracing.read_map(SCRATCH)]
    assert len(found[0]) > len(HELD), "the strings are in the frame"
    return found


THREADS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
__attribute__((noinline)) void work(const char *name, long n) { asm volatile("" :: "r"(name), "r"(n)); }
static void *thread(void *number)
{
    char name[40];
    for (long n = 0; n < ROUNDS; n++) {
        sprintf(name, "thread %ld makes call %ld", (long)number, n);
        work(name, n);
    }
    return 0;
}
int main()
{
    pthread_t threads[8];
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (long i = 0; i < 8; i++)
        pthread_create(threads + i, 0, thread, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], 0);
}
"""


@pytest.mark.every_kernel
def test_threads_of_one_cpu_keep_their_strings(tmp_path):
    """With preempt=full a program of one thread is preempted for that of another, on the same CPU."""
    path = build(tmp_path, "threads", THREADS, "-pthread", "-DROUNDS=2000")
    text = """
    pid$target:a.out:work:entry
    {
        this->name = copyinstr(arg0);
        this->twice = strjoin(this->name, strjoin("+", this->name));
        this->joined = strjoin(substr(this->twice, 0, strlen(this->name)), substr(this->twice, strlen(this->name)));
        this->found = index(this->twice, "+");
        @[this->joined == this->twice && substr(this->joined, 0, this->found) == copyinstr(arg0)] = count();
    }
    """
    done = sonde("-q", "-xstrsize=128", "-c", path, "-n", text)
    assert table(done.stdout) == {("1",): 16000}
    assert "drop" not in done.stderr
