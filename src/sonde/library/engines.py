"""The engine that a user's word means, and the errors of what composes a session as the library's."""

from __future__ import annotations

from collections.abc import Callable

from sonde.library.errors import Error, NotPermittedError
from sonde.model.options import OptionTable
from sonde.session.engines import EMBEDDED, KERNEL, choose
from sonde.session.errors import NotPermittedError as SessionNotPermittedError
from sonde.session.errors import SessionError


def engine_for(
    wanted: str, options: OptionTable, only_compiles: bool = False, tell: Callable[[str], None] = lambda _: None
) -> str:
    """The engine, `auto` being the kernel's where that is permitted; `tell` is told where it is not. Raises Error."""
    if wanted not in ("auto", KERNEL, EMBEDDED):
        raise Error(f"there is no engine {wanted!r}", f"there are auto, {KERNEL} and {EMBEDDED}")
    table = options.copy()
    if wanted != "auto":
        table.set("engine", wanted)
    try:
        return choose(table, tell, only_compiles)
    except SessionError as error:
        raise of_session(error) from None


def of_session(error: SessionError) -> Error:
    """The library's error for that of a session."""
    made = NotPermittedError if isinstance(error, SessionNotPermittedError) else Error
    return made(error.text, error.hint)
