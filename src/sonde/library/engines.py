"""The engine that a user's word means."""

from __future__ import annotations

from collections.abc import Callable

from sonde.library.errors import Error, as_errors
from sonde.model.options import OptionTable
from sonde.session.engines import EMBEDDED, KERNEL, choose


def engine_for(
    wanted: str, options: OptionTable, only_compiles: bool = False, tell: Callable[[str], None] = lambda _: None
) -> str:
    """The engine, `auto` being the kernel's where that is permitted; `tell` is told where it is not. Raises Error."""
    if wanted not in ("auto", KERNEL, EMBEDDED):
        raise Error(f"there is no engine {wanted!r}", f"there are auto, {KERNEL} and {EMBEDDED}")
    table = options.copy()
    if wanted != "auto":
        table.set("engine", wanted)
    with as_errors():
        return choose(table, tell, only_compiles)
