"""The commands that documents show, as a reader would type them, with what is shown below each."""

import re
import shlex
from typing import NamedTuple

_PROMPT = re.compile(r"^    [#$] (?=\S)")


class Shown(NamedTuple):
    """`line` of the document, the command without its prompt, and the lines of output below it, without indentation."""

    line: int
    command: str
    output: tuple[str, ...]


def shown_commands(path):
    """All of a document, in order."""
    lines = path.read_text().splitlines()
    found, at = [], 0
    while at < len(lines):
        if not _PROMPT.match(lines[at]):
            at += 1
            continue
        first, command = at, _PROMPT.sub("", lines[at])
        while not _is_whole(command):
            at += 1
            command += "\n" + lines[at].removeprefix("    ")
        at += 1
        output = []
        while at < len(lines) and (lines[at].startswith("    ") or not lines[at]) and not _PROMPT.match(lines[at]):
            output.append(lines[at].removeprefix("    "))
            at += 1
        found.append(Shown(first + 1, command, tuple(output)))
    return found


def _is_whole(command):
    """Whether all its quotes are closed, and it does not go on behind a backslash."""
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command, comments=False)
    except ValueError:
        return False
    return True


def scripts(path):
    """{name: text} of the scripts that a document shows for readers to keep: the indented block of D before the command
    that runs it."""
    text = path.read_text()
    found = {}
    for match in re.finditer(r"sonde ([a-z]+\.d)\b", text):
        block = _block_before(text, match.start())
        if block is not None:
            found.setdefault(match[1], block)
    return found


def _block_before(text, end):
    """The last indented block that ends before the command's own line and looks like D."""
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", text[:end], re.MULTILINE)
    for block in reversed(blocks):
        code = "\n".join(line.removeprefix("    ") for line in block.splitlines() if not _PROMPT.match(line))
        if "{" in code and "}" in code and "#pragma" in code:
            return code
    return None
