"""The command line as a value: dtrace(1)'s options, parsed as getopt(3) does, with operands anywhere between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.cli.messages import UsageError, ValueOfOptionError, given_twice
from sonde.library import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.library.export.wanted import ExportRequest

_SPECIFIERS = {"n": "name", "P": "provider", "m": "module", "f": "function", "i": "identifier", "s": "file"}
_SETTINGS = {
    "b": "bufsize", "D": "define", "I": "incdir", "L": "libdir", "U": "undef", "X": "stdc",
    "C": "cpp", "F": "flowindent", "H": "cpphdrs", "q": "quiet", "w": "destructive", "Z": "zdefs",
}  # fmt: skip
"""Options that are short for -x ones."""

_FLAGS = {
    "B": "buffered", "e": "compile_only", "l": "list", "S": "intermediate", "v": "verbose", "V": "version",
    "G": "object", "h": "header", "A": "anonymous", "a": "claim",
}  # fmt: skip
_NONE: Mapping[str, str] = {}
_WITH_VALUE = frozenset("36bcDfiIkLmnopPsUxX")
_VALUES = {"k": "btf", "o": "output"}
_FORMATS = ("arrow", "json", "parquet", "text")
"""What -f takes for a format of the output; functions of these names are `:arrow`, `:json` and so on."""

_LONG = {
    "--act": "act", "--btf": "btf", "--disasm": "disassemble", "--dry-run": "dry_run", "--dump": "dump",
    "--engine": "engine", "--flame-diff": "flame_diff", "--help": "help", "--object": "bpf_object",
    "--anonymise": "anonymise", "--packets": "packets", "--raw": "raw", "--record-reads": "recordreads",
    "--record-stacks": "recordstacks",
    "--replay": "replay",
    "--save": "save", "--spec": "spec", "--version": "version_of_sonde",
}  # fmt: skip
_LONG_WITH_VALUE = frozenset((
    "--anonymise", "--btf", "--engine", "--flame-diff", "--object", "--packets", "--raw", "--record-stacks",
    "--replay", "--save", "--spec",
))  # fmt: skip

_LONG_SETTINGS = frozenset(("--anonymise", "--engine", "--packets", "--record-reads", "--record-stacks", "--replay"))
"""Long options that are settings of -x."""

_PICTURES = frozenset(("--flame", "--folded", "--heatmap", "--pprof", "--speedscope"))
_CHOICES = frozenset(("--attach", "--device", "--map", "--program", "--record"))
"""What is chosen of an object. Each of these and of the pictures may be given several times."""

LONG_OPTIONS = (*_LONG, *sorted(_PICTURES | _CHOICES))

_MODES = ("object", "header", "list", "version", "anonymous")


class GivenProgram(NamedTuple):
    """A program of the command line; `kind` is what its probe descriptions end with, or `file`."""

    kind: str
    text: str


class Setting(NamedTuple):
    """One option set; `given` is how it was written, for messages (`-b`, `-x bufsize`)."""

    given: str
    name: str
    value: str | None


class Arguments(NamedTuple):
    """A parsed command line. `flags` are the options without a value that are no settings, by name."""

    programs: tuple[GivenProgram, ...] = ()
    settings: tuple[Setting, ...] = ()
    operands: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    pids: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    output: str | None = None
    raw: str | None = None
    recording: str | None = None
    """The file of `sonde record`."""
    export: ExportRequest | None = None
    """What `sonde export` is to do."""
    btf: str | None = None
    save: str | None = None
    spec: str | None = None
    bpf_object: str | None = None
    data_model: str = "64"
    flame_diff: str | None = None
    pictures: tuple[tuple[str, str], ...] = ()
    """Options such as `flame`, and their values."""
    choices: tuple[tuple[str, str], ...] = ()
    """Likewise `map`, `program` and `attach`, of an object."""
    last_counts: bool = False
    """Of two values of an option the later one counts, as in dtrace(1), and is no mistake."""

    def chosen(self, name: str) -> list[str]:
        """The values of one of the options `choices`, in their order."""
        return [value for option, value in self.choices if option == name]

    def with_recording(self) -> Arguments:
        """Without an object --record names the file of a recording."""
        settings = (
            *self.settings,
            *(Setting("--record", name, value) for name, value in self.choices if name == "record"),
        )
        return self._replace(settings=settings, choices=tuple(each for each in self.choices if each[0] != "record"))

    def process_numbers(self) -> tuple[int, ...]:
        """The processes of -p. Raises ValueOfOptionError."""
        return tuple(map(_process_number, self.pids))

    @property
    def is_empty(self) -> bool:
        """Nothing was asked for."""
        given = self.programs or self.flags or self.commands or self.pids or self.settings
        return not (given or self.spec or self.bpf_object)


class _Collected:
    """The options read up to a word of the command line; `last_counts` as in Arguments."""

    def __init__(self, flags: Mapping[str, str], last_counts: bool) -> None:
        self._flags = flags
        self._last_counts = last_counts
        self.programs: list[GivenProgram] = []
        self.settings: list[Setting] = []
        self.operands: list[str] = []
        self.commands: list[str] = []
        self.pids: list[str] = []
        self.flags: set[str] = set()
        self.values: dict[str, str] = {}
        self.pictures: list[tuple[str, str]] = []
        self.choices: list[tuple[str, str]] = []

    def option(self, letter: str, value: str | None) -> None:
        """Take one option; those of `_WITH_VALUE` have a value."""
        if letter in self._flags:
            self.flags.add(self._flags[letter])
        elif letter == "x":
            name, equals, text = (value or "").partition("=")
            self.settings.append(Setting(f"-x {name}", name, text if equals else None))
        elif letter in _SETTINGS:
            self.settings.append(Setting(f"-{letter}", _SETTINGS[letter], value))
        elif letter == "f" and value in _FORMATS:
            self.settings.append(Setting(f"-f {value}", "format", value))
        elif letter in _SPECIFIERS:
            self.programs.append(GivenProgram(_SPECIFIERS[letter], value or ""))
        else:
            self._other(letter, value or "")

    def _other(self, letter: str, value: str) -> None:
        if letter == "c":
            self.commands.append(value)
        elif letter == "p":
            self.pids.append(value)
        elif letter in _VALUES:
            self.keep(f"-{letter}", _VALUES[letter], value)
        elif letter + value in ("32", "64"):
            self.keep("the data model", "data_model", letter + value)
        else:
            raise UsageError(f"illegal option -- {letter}")

    def keep(self, option: str, name: str, value: str) -> None:
        """The value of an option that has one. Raises FatalError for another one."""
        if self._last_counts:
            self.values[name] = value
        elif self.values.setdefault(name, value) != value:
            raise given_twice(option, self.values[name], value)

    def finished(self) -> Arguments:
        return Arguments(
            tuple(self.programs), tuple(self.settings), tuple(self.operands), tuple(self.commands), tuple(self.pids),
            frozenset(self.flags), pictures=tuple(self.pictures), choices=tuple(self.choices), export=None,
            last_counts=self._last_counts, **self.values,
        )  # fmt: skip


def parse(words: Sequence[str], more: Mapping[str, str] = _NONE, last_counts: bool = False) -> Arguments:
    """Read the words after the program's name. Raises UsageError, and FatalError for two values of an option, unless
    the last one counts.

    `more` are options without a value that a command has besides the usual ones: letters, and names for `flags`.
    """
    collected = _Collected({**_FLAGS, **more}, last_counts)
    remaining = list(reversed(words))
    while remaining:
        word = remaining.pop()
        if word == "--":
            collected.operands += reversed(remaining)
            break
        if word.startswith("--"):
            _long(word, remaining, collected)
        elif word.startswith("-") and len(word) > 1:
            _bundle(word, remaining, collected)
        else:
            collected.operands.append(word)
    arguments = collected.finished()
    if len(arguments.flags.intersection(_MODES)) > 1:
        raise UsageError("only one of the [-GhlV] options can be specified at a time")
    return arguments


def _long(word: str, remaining: list[str], collected: _Collected) -> None:
    name, equals, value = word.partition("=")
    is_repeated = name in _PICTURES or name in _CHOICES
    has_value = name in _LONG_WITH_VALUE or is_repeated
    if (name not in _LONG and not is_repeated) or (equals and not has_value):
        raise UsageError(f"illegal option -- {word[2:]}", word)
    if not has_value and name in _LONG_SETTINGS:
        collected.settings.append(Setting(name, _LONG[name], None))
    elif not has_value:
        collected.flags.add(_LONG[name])
    elif equals or remaining:
        text = value if equals else remaining.pop()
        if name in _LONG_SETTINGS:
            collected.settings.append(Setting(name, _LONG[name], text))
        elif name in _PICTURES:
            collected.pictures.append((name[2:], text))
        elif name in _CHOICES:
            collected.choices.append((name[2:], text))
        else:
            collected.keep(name, _LONG[name], text)
    else:
        raise UsageError(f"option requires an argument -- {word[2:]}", option=word)


def _bundle(word: str, remaining: list[str], collected: _Collected) -> None:
    """Letters behind one dash; the first that takes a value takes the rest of the word or else the next one."""
    try:
        _letters(word, remaining, collected)
    except UsageError as error:
        # A word such as -help is a long option with a dash missing, and its letters say nothing.
        is_long = len(word) > len("-pq") or not error.option
        raise UsageError(error.text, word if is_long else "", error.option) from None


def _letters(word: str, remaining: list[str], collected: _Collected) -> None:
    for index, letter in enumerate(word[1:], 2):
        if letter in _WITH_VALUE:
            if index == len(word) and not remaining:
                raise UsageError(f"option requires an argument -- {letter}", option=f"-{letter}")
            collected.option(letter, word[index:] or remaining.pop())
            return
        collected.option(letter, None)


def _process_number(text: str) -> int:
    """What a value of -p says. Raises ValueOfOptionError."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueOfOptionError(f"invalid pid: {text}", _of_name(text))
    return int(text)


def _of_name(text: str) -> str:
    """What -p takes, and how a program that runs is found by its name."""
    if not text or text.lstrip("-").isdigit():
        return "-p takes the number of a process that runs"
    # A mistake may take its time.
    from shlex import quote  # mistakes alone need it

    name = text.rpartition("/")[2]
    return f'-p takes a number: -p $(pgrep -n {quote(name)}), or all of that name:\n/execname == "{name}"/'
