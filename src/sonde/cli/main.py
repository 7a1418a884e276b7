"""The commands `sonde` and `dtrace`: the command line in, the exit status out."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from sonde.cli.arguments import LONG_OPTIONS, Arguments, parse
from sonde.cli.messages import FatalError, Messages, UsageError
from sonde.cli.output import show

# What a command does not need it does not import: the start of a one-liner is short because of that. So the modules
# that trace, list, explain or show are imported where the command line has asked for them.

USAGE = """\
Usage: {name} [-BCeFGhHlqSvVwZ] [-b bufsz] [-c cmd] [-D name[=def]] [-I path]
       [-L path] [-o output] [-p pid] [-s script] [-U name] [-x opt[=val]]
       [-X a|c|s|t]
       [-P provider [[ predicate ] action ]]
       [-m [ provider: ] module [[ predicate ] action ]]
       [-f [[ provider: ] module: ] func [[ predicate ] action ]]
       [-n [[[ provider: ] module: ] func: ] name [[ predicate ] action ]]
       [-i probe-id [[ predicate ] action ]]
       [-k btf] [--save file] [--raw file] [--disasm] [--dry-run]
       [--engine kernel|embedded|auto] [ args ... ]
       [--flame file.html|.svg [--flame-diff file]] [--heatmap file.html|.svg]
       [--folded file] [--speedscope file] [--pprof file]
       --spec file [-c cmd] [-p pid] [-o output] [-Fqw] [-x opt[=val]]
       --object file [-c cmd] [-p pid] [-o output] [-D name=val] [-evw]
       [--dump] [--disasm]
"""

EXPLANATION = """
  -n, -f, -m, -P, -i  trace these probes; -s takes a program from a file
  -l                  list the probes instead, with -v their arguments too
  -c, -p              trace a command, a process: its pid is $target
  -e                  compile, then exit
  -h, -G              for programs with probes of their own: a header from the
                      definition of their provider, and an object to link
  -q -F -o file       only what the program prints; indented by function;
                      appended to a file (packets into one named *.pcapng)
  -w                  allow destructive actions
  -Z                  allow descriptions that match no probe
  -x opt[=val]        set an option, as `#pragma D option` does
  -C -D -U -I -H      preprocess the program with cpp
  -v -S --disasm      show stability; the intermediate form; eBPF beside D
  --dry-run           compile everything, load nothing
  -k btf              compile for the kernel with this BTF, not for this one
  --save, --spec file write what was compiled to a file; run such a file
  --engine name       run in the kernel, in sonde itself (embedded: no
                      privilege, for -c and -p), or where it can (auto)
  --object file       run the programs of an object that gcc or clang made;
                      --dump shows its variables and maps at the end
  --raw file          write the records to a file as well, for `{name} raw file`
  --flame file        a flame graph of aggregations keyed by stack(), ustack();
                      --flame-diff: compared with an earlier profile;
                      --folded, --speedscope, --pprof: for other viewers
  --heatmap file      a quantize, lquantize or llquantize over time

Other commands: `{name} doctor` tells what this kernel and this user can do,
`{name} raw FILE` shows a file written by --raw (--act -w: and does what it did),
`{name} record ... [-g] [-o file] [-- command]` writes a perf.data file as well,
with samples that sample() lets through, which perf and `{name} read FILE` show,
`{name} verify [-v] FILE` has the embedded engine's verifier look at what a
script compiles to,
`{name} vars [--struct] OBJECT FUNCTION|FILE@LINE` lists the variables there.
"""

_UNSUPPORTED = {
    "anonymous": "-A: anonymous tracing does not exist on Linux",
    "claim": "-a: anonymous tracing does not exist on Linux",
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; `words` are the command line with the program's name. Returns the exit status."""
    name, *rest = sys.argv if words is None else words
    _occupy_standard_files()
    # A reader that goes away ends the program, and ^C too as long as there is no trace to finish.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    messages = Messages(os.path.basename(name) or "sonde")
    try:
        return _command(rest, messages)
    except UsageError as error:
        _tell_usage(error, rest, messages)
        return error.status
    except FatalError as error:
        messages.failure(error)
        return error.status
    except OSError as error:
        # What the parts do not explain themselves: an output that takes no more, a file of the system not there.
        messages.error(str(error.strerror) + (f": {error.filename}" if error.filename else ""))
        return 1


