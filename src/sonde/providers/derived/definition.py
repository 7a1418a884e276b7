"""What a provider of derived probes is made of: tables of definitions, in D."""

from __future__ import annotations

from sonde.typed import NamedTuple


class NativeArgument(NamedTuple):
    """A native argument, `argN`: its type, and what it is in terms of the tracepoint's arguments. With `__user` in its
    type a pointer is an address of the traced process."""

    type: str
    text: str


class ShownArgument(NamedTuple):
    """`args[N]`: the type it has in D, and the number of the value it shows. Where the value's type is another, a
    translator of the D libraries makes the one from the other; a `string` is read from where the value points to."""

    type: str
    value: int


class Definition(NamedTuple):
    """A probe that fires with an `event`, if `condition` ("": always) holds: a tracepoint by its name, or another
    provider's probe, `fbt:FUNCTION:entry`, `fbt:FUNCTION:return` or `perf:NAME`.

    Conditions and values are D. In them `args->name` is the event's argument that the kernel calls `name`, as
    kernels differ in where it stands; functions of the kernel are named with a backquote. `before` are D
    sources that the program must run for the values to be known. `more` are other events that the probe fires
    with; their values are for the same `shown`, and may be pointers to other structures. `is_embedded`: Linux has no
    such event, but the embedded engine.
    """

    event: str
    condition: str = ""
    values: tuple[NativeArgument, ...] = ()
    shown: tuple[ShownArgument, ...] = ()
    before: tuple[str, ...] = ()
    more: tuple[Definition, ...] = ()
    is_embedded: bool = False


Definitions = dict[str, tuple[Definition, ...]]
"""A provider's probes by name: the first definition holds whose event, arguments and functions the kernel has.
The place in the table makes the identifier, and of probes that fire together the earlier one goes first."""

Absent = dict[str, str]
"""The probes of a provider, by names or patterns of names, that Linux has no event for, and what it has instead, or
why there is none."""
