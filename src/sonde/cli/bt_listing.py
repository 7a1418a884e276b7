"""Lists of `bt` (-l): probes by description or of a program, with their arguments, and structures."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.cli.bt_arguments import BtArguments
from sonde.cli.bt_messages import BtMessages
from sonde.cli.messages import UsageError
from sonde.cli.output import show
from sonde.library import single_line
from sonde.library.bpftrace.listing import (
    STRUCTURES,
    DescribedProbe,
    is_program,
    matching,
    of_program,
)
from sonde.library.bpftrace.structures import declared_structures
from sonde.library.holding import holding
from sonde.library.inspection.probe_table import listed_engine
from sonde.library.settings import OptionTable

_EVERYTHING = "*"


def list_bt(arguments: BtArguments, options: OptionTable, messages: BtMessages) -> int:
    """What the words after -l describe, or a program has. Raises FatalError and Error."""
    is_verbose = "verbose" in arguments.flags
    word = arguments.words[0] if arguments.words else ""
    program = arguments.program if "-e" in arguments.values or is_program(word) else None
    if program is None and len(arguments.words) > 1:
        raise UsageError("-l takes one description")
    if program is None and word.startswith(STRUCTURES):
        show("".join(f"{text}\n" for text in declared_structures(word, is_verbose)))
        return 0
    if program is None and "." in word and not set(word) & set(":*"):
        text = f"It appears that '{word}' is a filename but the file does not exist. Treating '{word}' as a search "
        messages.warning(f"{text}pattern.")
    engine = listed_engine(options, messages.warning)
    with holding(engine, (), arguments.pids(), options, messages.warning) as held:
        if program is not None:
            _show(of_program((program,), arguments.operands, held), is_verbose)
        else:
            _show(matching(word or _EVERYTHING, held), is_verbose)
    return 0


def _show(probes: Iterable[DescribedProbe], is_verbose: bool) -> None:
    lines: list[str] = []
    for probe in probes:
        lines.append(single_line(probe.text))
        if is_verbose:
            lines += (f"    {single_line(each)}" for each in probe.arguments())
    show("".join(f"{line}\n" for line in lines))
