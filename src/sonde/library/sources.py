"""What is to be compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.frontends.languages import LANGUAGES
from sonde.frontends.python import captured
from sonde.frontends.python.programs import lines
from sonde.library.errors import Error
from sonde.library.given import arguments_of, path_of, program_of
from sonde.library.settings import OptionValue, option_texts
from sonde.typed import NamedTuple, Protocol, TypeAlias

_USUAL: dict[str, tuple[tuple[str, str | None], ...]] = {
    "bpftrace": (("quiet", "yes"), ("strsize", "1024"), ("maxloop", "8388607"))
}
"""Options that a language has other values of than D, by its name."""


class ProbeSource(Protocol):
    """A function in Python that is a part of a program."""

    def together(self, functions: Sequence[ProbeSource]) -> str:
        """The text of the program that functions make, of which this is one."""


Programs: TypeAlias = "str | ProbeSource | Sequence[str | ProbeSource]"
"""A program, several texts that are one, or functions in Python that are."""


class Source(NamedTuple):
    """What was compiled: programs of a language, each a kind (`text`, `file`, `spec` ...; `languages.ProgramText`) and
    a text or path, options as on the command line behind -x, the macro arguments $1 ..., and the BTF of another
    kernel, if it is for that."""

    language: str
    programs: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str | None], ...]
    arguments: tuple[str, ...]
    target: str | None

    @property
    def spec_path(self) -> str:
        """The spec file that was read in place of a source, "" if there is a source."""
        kind, text = self.programs[0]
        return text if kind == "spec" else ""


def source_of(
    programs: Sequence[tuple[str, str]], language: str, options: Mapping[str, OptionValue] | None,
    arguments: Sequence[object], target: str | None,
) -> Source:  # fmt: skip
    """What is to be compiled. Raises Error."""
    if language not in LANGUAGES:
        raise Error(f"there is no language {language!r}", f"sonde has {', '.join(LANGUAGES)}")
    given = (*_USUAL.get(language, ()), *option_texts(options))
    return Source(language, tuple(programs), given, arguments_of(arguments), target and path_of(target))


def given_source(
    programs: Programs, language: str, options: Mapping[str, OptionValue] | None, arguments: Sequence[object],
    target: str | None,
) -> Source:  # fmt: skip
    """The same of what a caller gives. Raises Error, and TypeError."""
    found = [*programs] if isinstance(programs, Sequence) and not isinstance(programs, str | bytes) else [programs]
    functions = [each for each in found if hasattr(each, "together")]
    if not functions:
        return source_of([("text", program_of(each)) for each in found], language, options, arguments, target)
    if len(functions) < len(found):
        raise TypeError("probe functions are not run together with texts: give each a run of its own")
    if arguments:
        raise TypeError("probe functions take no arguments: they use the constants that are around them")
    text = functions[0].together(functions)
    return source_of([("text", text)], _OF_FUNCTIONS, options, (), target)


_OF_FUNCTIONS = "python"


def lines_of(source: Source) -> Mapping[str | None, Sequence[str]]:
    """The lines of what was given as a text, by the files that programs name in their places."""
    texts = [text for kind, text in source.programs if kind == "text"]
    if source.language != _OF_FUNCTIONS:
        return {None: texts[0].split("\n") if texts else []}

    return lines.CapturedLines(each for text in texts for each in captured.program_of(text).functions).by_file()


def shown_source(source: Source) -> str:
    """What was given, in few words: the text, or the names of functions."""
    if source.language != _OF_FUNCTIONS:
        return "; ".join(text for _, text in source.programs)

    programs = [captured.program_of(text) for _, text in source.programs]
    return ", ".join(each.functions[number].name for each in programs for number in each.clauses)
