"""What a firing's loops cost at most: for each body the time until the turns that a firing has by default are used up.

Usage: python bench/loops.py [--runs N] [--json FILE]
"""

from __future__ import annotations

import argparse
import re
import subprocess

from common import SONDE, Table, environment, median, show

BODIES = (
    "n++;", "n = t < u;", "s = strjoin(t, u);", "s = substr(t, 3);", "s = basename(t);", "s = dirname(t);",
    "s = cleanpath(v);", "s = strchr(t, 'b');", "s = strtok(t, u);", "s = strstr(t, u);", "n = index(t, u);",
    "n = rindex(t, u);", "s = lltostr(n);", "s = curpsinfo->pr_psargs;", "n = progenyof(1);", "n = ppid;",
    "a[t] = this->i;", "b[this->i] = this->i;", "@[t] = count();", "@[this->i] = count();", "@ = quantize(this->i);",
    "self->x = this->i;", "@[stack()] = count();", "@[ustack(100)] = count();", "trace(t);",
    'printf("%s %s %s", t, u, v);', "print(*curthread);", "tracemem(curthread, 4096);", "s = fds[0].fi_pathname;",
    "raise(0);", "for (this->j = 0; this->j < 1000; this->j++) n++;",
    "for (this->j = 0; this->j < 1000; this->j++) s = strstr(t, u);",
    "s = strtok(t, u); s = strchr(t, 'b'); s = cleanpath(v); @[t, u, v] = count();",
)  # fmt: skip
"""Each in an endless loop; `t`, `u` and `v` are as long as strings can be, and hard to tell apart."""

PROGRAM = """
string s, t, u, v; long n, begun, a[string], b[long]; self long x;
BEGIN {{ t = "{text}"; u = "{sought}"; v = "{path}"; begun = timestamp; }}
BEGIN {{ for (this->i = 0; ; this->i++) {{ turns++; {body} }} }}
BEGIN {{ printf("took %d %d\\n", timestamp - begun, turns); exit(0); }}
"""
TOOK = re.compile(r"took (\d+) (\d+)")


def measured(body: str) -> tuple[int, int]:
    """Nanoseconds of the firing, and the turns of the outer loop."""
    strings = {"text": "a" * 255, "sought": "a" * 120 + "b", "path": "/../aa" * 42}
    program = PROGRAM.format(body=body, **strings).replace("long n,", "long turns, n,")
    done = subprocess.run(
        [SONDE, "-qw", "-xbufsize=64m", "-xscratchsize=64k", "-n", program], capture_output=True, text=True,
        env=environment(),
    )  # fmt: skip
    found = TOOK.search(done.stdout)
    if found is None or "maxloop" not in done.stderr:
        raise SystemExit(f"{body}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return int(found[1]), int(found[2])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rows = []
    for body in BODIES:
        runs = [measured(body) for _ in range(arguments.runs)]
        spent = median([ns for ns, _ in runs])
        rows.append((body, str(runs[0][1]), f"{spent / runs[0][1] / 1000:.2f}", f"{spent / 1e6:.2f}"))
    rows.sort(key=lambda row: -float(row[3]))
    title, text = "Loops: the costliest bodies", "A firing's loops with default options, until a turn more is a fault."
    show([Table(title, text, ("body", "turns", "us a turn", "ms in all"), rows)], arguments.json)


if __name__ == "__main__":
    main()
