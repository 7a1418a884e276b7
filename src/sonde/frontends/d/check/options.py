"""What the command line tells the checker."""

from __future__ import annotations

from collections.abc import Callable

from sonde.model.known_options import default_number
from sonde.typed import NamedTuple


class CheckOptions(NamedTuple):
    """`zero_probes` (-Z) lets descriptions match nothing, `empty` lets a source have no items.

    `unused_arguments` (-xargref) allows that some of the command line's arguments are never named.
    `parse_option` turns an option's text into its value and raises ValueError with DTrace's words if it cannot.
    The sizes are those in force before any pragma. `branches`: statements may be conditional and loop. `process` is the
    process of -c or -p, 0 without one, None where it is known only when the program runs. `explained`: a description
    that matches nothing is told with what is like it, however long that takes to find. An array that is not declared
    may have `most_keys` (-xtregs).
    """

    parse_option: Callable[[str, str | None], object]
    zero_probes: bool = False
    empty: bool = False
    unused_arguments: bool = False
    strsize: int = default_number("strsize")
    scratchsize: int = default_number("scratchsize")
    maxframes: int = default_number("maxframes")
    amin: str | None = None
    most_keys: int = default_number("tregs")
    branches: bool = True
    process: int | None = 0
    explained: bool = True
