"""Programs read, preprocessed, and checked one after another into one session."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from sonde.frontends.d.check.checker import Checker
from sonde.frontends.d.check.options import CheckOptions
from sonde.frontends.d.errors import SCRIPT, DError, in_d
from sonde.frontends.d.lexer import SLASHES
from sonde.frontends.d.parser import NO_MACROS
from sonde.frontends.d.programs import libraries, mistakes, preprocess
from sonde.frontends.d.source import INPUT, Macros, ProgramSource, command_line_source
from sonde.frontends.option_values import check_attributes
from sonde.model.catalog import Catalog
from sonde.model.errors import Position, ProgramError, SourceError
from sonde.model.known_options import BAD_VALUE, NEWEST_VERSION
from sonde.model.options import OptionError, OptionTable, similar, value_wanted, version_of
from sonde.model.program import Clause, Program
from sonde.typed import TYPE_CHECKING, NamedTuple
from sonde.untrusted import lines, read_named, text_of

if TYPE_CHECKING:
    from sonde.frontends.d.advice.finding import Trial

LARGEST_PROGRAM = 512 << 10
"""Bytes of a program's text; a source has at most 80,000 words and operators."""


class Given(NamedTuple):
    """One program as given: `name` is its file or, of a program on the command line, its whole text; `variables` are
    its macro variables once it is compiled."""

    name: str
    source: ProgramSource
    original: str
    variables: Macros = NO_MACROS

    @property
    def is_script(self) -> bool:
        return self.source.file is not None

    @property
    def title(self) -> str:
        """How messages about a running program call it: `script 'FILE'`, `description 'PROBES'`."""
        if self.is_script:
            return f"script '{self.name}'"
        probes = re.match(rf"(?:{SLASHES}|[^{{/;])*", self.name)
        # What is written on several lines is told on one.
        shown = re.sub(r"\s*\n\s*", " ", probes[0]) if probes else ""
        return f"description '{shown}'"

    @property
    def failure(self) -> str:
        """What a message begins with when it does not compile."""
        return f"{SCRIPT}{self.name}" if self.is_script else f"invalid probe specifier {self.name}"


class CheckedPrograms(NamedTuple):
    """All programs checked, as one, and the clauses of each."""

    program: Program
    given: tuple[Given, ...]
    clauses: tuple[tuple[Clause, ...], ...]
    checker: Checker

    def containing(self, position: Position | None) -> Given:
        """The program that a position is in; of several on the command line, the first."""
        file = position.file if position else None
        return next((each for each in self.given if each.source.file == file), self.given[0])

    @property
    def lines(self) -> dict[str | None, list[str]]:
        """The sources' lines by file name; of several without one, the first's."""
        found: dict[str | None, list[str]] = {}
        for each in self.given:
            found.setdefault(each.source.file, lines(each.original))
            if each.source.text != each.original:
                found.setdefault(INPUT, lines(each.original))
        return found


def read(kind: str, text: str, options: OptionTable) -> Given:
    """One program, through the preprocessor if the options say so; `kind` is what its probe descriptions end with, or
    `file`, where `text` is its path. Raises ProgramError."""
    if kind != "file":
        given = Given(text, command_line_source(text, _spec_kind(kind)), text)
    else:
        content = _content(text)
        given = Given(text, ProgramSource(content, text, pspec=options.on("pspec")), content)
    if not options.on("cpp"):
        return given

    try:
        processed = preprocess.preprocess(given.source.text, options)
    except preprocess.PreprocessorError as error:
        raise ProgramError(f"{given.failure}: {error.text}", error.hint) from None
    return given._replace(source=given.source._replace(text=processed))


def _spec_kind(kind: str) -> str:
    return "name" if kind == "identifier" else kind


def _content(path: str) -> str:
    try:
        return text_of(read_named(path, LARGEST_PROGRAM))
    except OSError as error:
        raise ProgramError(f"failed to open {path}: {error.strerror}") from None


def macros(operands: Sequence[str], process: int, options: OptionTable) -> Macros:
    """The macro variables; `$0` is added for each program."""
    return Macros(
        os.getpid(), os.getppid(), os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getpgid(0), os.getsid(0),
        process, ("", *operands), options.on("defaultargs"),
    )  # fmt: skip


