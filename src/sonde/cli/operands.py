"""What the first word means where no option gives a program: a script, a program as behind -n, or a mistake.

To `dtrace` all words are macro arguments, as dtrace(1) has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from shlex import quote
from shutil import which

from sonde.cli.arguments import Arguments, GivenProgram
from sonde.cli.messages import FatalError
from sonde.library import loading

COMMANDS = ("doctor", "raw", "record", "read", "export", "verify", "vars", "test", "bt", "help", "completion")

_EXAMPLE = "sonde {given} -n 'syscall:::entry /pid == $target/ {{ @[probefunc] = count(); }}'"
_INTERNAL = ("BEGIN", "END", "ERROR")
_TIMERS = ("profile-", "tick-")
_EVENT = re.compile(r"([a-z]\w*):(\w+)")
"""An event as perf(1) names it."""

_OF_PROGRAMS = ("-n", "-s", "-P", "-m", "-f", "-i", "-c", "-p", "--")
_WIDTH = 78


def refuse_foreign(words: Sequence[str]) -> None:
    """Refuse command lines as time(1), strace(1) and perf(1) have them: their words would be taken for options of
    sonde. Raises FatalError."""
    first, rest = words[0], words[1:]
    if first == "-e" and rest and _EVENT.fullmatch(rest[0]):
        raise _only_compiled(rest[0], [word for word in rest[1:] if word not in ("-a", "--")])
    if first.startswith("-") or not rest or rest == ["-l"] or _is_program(first) or _is_script(first):
        return
    if any(word.startswith(_OF_PROGRAMS) or {":", "{"} & set(word) for word in rest):
        return
    # A mistake may take its time.

    if first not in COMMANDS and which(first):
        raise _meaningless(first, rest)


def with_program(arguments: Arguments) -> Arguments:
    """The arguments, with the first word as their program if they have none. Raises FatalError."""
    if arguments.programs or arguments.spec or arguments.bpf_object or arguments.flags & {"list", "help"}:
        return arguments
    if not arguments.operands:
        if (arguments.commands or arguments.pids) and "compile_only" not in arguments.flags:
            raise _nothing_to_trace(arguments)
        return arguments
    first, *rest = arguments.operands
    if _is_script(first):
        return arguments._replace(programs=(GivenProgram("file", first),), operands=tuple(rest))
    if not _is_program(first):
        raise _meaningless(first, rest)
    if "compile_only" in arguments.flags:
        raise _only_compiled(first, rest)
    return arguments._replace(programs=(GivenProgram("name", first),), operands=tuple(rest))


def _only_compiled(first: str, rest: Sequence[str]) -> FatalError:
    """-e as perf(1) has it: the event behind it, and a command."""
    text = "-e compiles and ends, as with dtrace(1); what is to run is given with -n"
    event = _EVENT.fullmatch(first)
    program = f"syscall::{event[2][10:]}:entry" if event and event[2].startswith("sys_enter_") else first
    if event and program == first:
        program = f"sdt:{event[1]}::{event[2]}"
    command = f" -c {_quoted(' '.join(map(_quoted, rest)))}" if event and rest else ""
    return FatalError(text, 2, hint=f"sonde -n {_quoted(program)}{command}")


def _is_script(word: str) -> bool:
    if word.endswith(".d") and not _is_program(word):
        return True
    return _beginning(word) == b"#!"


def _beginning(path: str) -> bytes:
    """Two bytes of a file, none of anything else."""
    return loading.beginning_of(path, 2)


def _is_program(word: str) -> bool:
    """Whether it can be meant as probes or clauses."""
    return bool({":", "{"} & set(word)) or word in _INTERNAL or word.startswith(_TIMERS)


def _nothing_to_trace(arguments: Arguments) -> FatalError:
    given = f"-c {_quoted(arguments.commands[0])}" if arguments.commands else f"-p {arguments.pids[0]}"
    hint = f"what to trace is told by a program or a script, as in\n{_EXAMPLE.format(given=given)}"
    return FatalError("no probes specified", hint=hint)


def _meaningless(word: str, rest: Sequence[str]) -> FatalError:
    # A mistake may take its time.

    if word in COMMANDS:
        text = f"{word} is a command of sonde only where it is the first word"
        return FatalError(text, 2, hint=f"options stand behind it: sonde {word} ...")
    text = f"{word} is neither a script nor a program nor a command of sonde"
    close = get_close_matches(word, COMMANDS, 1)
    if close:
        return FatalError(text, 2, hint=f"did you mean `sonde {close[0]}`?")
    if which(word):
        command = _quoted(" ".join(map(_quoted, (word, *rest))))
        line = _EXAMPLE.format(given="-c " + command)
        line = line if len(line) <= _WIDTH else line.replace(" -n ", " -n \\\n  ", 1)
        return FatalError(text, 2, hint=f"to trace that command:\n{line}")
    return FatalError(
        text, 2, hint="a script ends in .d or is given with -s, a program with -n;\n`sonde --help` tells more"
    )


def _quoted(word: str) -> str:
    return quote(word)
