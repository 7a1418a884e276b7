"""One compiled program run, with the files of -o and --raw."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sonde.cli.arguments import Arguments
from sonde.cli.destructive import require_allowed
from sonde.cli.engines import EMBEDDED, has_filter, make
from sonde.cli.errors import engine_error
from sonde.cli.messages import FatalError, Messages
from sonde.cli.names import Names
from sonde.engines.base import EngineError
from sonde.options import OptionTable
from sonde.session import Session, Traced
from sonde.spec import TracingSpec
from sonde.target.launch import CommandError
from sonde.typed import BinaryIO

_RECORD_OVERHEAD = 40
"""Bytes that dtrace needs in a buffer for a record besides the record itself."""


def run(
    spec: TracingSpec, destructive: bool, arguments: Arguments, options: OptionTable, messages: Messages,
    traced: Sequence[Traced], engine: str,
) -> int:  # fmt: skip
    """Trace to the end; returns the exit status. `destructive`: there are actions that need -w. Raises FatalError."""
    require_allowed(destructive, options)
    _check_enabling(spec, options)
    if "verbose" in arguments.flags and engine == EMBEDDED and arguments.commands and has_filter(options):
        messages.error(
            "the command gets a seccomp filter, and no_new_privs with it: setuid programs do not change user, and a "
            "filter of its own cannot notify (-xseccomp=no: no filter)"
        )
    names = Names()
    with opened(arguments.output, "output file ") as output, _raw_file(arguments.raw) as raw:
        try:
            made = make(engine, options, traced)
            session = Session(spec, made, options, names, traced, output, messages.program, raw, names.remember)
            if options.on("destructive") and not options.on("quiet"):
                messages.error("allowing destructive actions")
            return session.run().status & 0xFF
        except EngineError as error:
            raise engine_error(error) from None
        except CommandError as error:
            raise FatalError(str(error)) from None
        except OSError as error:
            raise FatalError(f"processing aborted: {error.strerror}") from None


def _check_enabling(spec: TracingSpec, options: OptionTable) -> None:
    """What dtrace refuses only when tracing is about to begin."""
    needed = max((layout.size for layout in spec.records), default=0) + _RECORD_OVERHEAD
    if options.is_set("bufsize") and options.number("bufsize", 0) < needed:
        text = "could not enable tracing: Enabling exceeds size of buffer"
        raise FatalError(text, hint=f"a record takes {needed} bytes: give -b a greater size")


@contextmanager
def opened(path: str | None, what: str, flags: int = os.O_APPEND) -> Iterator[int]:
    """The descriptor to write to: the standard output where there is no path. Raises FatalError."""
    if path is None:
        yield 1
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o666)
    except OSError as error:
        raise FatalError(f"failed to open {what}'{path}': {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _raw_file(path: str | None) -> Iterator[BinaryIO | None]:
    if path is None:
        yield None
        return
    with opened(path, "raw file ", os.O_TRUNC) as descriptor, open(descriptor, "wb", closefd=False) as file:
        yield file