def _tell_usage(error: UsageError, words: Sequence[str], messages: Messages) -> None:
    """What is wrong with the command line: for people, if an option is misspelt, the right one instead of all."""
    hint = ""
    if error.word and messages.has_hints:
        from sonde.cli import misspelt

        hint = misspelt.hint(error.word, LONG_OPTIONS, words, messages.program)
    messages.error(error.text, hint)
    if not hint:
        messages.plain(USAGE.format(name=messages.program))


def _occupy_standard_files() -> None:
    """Where a standard file is closed nothing else may get its number and then the output. What is written to the
    standard output is refused then, so that no result is lost in silence; messages go nowhere."""
    while (number := _open_nothing(os.O_RDONLY)) <= 2:
        if number == 2:
            os.close(number)
            _open_nothing(os.O_WRONLY)
        os.set_inheritable(number, True)
    os.close(number)


def _open_nothing(flags: int) -> int:
    try:
        return os.open(os.devnull, flags)
    except OSError:
        # Without /dev a directory refuses as well.
        return os.open("/", os.O_RDONLY)


def _command(words: list[str], messages: Messages) -> int:
    if words[:1] == ["doctor"]:
        from sonde.cli.doctor import doctor

        return doctor(words[1:])
    if words[:1] == ["raw"]:
        from sonde.cli.raw import show_file

        return show_file(words[1:], messages)
    if words[:1] == ["verify"]:
        from sonde.cli.verify import verify_file

        return verify_file(words[1:], messages)
    if words[:1] == ["vars"]:
        from sonde.cli.vars import show_variables

        return show_variables(words[1:])
    if words[:1] == ["record"]:
        from sonde.cli.record import arguments_of

        return _trace_or_list(arguments_of(words[1:]), messages)
    if words[:1] == ["read"]:
        from sonde.cli.read import read_file

        return read_file(words[1:], messages)
    arguments = parse(words)
    if "help" in arguments.flags:
        show((USAGE + EXPLANATION).format(name=messages.program))
        return 0
    if arguments.is_empty and not arguments.operands:
        messages.plain(USAGE.format(name=messages.program))
        return 2
    return _trace_or_list(arguments, messages)


def _trace_or_list(arguments: Arguments, messages: Messages) -> int:
    if messages.program != "dtrace" and not arguments.programs:
        from sonde.cli.operands import with_program

        arguments = with_program(arguments)
    if "act" in arguments.flags:
        raise UsageError("--act is for `raw` and `read`, which show a recording")
    for flag, text in _UNSUPPORTED.items():
        if flag in arguments.flags:
            raise FatalError(text)
    if arguments.data_model == "32":
        raise FatalError("-32: programs for a 32-bit kernel are not supported")
    if arguments.flags & {"version", "version_of_sonde"}:
        from sonde.cli.version import version

        show(version(messages.program, arguments.flags))
        return 0
    if arguments.spec is not None and "list" not in arguments.flags:
        from sonde.cli.specs import run_file

        return run_file(arguments, messages)
    if arguments.bpf_object is not None:
        from sonde.cli.object import run_object

        return run_object(arguments, messages)
    from sonde.cli.settings import option_table

    options = option_table(arguments)
    if arguments.flags & {"header", "object"}:
        from sonde.cli.headers import write

        return write(arguments, options, messages)
    if "list" in arguments.flags:
        from sonde.cli.listing import list_probes

        return list_probes(arguments, options, messages)
    from sonde.cli.trace import trace

    return trace(arguments, options, messages)
