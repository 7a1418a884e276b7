"""-h and -G: what a program with static probes is built with, from the definitions of its providers."""

from __future__ import annotations

import os

from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, Messages
from sonde.cli.output import show
from sonde.library import readable_files
from sonde.library.engines import engine_for
from sonde.library.inspection.provider_files import header_of, object_of, provided
from sonde.library.settings import OptionTable


def write(arguments: Arguments, options: OptionTable, messages: Messages) -> int:
    """The header of -h, or -G's object with the counters of the probes, whose operands are the objects that use them.

    The file is that of -o, `-` for the output, or is called as the script is. Raises FatalError.
    """
    is_header = "header" in arguments.flags
    if not arguments.programs:
        text = f"{'-h' if is_header else '-G'} requires one or more scripts or enabling options"
        raise FatalError(text, 2, "name the script that defines the provider with -s")
    engine = engine_for(options.text("engine"), options, True, messages.error)
    is_portable = arguments.save is not None
    probes = provided(arguments.programs, options, engine, arguments.btf, is_portable, messages.program)
    if is_header:
        _to_file(arguments, ".h", header_of(probes))
        return 0
    for path in arguments.operands:
        if not os.path.exists(path):
            raise FatalError(f"failed to open {path}: No such file or directory")
    _to_file(arguments, ".o", object_of(probes))
    return 0


def _to_file(arguments: Arguments, ending: str, content: bytes) -> None:
    scripts = [each.text for each in arguments.programs if each.kind == "file" and each.text != "-"]
    path = arguments.output
    if path is None:
        if len(scripts) != 1:
            raise FatalError("name the file to write with -o, - for the output")
        path = os.path.splitext(os.path.basename(scripts[0]))[0] + ending
    if path == "-":
        show(content.decode(errors="replace"))
        return
    try:
        readable_files.write(path, content)
    except OSError as error:
        raise FatalError(f"failed to write {path}: {error.strerror}") from None
