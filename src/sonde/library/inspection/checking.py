"""Programs checked and not compiled: what lists of probes and headers of providers take."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.languages import Checked, front_end
from sonde.library.errors import as_errors
from sonde.model.options import OptionTable
from sonde.session.registry import Registry


def checked(
    language: str, programs: Sequence[tuple[str, str]], options: OptionTable, registry: Registry,
    arguments: Sequence[str] = (), process: int | None = 0, name: str = "sonde",
) -> Checked:  # fmt: skip
    """See `languages.FrontEnd.check`. Descriptions may match no probe. Raises CompileError."""
    options.set("zdefs", None)
    with as_errors():
        return front_end(language).check(programs, options, registry, arguments, process, name)
