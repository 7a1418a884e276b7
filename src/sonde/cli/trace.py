"""Tracing: the engine chosen, the processes of -c and -p held, then the programs compiled and run."""

from __future__ import annotations

from sonde.cli import tracing
from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, Messages
from sonde.library.holding import chosen_engine, holding
from sonde.library.inspection import own_kernel
from sonde.library.settings import OptionTable


def trace(arguments: Arguments, options: OptionTable, messages: Messages) -> int:
    """Compile and, unless the arguments say otherwise, trace; returns the exit status. Raises FatalError."""
    only_compiles = bool(arguments.flags & {"compile_only", "dry_run"}) or arguments.save is not None
    if not arguments.programs:
        return _nothing(arguments, only_compiles)
    if not only_compiles and not options.text("replay"):
        _require_own_kernel(arguments)
    if arguments.save and (arguments.commands or arguments.pids):
        raise FatalError("-c and -p are for running: give them with --spec")
    if arguments.save and options.text("record"):
        text = "--record is for running, and a spec file has no programs that record firings"
        raise FatalError(text, hint="record the script itself where it is to run; --raw keeps what a spec file shows")
    engine = chosen_engine(options, messages.error, only_compiles)
    with holding(engine, arguments.commands, arguments.process_numbers(), options, messages.error) as held:
        # The compiler comes when the processes are there (library.holding).

        return tracing.trace_processes(arguments, options, messages, held, only_compiles)


def _nothing(arguments: Arguments, only_compiles: bool) -> int:
    """No program: with -e that one compiles too, with -c and -p there is nothing to do."""
    if only_compiles:
        return 0
    raise FatalError("no probes specified", hint="name some with -n, -s, -P, -m, -f or -i; -l lists them")


def _require_own_kernel(arguments: Arguments) -> None:
    """Programs for another kernel cannot run here. Raises FatalError."""
    if arguments.btf is None:
        return

    reason = own_kernel.why_not_own_kernel(arguments.btf)
    if reason:
        text = "-k compiles for another kernel: what it compiles is not for this one to run"
        hint = "add --save FILE for `sonde --spec FILE` there, or --dry-run, -e or -l"
        raise FatalError(text, hint=f"{hint}; to run it here takes this kernel's own vmlinux, and {reason}")
