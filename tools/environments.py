#!/usr/bin/env python3
"""Run sonde where something is missing, full, closed or odd: it works or says why not. `environments.py [WORD]`.

Each environment is a shell script that runs "$@", tried with each engine there is and without root; WORD chooses those
whose names have it. sonde has to end within 5 s, without a traceback; to print what it has traced and end with exit()'s
status, or to end with status 1 or 2 and a message, if there is anybody to read it. The status is 1 if any does not.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATIENCE = 5
SONDE = [sys.executable, "-c", "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); sys.argv[0] = 'sonde'; "
         "from sonde.cli.start import main; sys.exit(main())"]  # fmt: skip
PROGRAM = 'BEGIN { printf("hello\\n"); x[1] = 2; exit(3); } END { @[pid] = count(); }'

SLOW = "it has taken"
WORKS, TOLD, MUTE = "works", "works or says why not", "may end without a word"

CLOSED = ["0<&-", "1>&-", "2>&-", "0<&- 1>&-", "0<&- 2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"]
NO_OUTPUT = {"1>&-", "0<&- 1>&-"}
VARIABLES = [
    "LANG=C", "LC_ALL=C", "LC_ALL=POSIX", "LC_ALL=C.UTF-8", "LC_ALL=xx_YY.nothing", "LANG=tr_TR.ISO-8859-9",
    "LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0", "PYTHONIOENCODING=ascii", "PYTHONUTF8=1", "TERM=", "TERM=dumb",
    "TERM=nothing", "COLUMNS=0", "COLUMNS=x LINES=-1", "PATH=", "PATH=/nothing", "HOME=", "HOME=/nothing", "HOME=/proc",
    "HOME=/dev/null", "HOME=$DIR/unreadable", "XDG_CACHE_HOME=/dev/null", "TMPDIR=/nothing", "TMPDIR=/dev/null",
    "TMPDIR=$DIR/unreadable", "PYTHONHASHSEED=0", "PYTHONOPTIMIZE=2", "PYTHONDONTWRITEBYTECODE=1", "PYTHONDEVMODE=1",
    "PYTHONWARNINGS=error", "PYTHONMALLOC=debug", "PYTHONPATH=/nothing:", "PYTHONUNBUFFERED=1", "PYTHONNODEBUGRANGES=1",
    "PYTHONFAULTHANDLER=1", "PYTHONSAFEPATH=1", "PYTHONINTMAXSTRDIGITS=640", "PYTHONNOUSERSITE=1",
    "PYTHONSTARTUP=/nothing", "PYTHONASYNCIODEBUG=1", "SHELL=/nothing", "USER= LOGNAME=", "PWD=/nothing",
    "DTRACE_OPT_QUIET=", "_DTRACE_TESTING=1", "TZ=nothing", "BIG=$(head -c 100000 /dev/zero | tr '\\0' x)",
    "ODD=$(printf '\\377\\n\\033')", "DEBUGINFOD_CACHE_PATH=/dev/null",
]  # fmt: skip
LIMITS = [
    "-n 6", "-n 10", "-n 16", "-n 32", "-n 64", "-f 0", "-f 8", "-s 128", "-s 512", "-s unlimited", "-l 0", "-l 64",
    "-c 0", "-v 200000", "-v 400000", "-v 1000000", "-d 20000", "-d 100000", "-u 0", "-u 3", "-t 5",
]  # fmt: skip
"""Of ulimit: descriptors, size of files, stack, locked memory, core, address space, data, processes, CPU time."""

MOUNTS = {
    "no /proc": "mount -t tmpfs none /proc",
    "no /sys": "mount -t tmpfs none /sys",
    "no /sys/kernel": "mount -t tmpfs none /sys/kernel",
    "no /dev": "mount -t tmpfs none /dev",
    "no /tmp": "mount -t tmpfs -o size=4k,mode=000 none /tmp",
    "no /etc": "mount -t tmpfs none /etc",
    "no /run": "mount -t tmpfs none /run",
    "all read-only": "mount -o remount,bind,ro /; mount -t tmpfs -o ro none /tmp",
    "a full /tmp": "mount -t tmpfs -o size=4k none /tmp; cat /dev/zero > /tmp/full 2> /dev/null",
}
TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
FULL = 'mkdir "$DIR/full"; mount -t tmpfs -o size=4k none "$DIR/full"; cat /dev/zero > "$DIR/full/x" 2> /dev/null; '


def is_below(path, script):
    """Whether a script of MOUNTS puts an empty file system above the path."""
    return any(path.startswith(f"{each}/") for each in re.findall(r"none (/[\w/]+)", script))


def environments():
    """(name, script, what is asked for, whether it takes root's mounts)."""
    for closed in CLOSED:
        asked = TOLD if closed in NO_OUTPUT else MUTE if "1>" in closed else WORKS
        yield f"closed {closed}", f'exec "$@" {closed}', asked, False
        yield (
            f"closed {closed} with -o",
            f'"$@" -o "$DIR/output" {closed}; s=$?; cat "$DIR/output"; exit $s',
            WORKS,
            False,
        )
    for variable in VARIABLES:
        quoted = variable.replace("$(", '"$(').replace(")", ')"')
        yield variable[:60], f'exec env {quoted} "$@"', WORKS, False
    for name in ("HOME", "TERM", "PATH", "LANG", "TMPDIR"):
        yield f"{name} not set", f'exec env -u {name} "$@"', WORKS, False
    yield "nothing set", 'exec env -i "$@"', WORKS, False
    yield "DTRACE_OPT_SWITCHRATE=garbage", 'exec env DTRACE_OPT_SWITCHRATE=garbage "$@"', TOLD, False
    for limit in LIMITS:
        yield f"ulimit {limit}", f'ulimit {limit}; exec "$@"', TOLD, False
    for name, script in MOUNTS.items():
        # A checkout, or an interpreter, below what is hidden is not there to be run.
        if not any(is_below(each, script) for each in (str(ROOT), sys.prefix, sys.base_prefix, sys.executable)):
            yield name, f'{script}; exec "$@"', TOLD, True
    yield "output to /dev/full", 'exec "$@" > /dev/full', TOLD, False
    yield "errors to /dev/full", 'exec "$@" 2> /dev/full', WORKS, False
    yield "all to /dev/full", 'exec "$@" > /dev/full 2>&1', MUTE, False
    yield "output nobody reads", '"$@" | sleep 0.1', MUTE, False
    yield "errors nobody reads", '{ { "$@" 2>&3; echo status $? >&4; } 3>&1 >&4 | true; } 4>&1; exit 3', MUTE, False
    yield "input that never comes", 'sleep 4 | "$@"', WORKS, False
    yield "-o on a full disk", FULL + 'exec "$@" -o "$DIR/full/y"', TOLD, True
    yield "--raw on a full disk", FULL + 'exec "$@" --raw "$DIR/full/y"', TOLD, True
    yield "--save on a full disk", FULL + 'exec "$@" --save "$DIR/full/y"', TOLD, True
    yield "output on a full disk", FULL + 'exec "$@" > "$DIR/full/y"', TOLD, True
    yield "HOME and TMPDIR on a full disk", FULL + 'exec env HOME="$DIR/full" TMPDIR="$DIR/full" "$@"', WORKS, True
    yield "-o below nothing", 'exec "$@" -o /nothing/y', TOLD, False
    yield "-o a directory", 'exec "$@" -o "$DIR"', TOLD, False
    yield "directory removed", 'mkdir "$DIR/gone"; cd "$DIR/gone"; rmdir "$DIR/gone"; exec "$@"', WORKS, False
    yield "directory unreadable", 'cd "$DIR/unreadable" 2> /dev/null; exec "$@"', WORKS, False
    for number in ("INT", "TERM", "PIPE", "HUP", "CHLD", "ALRM", "USR1", "TTOU"):
        yield f"SIG{number} ignored", f"trap '' {number}; exec \"$@\"", WORKS, False
    yield "umask 777", 'umask 777; exec "$@"', WORKS, False
    yield "niced", 'exec nice -n 19 "$@"', WORKS, False
    yield "a network of its own", 'exec unshare -n "$@"', WORKS, True
    yield "processes of its own", 'exec unshare -pf "$@"', TOLD, True
    yield "processes and /proc of its own", 'exec unshare -pf --mount-proc "$@"', TOLD, True
    yield "users of its own", 'exec unshare -Ur "$@"', TOLD, False
    yield "a session of its own", 'exec setsid -w "$@"', WORKS, False
    yield "a terminal", f'exec "{sys.executable}" -c "{TERMINAL}" "$@"', WORKS, False


def commands():
    """How sonde is called: by name, the words before the script, and its own."""
    packages = ":".join([f"{ROOT}/src", *[each for each in sys.path if each.endswith("-packages")]])
    sonde = [*SONDE, packages, "-q"]
    if os.geteuid() == 0:
        yield "kernel", [], [*sonde, "--engine", "kernel", "-n", PROGRAM]
    yield "embedded", [], [*sonde, "--engine", "embedded", "-n", PROGRAM, "-c", "/bin/sleep 1"]


def run(script, asked, before, words, directory):
    """What is wrong, "" if nothing."""
    started = time.monotonic()
    process = subprocess.Popen(
        [*before, "sh", "-c", script, "sh", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", start_new_session=True,
        env={**os.environ, "DIR": directory},
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=4 * PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        return "it hangs"
    lasted = time.monotonic() - started
    said = (output + errors).decode(errors="replace")
    if "Traceback" in said or "Fatal Python error" in said:
        return said
    if lasted > PATIENCE:
        return f"{SLOW} {lasted:.1f} s"
    worked = process.returncode == 3 and b"hello" in output
    if asked == MUTE or worked:
        return ""
    is_told = process.returncode in (1, 2) and b"sonde: " in errors
    return "" if asked == TOLD and is_told else f"status {process.returncode}, {output!r}, {errors!r}"


def main(word):
    failed = count = 0
    outcomes = []
    for name, script, asked, mounts in environments():
        if word not in name or (mounts and os.geteuid() != 0):
            continue
        count += 1
        for engine, before, words in commands():
            with tempfile.TemporaryDirectory() as directory:
                unreadable = Path(directory, "unreadable")
                unreadable.mkdir(mode=0)
                space = ["unshare", "-m", *before] if mounts else before
                problem = run(script, asked, space, words, directory)
                if problem.startswith(SLOW):
                    # Others may have had the machine.
                    problem = run(script, asked, space, words, directory)
            if problem:
                failed += 1
                outcomes.append(f"{name} ({engine}; {asked}): {problem}")
                print(outcomes[-1], flush=True)
    print(f"{count} environments, {failed} runs with a problem")
    return bool(failed) or not count


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
