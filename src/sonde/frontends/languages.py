"""The languages that programs are written in, and what a front end gives: the same for all of them.

A language is a folder beside `d/` and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from sonde.model.errors import ProgramError, SourceError
from sonde.model.options import OptionTable
from sonde.model.program import Clause, Program
from sonde.model.types import Type
from sonde.typed import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    from sonde.model.catalog import Catalog
    from sonde.model.report_texts import ReportTexts
    from sonde.model.spec import SourceFunction

ProgramText: TypeAlias = tuple[str, str]
"""One program of a session, a kind and a text. Kinds: a whole `text`; a `file`, whose path it is; or, as D has them on
its command line, the name that a lone probe description ends with (`name`, `function`, `module`, `provider`,
`identifier`)."""


class Part(NamedTuple):
    """What became of one program: how messages call it, and its clauses."""

    title: str
    clauses: tuple[Clause, ...]


class Remark(NamedTuple):
    """What compiles and may mean something else than its writer thinks: one line, and below it what helps."""

    text: str
    remedy: str


class Checked(NamedTuple):
    """Programs whose names are resolved and whose types are known, as one; the lines of their sources by file, None for
    a text; whether they do more to the system than look at it; and what puts a mistake that is found later into words.

    `types` are those that programs and their libraries declare. `remarks` and `warnings` are found when they are asked
    for: of its letters, of what it does; these are told whether there are processes that $target may mean. `own` is
    what a front end's own tools take. `layouts` names the language in whose layouts text is, and `texts` are what these
    show besides what the spec has. `keeping` gives the program with what recordings of `--record-reads` keep besides,
    None where a language adds nothing.
    `functions` are those of the source that messages about faults are to name.
    """

    program: Program
    parts: tuple[Part, ...]
    lines: dict[str | None, list[str]]
    is_destructive: bool
    explain: Callable[[SourceError], ProgramError]
    types: Callable[[], list[Type]]
    remarks: Callable[[], Iterable[Remark]]
    warnings: Callable[[bool], Iterable[Remark]]
    own: Any
    layouts: str = "d"
    texts: ReportTexts | None = None
    keeping: Callable[[], Program] | None = None
    functions: tuple[SourceFunction, ...] = ()


class FrontEnd(Protocol):
    """A module that makes programs of source texts."""

    @staticmethod
    def check(
        programs: Sequence[ProgramText], options: OptionTable, catalog: Catalog, arguments: Sequence[str],
        process: int | None, name: str,
    ) -> Checked:  # fmt: skip
        """The programs of texts (`ProgramText`). `options` take what programs set themselves; `arguments` are $1, $2
        ...; `process` is the process that $target means, None where that is known when the program runs; `name` is $0
        where there is no file. Raises ProgramError."""


_BPFTRACE = "sonde.frontends.bpftrace.programs.front_end"
_PYTHON = "sonde.frontends.python.programs.front_end"
LANGUAGES = {"d": "sonde.frontends.d.programs.front_end", "bpftrace": _BPFTRACE, "python": _PYTHON}
"""The module of each front end, which is imported when a program is in its language."""

LAYOUTS = {"d": "sonde.frontends.d.report.text", "bpftrace": "sonde.frontends.bpftrace.report.text"}
"""For each language that programs are shown in (`Checked.layouts`) the module of its report (`session/reports.py`)."""


def front_end(language: str) -> FrontEnd:
    """That of a language of the table."""
    return cast("FrontEnd", import_module(LANGUAGES[language]))
