"""The commands `sonde` and `dtrace`: the command line in, the exit status out."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from sonde.cli import arguments as cli_arguments
from sonde.cli import (
    bt,
    doctor,
    effects,
    export,
    headers,
    listing,
    misspelt,
    object_choices,
    operands,
    raw,
    read,
    record,
    settings,
    specs,
    test,
    trace,
    verify,
    version,
)
from sonde.cli import help as cli_help
from sonde.cli import object as cli_object
from sonde.cli import vars as cli_vars
from sonde.cli.messages import FatalError, Messages, UsageError, ValueOfOptionError, refused
from sonde.cli.output import show
from sonde.library import TYPE_CHECKING, open_nothing, piped
from sonde.library.errors import Error, ReaderGoneError, as_errors, of_memory, of_system

if TYPE_CHECKING:
    from sonde.cli.arguments import Arguments

# What a command does not need it does not import: the start of a one-liner is short because of that. So the modules
# that trace, list, explain or show are imported where the command line has asked for them.

_WITH_MANUAL = (
    ["doctor"],
    ["raw"],
    ["record"],
    ["read"],
    ["verify"],
    ["vars"],
    ["test"],
    ["completion"],
    ["bt"],
    ["export"],
)

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
        with as_errors():
            return _command(rest, messages)
    except UsageError as error:
        _tell_usage(error, rest, messages)
        return error.status
    except FatalError as error:
        return _failure(error, messages)
    except ReaderGoneError:
        return _end_by(signal.SIGPIPE)
    except Error as error:
        return _failure(refused(error), messages)
    except OSError as error:
        # What the parts do not explain themselves: an output that takes no more, a file of the system not there.
        found = of_system(error)
        if found is not None:
            return _failure(refused(found), messages)
        messages.error(str(error.strerror) + (f": {error.filename}" if error.filename else ""))
        return 1
    except MemoryError:
        return _failure(refused(of_memory()), messages)


def _failure(error: FatalError, messages: Messages) -> int:
    messages.failure(error)
    # dtrace(1) keeps the status 2 for its usage.
    as_dtrace = messages.program == "dtrace" or not messages.has_hints
    return 1 if as_dtrace and isinstance(error, ValueOfOptionError) else error.status


def _end_by(number: signal.Signals) -> int:
    """As who does nothing about the signal; whoever waits sees that."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _tell_usage(error: UsageError, words: Sequence[str], messages: Messages) -> None:
    """What is wrong with the command line: for people, if it is one option, what is right there instead of all."""
    hint = ""
    if error.word and messages.has_hints:
        known: tuple[str, ...] = cli_arguments.LONG_OPTIONS
        if words[:1] == ["export"]:
            known = (*export.OPTIONS, *cli_arguments.LONG_OPTIONS)
        hint = misspelt.hint(error.word, known, words, messages.program)
    if error.option and not hint and messages.has_hints:
        hint = cli_help.what_it_takes(error.option)
    messages.error(error.text, hint)
    if not hint:
        messages.plain(cli_help.usage(words, messages.program))


def _occupy_standard_files() -> None:
    """Where a standard file is closed nothing else may get its number and then the output. What is written to the
    standard output is refused then, so that no result is lost in silence; messages go nowhere."""
    while (number := open_nothing(os.O_RDONLY)) <= 2:
        if number == 2:
            os.close(number)
            open_nothing(os.O_WRONLY)
        os.set_inheritable(number, True)
    os.close(number)


def _asks_for_help(words: list[str], messages: Messages) -> bool:
    """Whether a command's manual is wanted: -h alone is one's, too, but to `dtrace`, which writes headers."""
    if messages.program == "bpftrace":
        return False
    if messages.program != "dtrace" and words == ["-h"]:
        return True
    before = words[: words.index("--")] if "--" in words else words
    return words[:1] != ["help"] and words[:1] in _WITH_MANUAL and bool({"--help", "-h"} & set(before))


