"""One run of a case: the command sonde in a process of its own, as one would type it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import sonde
from sonde.library.errors import Error
from sonde.library.events import Aggregation
from sonde.library.recordings import read
from sonde.library.testing.case import Ran, ScriptCase
from sonde.typed import Any, NamedTuple
from sonde.untrusted import open_file, read_start
from sonde.written_files import create, make_directory

TEMPORARY = "$TMPDIR"
"""What stands for the case's own temporary directory, in words and in what is expected."""

MOST = 16 << 20
"""Bytes of an output that are looked at."""

_PATIENCE = 10.0
"""Seconds that sonde has to end when it is asked to."""

_START = """\
import sys
sys.argv[0] = "sonde"
sys.path.insert(0, {root!r})
from sonde.cli.start import main
main()
"""


class CaseRunError(Exception):
    """A case could not be run; why, in lines."""


class _Files(NamedTuple):
    """Of one run, all in its temporary directory."""

    output: str
    raw: str
    command_output: str
    errors: str
    input: str


def run(case: ScriptCase, engine: str, temporary: str) -> Ran:
    """Run it on an engine, with a temporary directory that is there. Raises CaseRunError."""
    with_files = _Files(*(os.path.join(temporary, f".sonde-{each}") for each in _Files._fields))
    own = os.path.join(temporary, "tmp")
    make_directory(own)
    environment = _environment(case, own)
    if case.before:
        _prepare(case, own, environment)
    words = _words(case, engine, own)
    has_output = not any(each.startswith("-o") for each in case.options)
    added = ["-o", with_files.output] if has_output else []
    added += ["--raw", with_files.raw] if case.aggregations else []
    status, is_late = _run(case, [*words, *added], with_files, environment)
    shown, after = _text(with_files.command_output)
    output, rest = _text(with_files.output) if has_output else (shown, after)
    errors, more = _text(with_files.errors)
    behind = {"output": rest, "command-output": after if has_output else 0, "stderr": more}
    found = None
    if case.aggregations and not is_late:
        found = _aggregations(with_files.raw)
    return Ran(
        engine, _line(words), status, output, shown if has_output else "", errors, own, is_late, found,
        {what: lines for what, lines in behind.items() if lines},
    )  # fmt: skip


def _environment(case: ScriptCase, temporary: str) -> dict[str, str]:
    """The environment without what would make sonde another one for each user."""
    given = {name: text for name, text in os.environ.items() if not name.startswith(("DTRACE_OPT_", "_DTRACE_"))}
    own = {name: text.replace(TEMPORARY, temporary) for name, text in case.environment.items()}
    return {**given, "TMPDIR": temporary, **own}


def _words(case: ScriptCase, engine: str, temporary: str) -> list[str]:
    """The words behind the command's name."""
    found = ["--engine", engine]
    for option, value in (("-s", case.script), ("-n", case.program), ("--object", case.object)):
        found += [option, value] if value else []
    for option, value in (("--replay", case.recording), ("--packets", case.packets), ("-c", case.command)):
        found += [option, value] if value else []
    return [each.replace(TEMPORARY, temporary) for each in (*found, *case.options, *case.arguments)]


def _line(words: Sequence[str]) -> str:
    return " ".join(["sonde", *map(_quoted, words)])


def _quoted(word: str) -> str:
    """As a shell takes it, with the quotes that leave the most as it is."""
    is_plain = "'" in word and not set('"$`\\!') & set(word)
    return f'"{word}"' if is_plain else shlex.quote(word)


def _prepare(case: ScriptCase, temporary: str, environment: Mapping[str, str]) -> None:
    command = ["/bin/sh", "-e", "-c", case.before]
    process = _started(
        case, command, environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        said, _ = process.communicate(timeout=case.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise CaseRunError(f"before: it has not ended after {case.timeout:g} s") from None
    if process.returncode:
        text = said[:MOST].decode(errors="surrogateescape").rstrip()
        raise CaseRunError("\n".join([f"before: it has ended with status {process.returncode}", *text.split("\n")]))


def _run(case: ScriptCase, words: Sequence[str], files: _Files, environment: Mapping[str, str]) -> tuple[int, bool]:
    """The exit status, and whether it took longer than it may."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(sonde.__file__)))
    # -P: what lies where the case runs is not imported.
    command = [sys.executable, "-P", "-c", _START.format(root=root), *words]
    with open(create(files.input, os.O_TRUNC), "wb") as file:
        file.write(case.input.encode(errors="surrogateescape"))
    with ExitStack() as stack:
        given = stack.enter_context(open_file(files.input))
        shown = stack.enter_context(open(create(files.command_output, os.O_TRUNC), "wb"))
        errors = stack.enter_context(open(create(files.errors, os.O_TRUNC), "wb"))
        process = _started(case, command, environment, stdin=given, stdout=shown, stderr=errors)
        try:
            return _wait(process, case)
        finally:
            # Whoever tests was interrupted.
            if process.poll() is None:
                _end(process)


def _started(
    case: ScriptCase, command: Sequence[str], environment: Mapping[str, str], **files: Any
) -> subprocess.Popen[bytes]:  # fmt: skip
    """In a process group of its own: who interrupts the tests interrupts nothing else. Raises CaseRunError."""
    try:
        return subprocess.Popen(command, cwd=case.directory, env=environment, process_group=0, **files)
    except OSError as error:
        raise CaseRunError(f"{command[0]} cannot be run in {case.directory}: {error.strerror}") from None


def _wait(process: subprocess.Popen[bytes], case: ScriptCase) -> tuple[int, bool]:
    if case.interrupt_after:
        try:
            return process.wait(min(case.interrupt_after, case.timeout)), False
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
    try:
        return process.wait(case.timeout), False
    except subprocess.TimeoutExpired:
        return _end(process), True


def _end(process: subprocess.Popen[bytes]) -> int:
    """Have it let go of what it traces, and end its command; its status."""
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _text(path: str) -> tuple[str, int]:
    """What a file has, "" if there is none: its first lines, and how many follow them."""
    try:
        found = read_start(path, MOST + 1)
        if len(found) <= MOST:
            return found.decode(errors="surrogateescape"), 0
        # A line alone may be longer.
        whole = found[: found.rfind(b"\n", 0, MOST) + 1] or found[:MOST]
        return whole.decode(errors="surrogateescape"), _lines_behind(path, len(whole))
    except FileNotFoundError:
        return "", 0


def _lines_behind(path: str, place: int) -> int:
    """How many lines a file has from a place on; what is behind the last end of one is a line."""
    count, last = 0, b"\n"
    with open_file(path) as file:
        file.seek(place)
        while part := file.read(1 << 20):
            count, last = count + part.count(b"\n"), part[-1:]
    return count + (last != b"\n")


def _aggregations(path: str) -> dict[str, dict[tuple[Any, ...], Any]]:
    """Each aggregation by its name, as it was shown last. Raises CaseRunError."""
    found: dict[str, dict[tuple[Any, ...], Any]] = {}
    if not os.path.exists(path):
        return found
    try:
        for event in read(path):
            if isinstance(event, Aggregation):
                for place, name in enumerate(event.names):
                    rows = {key: row[place] for key, row in event.rows.items() if row[place] is not None}
                    found[name] = rows
    except Error as error:
        raise CaseRunError(f"aggregations: {error.text}") from None
    return found
