"""The command line of `bt`, with bpftrace's options."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.messages import FatalError, UsageError, given_twice
from sonde.library import NamedTuple, single_line

_FLAGS = {
    "-q": "quiet", "--quiet": "quiet", "-v": "verbose", "--verbose": "verbose", "-k": "errors", "--warnings": "errors",
    "-h": "help", "--help": "help", "-V": "version", "--version": "version", "--unsafe": "unsafe",
    "--no-warnings": "no_warnings", "--dry-run": "dry_run", "-l": "list", "--list": "list", "--info": "info",
    "--test": "test", "--bench": "bench", "--fmt": "fmt", "--usdt-file-activation": "activation",
}  # fmt: skip
_VALUES = (
    "-e", "-c", "-p", "-f", "-o", "-B", "-d", "-I", "--include", "--probe-filter", "--aot", "--mode", "--engine",
    "--no-feature", "--debuginfo", "--traceable-functions", "--dwarf-pid",
)  # fmt: skip
_SYNONYMS = {"--pid": "-p", "--output": "-o", "--cmd": "-c", "--debug": "-d"}
_OFTEN = ("-I", "--include", "-d", "--debuginfo")
"""Options that may be given several times."""

_CHOICES = {
    "-f": ("text", "json"), "-B": ("line", "full", "none"), "--mode": ("test", "bench", "format"),
}  # fmt: skip
_MODES = ("test", "bench", "fmt")
_LARGEST_PID = 1 << 22

SEPARATOR = "--"
TEST, BENCH = "test", "bench"


class BtArguments(NamedTuple):
    """A parsed command line; `words` are the file, if no -e gives the program, and what the program is given. Those
    behind `--` stand behind that here, too. `several` are the values of options that may be given often,
    `given` all as it was."""

    flags: frozenset[str]
    values: dict[str, str]
    words: tuple[str, ...]
    several: dict[str, tuple[str, ...]]
    given: tuple[str, ...]

    @property
    def program(self) -> tuple[str, str] | None:
        """Kind and text of the program, None without one."""
        if "-e" in self.values:
            return "text", self.values["-e"]
        given = [word for word in self.words if word != SEPARATOR]
        return ("file", given[0]) if given else None

    @property
    def operands(self) -> tuple[str, ...]:
        """What the program is given, with `--`."""
        if "-e" in self.values or not self.words:
            return self.words
        place = next((at for at, word in enumerate(self.words) if word != SEPARATOR), 0)
        return (*self.words[:place], *self.words[place + 1 :])

    @property
    def mode(self) -> str:
        """`test` or `bench` where these probes are to be run, "" where the program traces."""
        return next((each for each in (TEST, BENCH) if each in self.flags or self.values.get("--mode") == each), "")

    def pids(self) -> tuple[int, ...]:
        """Of -p. Raises FatalError."""
        text = self.values.get("-p")
        if text is None:
            return ()
        if not text.isascii() or not text[:1].isdigit():
            raise FatalError(f"Failed to parse pid: invalid integer: {text}")
        try:
            pid = int(text, 16 if text[:2].lower() == "0x" else 10)
        except ValueError:
            raise FatalError(f"Failed to parse pid: invalid trailing bytes: {text}") from None
        if not 0 < pid <= _LARGEST_PID:
            raise FatalError(f"Pid out of range: {text}")
        return (pid,)


class _Parser:
    def __init__(self, words: Sequence[str]) -> None:
        self.given = tuple(words)
        self.remaining = list(reversed(words))
        self.flags: set[str] = set()
        self.values: dict[str, str] = {}
        self.several: dict[str, tuple[str, ...]] = {}
        self.words: list[str] = []

    def parse(self) -> BtArguments:
        while self.remaining:
            word = self.remaining.pop()
            if word == SEPARATOR:
                self.words += (SEPARATOR, *reversed(self.remaining))
                break
            if word.startswith("--"):
                self._long(word)
            elif word.startswith("-") and len(word) > 1 and not word[1:].isdigit():
                self._letters(word)
            else:
                self.words.append(word)
        return BtArguments(frozenset(self.flags), self.values, tuple(self.words), self.several, self.given)

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if not equals and name in _FLAGS:
            self.flags.add(_FLAGS[name])
        elif _SYNONYMS.get(name, name) in _VALUES:
            self._take(_SYNONYMS.get(name, name), value if equals else None)
        else:
            raise UsageError(f"unrecognized option '{word}'")

    def _letters(self, word: str) -> None:
        """One or more flags, of which the last may be an option with its value."""
        for at, letter in enumerate(word[1:], 2):
            option = f"-{letter}"
            if option in _VALUES:
                self._take(option, word[at:] or None)
                return
            if option not in _FLAGS:
                raise UsageError(f"invalid option -- '{letter}'")
            self.flags.add(_FLAGS[option])

    def _take(self, option: str, value: str | None) -> None:
        if value is None:
            if not self.remaining:
                raise UsageError(f"option requires an argument -- '{option.lstrip('-')}'")
            value = self.remaining.pop()
        if value not in _CHOICES.get(option, (value,)):
            if option == "-f":
                valid = ", ".join(f"'{each}'" for each in _CHOICES[option])
                raise FatalError(
                    f'Invalid output format "{single_line(value)}"\nValid formats: {valid}', has_lines=True
                )
            raise FatalError(f"USAGE: {option} must be one of {', '.join(_CHOICES[option])}, not '{value}'")
        if option in _OFTEN:
            self.values[option] = value
            self.several[option] = (*self.several.get(option, ()), value)
        elif self.values.setdefault(option, value) != value:
            raise given_twice(option, self.values[option], value)


def parse(words: Sequence[str]) -> BtArguments:
    """Options may stand anywhere before `--`. Raises UsageError, and FatalError for options that do not go together."""
    found = _Parser(words).parse()
    if "-c" in found.values and "-p" in found.values:
        raise UsageError("USAGE: Cannot use both -c and -p.")
    if {"errors", "no_warnings"} <= found.flags:
        raise FatalError("USAGE: -k conflicts with --no-warnings")
    if len([each for each in _MODES if each in found.flags]) + ("--mode" in found.values) > 1:
        raise FatalError("USAGE: --test, --bench, --fmt and --mode exclude each other")
    return found