def check_options(options: OptionTable, process: int | None = 0) -> CheckOptions:
    """What the checker is to know of the options and of $target; pragmas go back into the table."""

    def set_by_pragma(name: str, text: str | None) -> object:
        try:
            options.set_in_program(name, text)
            check_attributes(name, text)
        except OptionError as error:
            error.names = similar(name)
            error.hint = value_wanted(name, text or "")[0] if str(error) == BAD_VALUE else ""
            raise
        return options.value(name)

    return CheckOptions(
        zero_probes=options.on("zdefs"),
        empty=options.on("empty"),
        unused_arguments=options.on("argref"),
        strsize=options.number("strsize"),
        scratchsize=options.number("scratchsize"),
        maxframes=options.number("maxframes"),
        most_keys=options.number("tregs"),
        amin=options.text("amin") or None,
        branches=version_of(options) >= NEWEST_VERSION,
        process=process,
        parse_option=set_by_pragma,
    )


def checker_of(options: OptionTable, registry: Catalog, process: int | None, explained: bool = True) -> Checker:
    """A checker with the options' libraries."""
    checker = Checker(registry, check_options(options, process)._replace(explained=explained))
    if options.is_set("libdir"):
        found = libraries.libraries(options)
        checker.use_libraries(lambda: found)
    else:
        checker.use_libraries(lambda: libraries.libraries(options))
    return checker


def _own(given: Given, variables: Macros, program_name: str) -> Macros:
    """The macro variables with a program's own name."""
    own_name = given.name if given.is_script else program_name
    return variables._replace(arguments=(own_name, *variables.arguments[1:]))


def _trial(
    given: Sequence[Given], wrong: Given, options: OptionTable, registry: Catalog, variables: Macros, name: str
) -> Trial | None:
    """Compiles the programs up to the wrong one with another text for it, and gives the first mistake. None where
    the text is not what was compiled, so that nothing can be tried on it."""
    if wrong.source.text != wrong.original:
        return None
    before = given[: given.index(wrong)]

    def trial(text: str, explained: bool) -> DError | None:
        # What a text sets by pragma is forgotten with it.
        checker = checker_of(options.copy(), registry, variables.target, explained)
        try:
            for each in before:
                checker.add_text(each.source, _own(each, variables, name))
            checker.add_text(wrong.source._replace(text=text), _own(wrong, variables, name))
        except SourceError as error:
            return in_d(error)
        except RecursionError:
            return DError("D_SYNTAX", "nested too deeply")
        return None

    return trial


def _read_libraries(checker: Checker, options: OptionTable, failure: str) -> None:
    """Take what the libraries of -L declare, used or not. Raises ProgramError with the first mistake in them."""
    try:
        checker.read_libraries(options.texts("libdir"))
    except SourceError as error:
        raise mistakes.library_error(in_d(error), failure, options.on("errtags")) from None


def compile_programs(
    given: Sequence[Given], options: OptionTable, registry: Catalog, variables: Macros, program_name: str
) -> CheckedPrograms:
    """Check them in their order. Raises ProgramError with the first mistake."""
    checker = checker_of(options, registry, variables.target)
    clauses: list[tuple[Clause, ...]] = []
    seen = 0
    for each in given:
        if options.is_set("libdir"):
            _read_libraries(checker, options, each.failure)
        try:
            checker.add_text(each.source, _own(each, variables, program_name))
        except SourceError as error:
            trial = _trial(given, each, options, registry, variables, program_name)
            tagged = options.on("errtags")

            raise mistakes.compile_error(
                in_d(error), each.failure, each.original, each.is_script, tagged, trial
            ) from None
        except RecursionError:
            raise ProgramError(f"{each.failure}: expressions are nested too deeply") from None
        now = checker.clauses
        clauses.append(now[seen:])
        seen = len(now)
    compiled = tuple(each._replace(variables=_own(each, variables, program_name)) for each in given)
    return CheckedPrograms(checker.program(), compiled, tuple(clauses), checker)
