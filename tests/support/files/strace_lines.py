"""Lines of strace and of examples/strace.d, made comparable, and which of them are the same."""

import re
from collections import Counter, defaultdict

from support.places import EXAMPLES, PROGRAMS

SCRIPT = EXAMPLES / "strace.d"
PROGRAM = PROGRAMS / "calls_of_strace.c"
GROUPS = ("files", "memory", "tasks", "waiting", "sockets", "signals")
"""What the program does; the last sets handlers, which would be called in the others."""

_LINE = re.compile(r"^(\d+) +(.*)$")
_UNFINISHED = re.compile(r" ?<unfinished \.\.\.>$")
_RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$")
_ADDRESS = re.compile(r"0x[0-9a-f]{5,}")
_CHANGING = re.compile(
    r"(?<=f_)(bfree|bavail|blocks|files|ffree)=\d+|\b(uptime|(?:free|shared|buffer)ram|procs)=\d+|\b(loads)=\[[^]]*\]"
)
_RELATION = re.compile(r"(?<=get)(ppid|pgid|pgrp)\((0?)\) = \d+")
_PORT = re.compile(r"htons\(\d{2,}\)|(?<=sa_family=AF_INET, )sa_data=\"[^\"]+\"")
_MOMENT = re.compile(
    r"(?<=left )\{tv_sec=\d+, tv_\w+=\d+\}|(?<=\}, )\{tv_sec=\d+, tv_nsec=\d+\}(?=\) = \? ERESTART_REST)"
)
_RANDOM = re.compile(r'(?<=getrandom\()"[^"]*"')


def tasks_of(text):
    """The numbers of the threads that made the calls."""
    return {match[1] for line in text.splitlines() if (match := _LINE.match(line))}


def lines(text, tasks):
    """The calls of a text, those put together that strace was interrupted in; numbers of `tasks` and addresses are
    replaced."""
    begun, found = {}, []
    for line in text.splitlines():
        match = _LINE.match(line)
        if not match or match[2].startswith(("---", "+++")):
            continue
        task, shown = match.groups()
        if resumed := _RESUMED.match(shown):
            shown = begun.pop(task, "") + resumed[2]
        elif _UNFINISHED.search(shown):
            begun[task] = _UNFINISHED.sub("", shown)
            continue
        found.append(shown)
    return [_normal(line, tasks) for line in found]


def _normal(line, tasks):
    line = _ADDRESS.sub("ADDRESS", line)
    line = _RELATION.sub(r"\1(\2) = TASK", line)
    for pattern, text in ((_CHANGING, "N"), (_PORT, "htons(PORT)"), (_MOMENT, "{...}"), (_RANDOM, "RANDOM")):
        line = pattern.sub(text, line)
    line = re.sub(r" +=", " =", line)
    return re.sub(r"\b\d{3,}\b", lambda number: "TASK" if number[0] in tasks else number[0], line)


def call_of(line):
    return line.partition("(")[0]


def compare(theirs, ours):
    """For each call: how many lines strace has, how many of them are here, and those that are not, of both."""
    # A size may be the number that a thread has in one of the two runs.
    tasks = tasks_of(theirs) | tasks_of(ours)
    wanted, given = Counter(lines(theirs, tasks)), Counter(lines(ours, tasks))
    totals, same = Counter(), Counter()
    differing = defaultdict(lambda: ([], []))
    for line, count in wanted.items():
        totals[call_of(line)] += count
        same[call_of(line)] += min(count, given[line])
        differing[call_of(line)][0].extend([line] * max(0, count - given[line]))
    for line, count in given.items():
        differing[call_of(line)][1].extend([line] * max(0, count - wanted[line]))
    return totals, same, differing
