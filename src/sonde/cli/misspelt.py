"""Options that are not known: which one is spelled nearly so, and the command line with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from shlex import join

_SHORT = {
    "pid": "-p", "command": "-c", "cmd": "-c", "run": "-c", "script": "-s", "file": "-s", "program": "-n",
    "execute": "-n", "name": "-n", "expression": "-n", "list": "-l", "output": "-o", "quiet": "-q", "silent": "-q",
    "verbose": "-v", "destructive": "-w", "unsafe": "-w", "define": "-D", "include": "-I", "option": "-x",
    "buffer": "-b", "buffer-size": "-b", "provider": "-P", "module": "-m", "function": "-f", "check": "-e",
    "compile": "-e", "dry": "--dry-run", "usage": "--help", "flamegraph": "--flame", "flame-graph": "--flame",
    "json": "--raw", "record": "--raw", "disassemble": "--disasm", "save-spec": "--save", "heat": "--heatmap",
}  # fmt: skip
"""Long words for options of one letter, as other commands have them, and other words for ours."""


def hint(wrong: str, known: Iterable[str], words: Sequence[str], program: str) -> str:
    """What to write for the word `wrong` of a command line, "" where nothing is like it."""
    # A mistake may take its time.

    name, equals, value = wrong.partition("=")
    right = _right(name, tuple(known))
    if not right:
        return ""
    written = [right, value] if equals and len(right) == 2 else [right + equals + value]
    place = words.index(wrong) if wrong in words else -1
    line = [*words[:place], *written, *words[place + 1 :]] if place >= 0 else written
    return f"help: did you mean {right}?\n{join([program, *line])}"


def _right(name: str, known: tuple[str, ...]) -> str:
    plain = name.lstrip("-")
    if f"--{plain}" in known:
        return f"--{plain}"
    if plain in _SHORT:
        return _SHORT[plain]
    near = get_close_matches(f"--{plain}", known, 1)
    if near:
        return near[0]
    near = get_close_matches(plain, _SHORT, 1, cutoff=0.75) if len(plain) > 2 else []
    return _SHORT[near[0]] if near else ""
