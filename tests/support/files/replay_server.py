"""Worker: runs the command for each line of its input, in a child of its own that has all modules already.

A line is a JSON list of words; the answer is one of the child's status, its messages, its CPU seconds and its most
bytes of memory. `replay_server.py SECONDS WORDS`: with no more CPU time than that; the words are those of a run that
tells which modules to load. A child that waits for a minute is ended.
"""

import contextlib
import importlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

WAIT = 60
LOADED = "import sys; from sonde.cli.main import main; main(sys.argv); print(*sys.modules, file=sys.stderr)"


def load(words):
    """What the command loads by and by, so that no child has to."""
    told = subprocess.run([sys.executable, "-c", LOADED, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for name in told.stderr.decode().rsplit("\n", 2)[-2].split():
        if name.startswith(("sonde.", "encodings.")):
            importlib.import_module(name)


def run(words, seconds, errors):
    """Ends this process, whose memory is then told by its file in /proc."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    signal.alarm(WAIT)
    os.dup2(errors.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False))
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), line_buffering=True, errors="backslashreplace")
    status = 70
    try:
        with contextlib.suppress(SystemExit):
            from sonde.cli.main import main

            status = main(["sonde", *words])
        sys.stdout.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    with open("/proc/self/status") as own:
        peak = next(line.split()[1] for line in own if line.startswith("VmHWM"))
    os.write(errors.fileno(), f"\n{peak}".encode())
    os._exit(status)


def outcome(words, seconds):
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            run(words, seconds, errors)
        _, status, used = os.wait4(child, 0)
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    status = os.waitstatus_to_exitcode(status)
    peak = 0
    if status >= 0:
        text, _, told = text.rpartition("\n")
        peak = int(told) << 10
    return status, text, used.ru_utime + used.ru_stime, peak


def main():
    seconds = int(sys.argv[1])
    load(["sonde", *sys.argv[2:]])
    for line in sys.stdin:
        print(json.dumps(outcome(json.loads(line), seconds)), flush=True)


if __name__ == "__main__":
    main()
