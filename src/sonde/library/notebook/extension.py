"""`%load_ext sonde`: the cell magic is there from then on."""

from __future__ import annotations

from collections.abc import Callable

from sonde.library.errors import Error
from sonde.library.notebook.arguments import CellRequest, parse
from sonde.library.notebook.cell import begun, follow_in_kernel, follow_in_terminal
from sonde.library.notebook.trace import CellTrace
from sonde.typed import Any

_MAGIC = "%%sonde"


def load_ipython_extension(shell: Any) -> None:
    """What IPython calls: `%%sonde` traces with the program in its cell."""
    if is_kernel(shell):
        shell.input_transformers_cleanup.append(awaiting)

    def sonde(line: str, cell: str) -> None:
        _, trace = _begin(shell, line, cell)
        _told(lambda: follow_in_terminal(trace))

    shell.register_magic_function(sonde, magic_kind="cell", magic_name="sonde")


def is_kernel(shell: Any) -> bool:
    """Whether it belongs to a notebook, or another program that talks with a kernel."""
    return hasattr(shell, "kernel")


def awaiting(lines: list[str]) -> list[str]:
    """The source of a cell that begins with the magic: a kernel answers a click while a cell waits in a task, not while
    it is in a function."""
    first = lines[0].rstrip() if lines else ""
    if first != _MAGIC and not first.startswith(f"{_MAGIC} "):
        return lines
    line, program = first.removeprefix(_MAGIC).strip(), "".join(lines[1:])
    return [f'await __import__("importlib").import_module({__name__!r}).trace_cell({line!r}, {program!r})\n']


async def trace_cell(line: str, program: str) -> None:
    """A cell of a notebook."""
    from IPython import get_ipython  # an extra

    request, trace = _begin(get_ipython(), line, program)
    await follow_in_kernel(trace, request.is_background)
    _told(trace.require_well)


def _begin(shell: Any, line: str, program: str) -> tuple[CellRequest, CellTrace]:
    request = _told(lambda: parse(line))
    trace = shell.user_ns[request.name] = _told(lambda: begun(request, program))
    return request, trace


def _told(do: Callable[[], Any]) -> Any:
    """What it gives. An error is one message, and not the way through this package to where it was found."""
    from IPython.core.error import UsageError  # an extra

    try:
        return do()
    except Error as error:
        raise UsageError(str(error)) from None
