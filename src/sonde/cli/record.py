"""`record ... [-- command]`: what is traced goes to a perf.data file as well."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from sonde.cli import object_choices
from sonde.cli.arguments import Arguments, Setting, parse
from sonde.cli.messages import FatalError, UsageError

FILE = "perf.data"
"""Where there is no -o, as perf has it."""

_OUTPUT, _PERF = "output", "perf"
_CALLCHAIN = "callchain"
_SCOPE = "scope"


def arguments_of(words: Sequence[str]) -> Arguments:
    """The command line behind `record`: what stands behind `--` is a command to run, and -o names the file. Raises
    UsageError and FatalError."""
    before, command = list(words), list[str]()
    if "--" in before:
        at = before.index("--")
        before, command = before[:at], before[at + 1 :]
        if not command:
            raise UsageError("a command is to stand behind --")
    arguments = parse(before, {"g": _CALLCHAIN})
    if arguments.choices and arguments.bpf_object is None:
        object_choices.refuse_choices(arguments)
    if arguments.save or arguments.flags & {"list", "header", "object", "compile_only"}:
        raise FatalError("record runs programs: it lists, compiles and saves nothing")
    if arguments.output == "-":
        raise FatalError("-o -: a perf.data file cannot go through a pipe, as its beginning is written last")
    commands = (*arguments.commands, shlex.join(command)) if command else arguments.commands
    settings = list(arguments.settings)
    if any(each.name == _OUTPUT and each.value != _PERF for each in settings):
        raise FatalError("-xoutput: records that are recorded go through perf rings, no other way")
    if arguments.spec is None:
        if arguments.bpf_object is None:
            settings.append(Setting("record", _OUTPUT, _PERF))
        if commands or arguments.pids:
            # As with perf, the samples are those of the processes that are named. An option that was given is stronger.
            settings.insert(0, Setting("record", _SCOPE, "processes"))
    if _CALLCHAIN in arguments.flags:
        settings.append(Setting("-g", _CALLCHAIN, None))
    return arguments._replace(
        output=None,
        recording=FILE if arguments.output is None else arguments.output,
        commands=commands,
        flags=arguments.flags - {_CALLCHAIN},
        settings=tuple(settings),
    )
