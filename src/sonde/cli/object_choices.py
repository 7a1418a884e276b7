"""The options that choose something of an object: -D, --map, --program, --attach, --record, --device and -xxdp."""

from __future__ import annotations

from sonde.cli.arguments import Arguments
from sonde.cli.messages import UsageError
from sonde.library import TYPE_CHECKING, bpf_object
from sonde.library.settings import OptionTable

if TYPE_CHECKING:
    pass

KINDS = ("map", "program", "attach", "record", "device")


def chosen(arguments: Arguments, options: OptionTable) -> bpf_object.Words:
    """The values of -D and of the options of these kinds, in their order."""
    sizes, states, places, records, devices = map(arguments.chosen, KINDS)
    return bpf_object.Words(options.texts("define"), sizes, states, places, records, devices, options.text("xdp"))


def refuse_choices(arguments: Arguments) -> None:
    """Where there is no object. Raises UsageError."""
    for name, _ in arguments.choices:
        raise UsageError(f"--{name} is about the programs of an object: it needs --object FILE")
