"""A program that traces a command or a process and does nothing with what it hears: `follow_all.py SPEC`, JSON.

command or pid; calls: what is wanted of all system calls (sonde.engines.embedded.tracer.plan); held: kinds of stops
held; seccomp; busy: seconds to do nothing after each batch; slots of the ring. It ends with the first target's status.
"""

import json
import os
import select
import sys
import time

from sonde.engines.embedded.tracer import plan, stops
from sonde.engines.embedded.tracer.tracees import Tracees

CALLS = range(460)


def main(spec):
    tracees = Tracees(spec.get("slots", 1 << 14))
    if "command" in spec:
        pid = tracees.start(spec["command"])
    else:
        pid = spec["pid"]
        tracees.grab(pid)
    held = frozenset(spec.get("held", ()))
    calls = dict.fromkeys(CALLS, spec.get("calls", 0)) if spec.get("calls") else {}
    wanted = plan.StopPlan(calls, held | frozenset(spec.get("events", ())), held, True, spec.get("seccomp", True))
    tracees.begin(wanted, spec.get("evaluation", "postinit"))
    tracees.go()
    status = follow(tracees, pid, spec.get("busy", 0), spec.get("limit"))
    tracees.close()
    return status


def follow(tracees, pid, busy, limit):
    poll = select.poll()
    poll.register(tracees.descriptor, select.POLLIN)
    total = 0
    while True:
        first, records = tracees.take()
        for number, record in enumerate(records, first):
            if record[1] & stops.HELD:
                tracees.resume(number, record[2])
            if record[0] == stops.END and record[2] == pid:
                return os.waitstatus_to_exitcode(record[4])
        total += len(records)
        if limit is not None and total > limit:
            return 0
        if busy:
            time.sleep(busy)
        if not records:
            longest = tracees.rest()
            poll.poll(None if longest is None else longest * 1000)
            tracees.awake()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
