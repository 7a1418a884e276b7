"""The command on a terminal and in a pipe, given hostile names: nothing commands the one or forges a line in either."""

import contextlib
import os
import re
import subprocess
import sys
import tty

import pytest
from support.command.running import SONDE, environment

NASTY = "\033]0;x\a\033[2J\x7f\u009b\u202e\u2028\nsonde: forged"
UTTERLY = os.fsdecode(NASTY.encode() + b"\x9b\xff")
HARMFUL = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e\udc80-\udcff]")
STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")

NAMED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]), 0, 0, 0)
for _ in range(3):
    os.getppid()
    with open("/proc/self/comm"): pass
    try:
        open(bytes.fromhex(sys.argv[1]) + b"/nothing")
    except OSError:
        pass
"""
COMMAND = b"\033[2J\n\x9bforged"
PROGRAM = """
syscall::openat:entry /pid == $target && strstr(copyinstr(arg1), "forged") != NULL/ {
    printf("%s|%20s|%.4s|%S\\n", execname, execname, execname, execname); trace(execname); trace(copyinstr(arg1));
    @[execname, copyinstr(arg1)] = count(); @p[execname] = count(); self->s = execname; print(self->s);
}
END { printa("by a format: %s %@d\\n", @p); }
"""

MISTAKES = {
    "a script that is not there": ["-s", UTTERLY],
    "a script with a mistake": ["-s", "SCRIPT"],
    "a raw file": ["raw", UTTERLY],
    "a recording": ["read", UTTERLY],
    "an object": ["--object", UTTERLY],
    "an object's variables": ["vars", UTTERLY, UTTERLY],
    "a spec": ["--spec", UTTERLY],
    "an output file": ["-o", f"/nothing/{UTTERLY}", "-n", "BEGIN { exit(0); }"],
    "a raw output": ["--raw", f"/nothing/{UTTERLY}", "-n", "BEGIN { exit(0); }"],
    "a saved spec": ["--save", f"/nothing/{UTTERLY}", "-n", "BEGIN { exit(0); }"],
    "a command": ["-n", "BEGIN { exit(0); }", "-c", f"'/nothing/{UTTERLY}'"],
    "a process": ["-n", "BEGIN { exit(0); }", "-p", UTTERLY],
    "an option": ["-x", f"{UTTERLY}=1", "-n", "BEGIN { exit(0); }"],
    "an option's value": ["-x", f"bufsize={UTTERLY}", "-n", "BEGIN { exit(0); }"],
    "types of a kernel": ["-k", UTTERLY, "-e", "-n", "BEGIN { exit(0); }"],
    "a library": ["-L", UTTERLY, "-n", "BEGIN { exit(0); }"],
    "a picture": ["--flame", f"/nothing/{UTTERLY}.html", "-n", "BEGIN { exit(0); }"],
    "a subcommand": [UTTERLY],
    "an engine": ["--engine", UTTERLY, "-n", "BEGIN { exit(0); }"],
}  # fmt: skip


def run(words, where):
    """What is written to a terminal, or to a pipe, on both outputs."""
    if where == "pipe":
        done = subprocess.run([SONDE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(),
                              stdin=subprocess.DEVNULL)  # fmt: skip
        return done.stdout.decode(errors="surrogateescape")
    reader, end = os.openpty()
    tty.setraw(end)
    process = subprocess.Popen([SONDE, *words], stdout=end, stderr=end, env=environment(), stdin=subprocess.DEVNULL)
    os.close(end)
    text = b""
    # The end of a terminal is an error.
    with contextlib.suppress(OSError):
        while piece := os.read(reader, 65536):
            text += piece
    os.close(reader)
    assert process.wait() is not None
    return text.decode(errors="surrogateescape")


@pytest.mark.share(3)
@pytest.mark.parametrize("what", MISTAKES)
@pytest.mark.parametrize("where", ["terminal", "pipe"])
def test_a_message_about_what_was_given_is_one_line_of_harmless_text(what, where, tmp_path):
    script = tmp_path / NASTY.replace("/", "_")
    script.write_text("BEGIN { x = ; }\n")
    words = [str(script) if word == "SCRIPT" else word for word in MISTAKES[what]]
    said = run(words, where)
    assert "sonde: " in said
    assert not (HARMFUL if where == "terminal" else STEERING).search(said.replace("\t", " ")), said
    assert not re.search("^(sonde: forged|forged)", said, re.MULTILINE), said


def test_a_traced_process_cannot_command_the_terminal():
    command = f"'{sys.executable}' -c '{NAMED}' {COMMAND.hex()}"
    words = ["--engine", "embedded", "-n", PROGRAM, "-c", command]
    text = run(words, "terminal")
    assert text.count("forged") >= 20
    assert not HARMFUL.search(text.replace("\t", " ")), text
    assert not re.search("^.?forged", text, re.MULTILINE), text


def test_in_a_pipe_what_printf_shows_is_as_it_was_and_rows_are_rows():
    command = f"'{sys.executable}' -c '{NAMED}' {COMMAND.hex()}"
    words = ["--engine", "embedded", "-n", PROGRAM, "-c", command]
    text = run(words, "pipe").encode(errors="surrogateescape")
    assert COMMAND + b"|" in text
    table = text.rpartition(b"by a format: ")[2].partition(b"\n\n")[2]
    assert table.count(b"\\n\x9bforged") == 2
    assert b"\033" not in table
