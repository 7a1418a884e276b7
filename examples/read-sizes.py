#!/usr/bin/env python3
"""How much a command reads at a time, and how long its reads take: probes written in Python.

    ./read-sizes.py [--engine embedded] COMMAND ...

Prints for each file descriptor how many bytes were read, then the times as a histogram, and tells at once of reads that
fail.
"""

import argparse
import errno

import sonde
from sonde import probe, quantize, sum, thread

bytes_read = sum("bytes by descriptor")
times = quantize("nanoseconds of a read")


@probe("syscall::read:entry")
def entered(p):
    thread.since = p.timestamp
    thread.descriptor = p.args[0]


@probe("syscall::read:return")
def left(p):
    if not thread.since:
        return
    if p.arg0 >= 0:
        bytes_read[p.execname, thread.descriptor].add(p.arg0)
    elif p.errno not in (errno.EINTR, errno.EAGAIN):
        print(f"{p.execname}: a read of descriptor {thread.descriptor} failed: error {p.errno}")
    times.add(p.timestamp - thread.since)
    del thread.since


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", default="auto")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    with sonde.run(entered, left, command=given.command, engine=given.engine) as run:
        for event in run:
            if isinstance(event, sonde.Record):
                name, descriptor, error = event
                print(f"{name}: a read of descriptor {descriptor} failed: {errno.errorcode.get(error, error)}")
    for (name, descriptor), read in sorted(run.aggregations["bytes_read"].items()):
        print(f"{name:16} {descriptor:3} {int(read):12,}")
    for bucket in run.aggregations["times"].get((), sonde.Quantize(())).buckets:
        print(f"{bucket.low:12,} ns {'#' * min(bucket.count, 60)} {bucket.count}")


if __name__ == "__main__":
    main()
