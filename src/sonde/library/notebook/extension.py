"""`%load_ext sonde`: the cell magic is there from then on."""

from __future__ import annotations

from sonde.library.errors import Error
from sonde.library.notebook.arguments import parse
from sonde.library.notebook.cell import trace_cell
from sonde.typed import Any


def load_ipython_extension(shell: Any) -> None:
    """What IPython calls: `%%sonde` traces with the program in its cell."""

    def sonde(line: str, cell: str) -> None:
        from IPython.core.error import UsageError

        try:
            request = parse(line)
            shell.user_ns[request.name] = trace_cell(shell, request, cell)
        except Error as error:
            # One message, and not the way through this package to where it was found.
            raise UsageError(str(error)) from None

    shell.register_magic_function(sonde, magic_kind="cell", magic_name="sonde")