def _command(words: list[str], messages: Messages) -> int:
    if _asks_for_help(words, messages):
        return cli_help.show_manual([word for word in words[:1] if word != "-h"], messages.program)
    if words[:1] == ["help"]:
        return cli_help.show_manual(words[1:], messages.program)
    if words[:1] == ["completion"]:
        return cli_help.show_completion(words[1:])
    if words[:1] == ["doctor"]:
        return doctor.doctor(words[1:])
    if words[:1] == ["raw"]:
        return raw.show_file(words[1:], messages)
    if words[:1] == ["verify"]:
        return verify.verify_file(words[1:], messages)
    if words[:1] == ["vars"]:
        return cli_vars.show_variables(words[1:])
    if words[:1] == ["test"]:
        return test.test_scripts(words[1:], messages)
    if words[:1] == ["record"]:
        return _trace_or_list(record.arguments_of(words[1:]), messages)
    if words[:1] == ["export"]:
        return _export(words[1:], messages)
    if words[:1] == ["read"]:
        return read.read_file(words[1:], messages)
    if messages.program == "bpftrace" or words[:1] == ["bt"] or _is_bpftrace_script(words, messages):
        return bt.trace_bt(words[1:] if words[:1] == ["bt"] else words, messages)
    if messages.program != "dtrace" and words and (not words[0].startswith("-") or words[0] == "-e"):
        operands.refuse_foreign(words)

    as_dtrace = messages.program == "dtrace" or not messages.has_hints
    arguments = cli_arguments.parse(words, last_counts=as_dtrace)
    if "help" in arguments.flags:
        return cli_help.show_manual((), messages.program)
    if arguments.is_empty and not arguments.operands:
        messages.plain(cli_help.usage(words, messages.program))
        return 2
    return _trace_or_list(arguments, messages)


def _export(words: list[str], messages: Messages) -> int:
    """A program of either language, told as everywhere, whose aggregations are served as metrics."""
    request, rest = export.split(words)
    if export.is_bpftrace(rest):
        return bt.trace_bt(rest[1:] if rest[:1] == ["bt"] else rest, messages, request)
    return _trace_or_list(export.arguments_of(rest, request), messages)


def _is_bpftrace_script(words: list[str], messages: Messages) -> bool:
    """Whether the first word is a script in bpftrace's language, by its name."""
    return messages.program != "dtrace" and bool(words) and words[0].endswith(".bt") and "{" not in words[0]


_RARE = frozenset(("dump", "disassemble", "intermediate", "list"))


def _has_rare(arguments: Arguments) -> bool:
    """Whether there is an option that not every command line takes: most do without a look at these."""
    return bool(arguments.flags & _RARE or arguments.spec or arguments.bpf_object)


def _trace_or_list(arguments: Arguments, messages: Messages) -> int:
    if messages.program != "dtrace" and not arguments.programs:
        arguments = operands.with_program(arguments)
    if "act" in arguments.flags:
        raise UsageError("--act is for `raw` and `read`, which show a recording")
    for flag, text in _UNSUPPORTED.items():
        if flag in arguments.flags:
            raise FatalError(text)
    if arguments.data_model == "32":
        raise FatalError("-32: programs for a 32-bit kernel are not supported")
    if arguments.flags & {"version", "version_of_sonde"}:
        show(version.version(messages.program, arguments.flags))
        return 0
    if arguments.choices and arguments.bpf_object is None:
        arguments = arguments.with_recording()
    if arguments.choices and arguments.bpf_object is None:
        object_choices.refuse_choices(arguments)
    if messages.program != "dtrace" and _has_rare(arguments):
        effects.require_effect(arguments, effects.mode_of(arguments))
    if arguments.spec is not None and "list" not in arguments.flags:
        return specs.run_file(arguments, messages)
    if arguments.bpf_object is not None:
        return cli_object.run_object(arguments, messages)

    options = settings.option_table(arguments)
    if options.text("replay"):
        piped.keep_piped(options)
    if arguments.flags & {"header", "object"}:
        return headers.write(arguments, options, messages)
    if "list" in arguments.flags:
        return listing.list_probes(arguments, options, messages)

    return trace.trace(arguments, options, messages)
