"""`bt`: programs of bpftrace's language, with bpftrace's options."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sonde.cli.messages import FatalError, Messages, UsageError
from sonde.cli.output import show
from sonde.library import NamedTuple
from sonde.library.holding import chosen_engine, holding
from sonde.library.settings import OptionTable, option_table

_VERSION = "bpftrace v0.26.0 (sonde)\n"
"""Scripts look for the version of the language here."""

_NOTIFY = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"
"""An environment variable by which bpftrace's own tests ask for a line when all is attached."""

_FLAGS = {
    "-q": "quiet", "-v": "verbose", "-k": "errors", "-h": "help", "--help": "help", "-V": "version",
    "--version": "version", "--unsafe": "unsafe", "--no-warnings": "no_warnings", "--dry-run": "dry_run", "-l": "list",
    "--info": "info", "--test": "test", "--bench": "bench", "--fmt": "fmt", "--usdt-file-activation": "activation",
}  # fmt: skip
_VALUES = ("-e", "-c", "-p", "-f", "-o", "-B", "-d", "-I", "--include", "--probe-filter", "--aot", "--mode", "--engine")
_SYNONYMS = {"--pid": "-p", "--format": "-f", "--output": "-o", "--cmd": "-c"}
_REFUSED = {
    "list": "-l", "errors": "-k", "info": "--info", "test": "--test", "bench": "--bench", "fmt": "--fmt",
    "activation": "--usdt-file-activation", "-d": "-d",
    "--probe-filter": "--probe-filter", "--aot": "--aot", "--mode": "--mode",
}  # fmt: skip
_FORMATS = ("text", "json")
_BUFFERING = ("none", "line", "full")


class BtArguments(NamedTuple):
    """A parsed command line; `headers` are those of --include, `folders` those of -I; `words` are the file, if no -e
    gives the program, and positional parameters."""

    flags: frozenset[str]
    values: dict[str, str]
    headers: tuple[str, ...]
    folders: tuple[str, ...]
    words: tuple[str, ...]


def parse(words: Sequence[str]) -> BtArguments:
    """Options may stand anywhere before `--`. Raises UsageError."""
    flags: set[str] = set()
    values: dict[str, str] = {}
    found: list[str] = []
    repeated: dict[str, list[str]] = {"--include": [], "-I": []}
    remaining = list(reversed(words))
    while remaining:
        word = remaining.pop()
        if word == "--":
            found += reversed(remaining)
            break
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        name = _SYNONYMS.get(name, name)
        if word in _FLAGS:
            flags.add(_FLAGS[word])
        elif name in _VALUES:
            if not equals and not remaining:
                raise UsageError(f"option requires an argument -- {name.lstrip('-')}")
            values[name] = value if equals else remaining.pop()
            repeated.get(name, []).append(values[name])
        elif word.startswith("-") and len(word) > 1 and not word[1:].isdigit():
            raise UsageError(f"invalid option {word}")
        else:
            found.append(word)
    headers, folders = (tuple(each) for each in repeated.values())
    return BtArguments(frozenset(flags), values, headers, folders, tuple(found))


def trace_bt(words: Sequence[str], messages: Messages) -> int:
    """Compile and run a program; returns the exit status. Raises FatalError, and the library's Error."""
    arguments = parse(words)
    if "help" in arguments.flags:
        from sonde.cli.help import show_manual

        return show_manual(["bt"], messages.program)
    if "version" in arguments.flags:
        show(_VERSION)
        return 0
    _require_supported(arguments)
    kind, text, operands = _program(arguments)
    options = _options(arguments)
    pids = _pids(arguments)
    commands = [arguments.values["-c"]] if "-c" in arguments.values else []
    only_compiles = "dry_run" in arguments.flags
    engine = chosen_engine(options, messages.error, only_compiles)
    with holding(engine, commands, pids, options, messages.error) as held:
        # The compiler comes when the processes are there.
        from sonde.library.bpftrace import compile_program, refuse_without_processes, run_program, take_name

        program = compile_program(kind, text, options, operands, held)
        if "no_warnings" not in arguments.flags:
            for text in program.warnings():
                messages.plain(f"{text}\n")
        if only_compiles:
            return 0
        if held.is_embedded and not held.traced:
            refuse_without_processes(program.made)

        take_name()

        is_json = arguments.values.get("-f") == "json"

        def attached() -> None:
            if "quiet" not in arguments.flags and is_json:
                data = f'"count": {program.attached}, "data": {{"probes": {program.attached}}}'
                show(f'{{"type": "attached_probes", {data}}}\n')
            elif "quiet" not in arguments.flags:
                messages.plain(f"Attached {program.attached} probe{'' if program.attached == 1 else 's'}\n")
            if _NOTIFY in os.environ:
                show(f"{_NOTIFY}\n")

        return run_program(
            program,
            options,
            held,
            arguments.values.get("-o"),
            messages.error,
            attached,
            is_json,
            "no_warnings" not in arguments.flags,
        )


def _require_supported(arguments: BtArguments) -> None:
    """Raises FatalError for an option that is not there, and for a value that one does not take."""
    for name in (*sorted(arguments.flags), *arguments.values):
        if name in _REFUSED:
            raise FatalError(f"{_REFUSED[name]} is not supported by `sonde bt`")
    if arguments.values.get("-f", "text") not in _FORMATS:
        raise UsageError(f"-f takes one of {', '.join(_FORMATS)}")
    if arguments.values.get("-B", "line") not in _BUFFERING:
        raise UsageError(f"-B takes one of {', '.join(_BUFFERING)}")


def _program(arguments: BtArguments) -> tuple[str, str, tuple[str, ...]]:
    """Kind and text of the program, and the positional parameters."""
    if "-e" in arguments.values:
        return "text", arguments.values["-e"], arguments.words
    if not arguments.words:
        raise UsageError("a program is given with -e, or in a file")
    path, *operands = arguments.words
    return "file", path, tuple(operands)


def _options(arguments: BtArguments) -> OptionTable:
    given = [("quiet", "yes"), ("strsize", "1024")]
    if "unsafe" in arguments.flags:
        given.append(("destructive", "yes"))
    given += [("incdir", each) for each in arguments.folders]
    given += [("cppargs", each) for name in arguments.headers for each in ("-include", name)]
    if "--engine" in arguments.values:
        given.append(("engine", arguments.values["--engine"]))
    return option_table(given)


def _pids(arguments: BtArguments) -> tuple[int, ...]:
    text = arguments.values.get("-p")
    if text is None:
        return ()
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise FatalError(f"Failed to parse pid: invalid integer: {text}")
    return (int(text),)
