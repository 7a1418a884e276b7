"""The test cases of PREVAIL (https://github.com/vbpf/ebpf-verifier, test-data/*.yaml), read without a YAML library.

Their YAML is plain: documents of keys at the left margin, lists in brackets or with dashes, blocks of code as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_KEY = re.compile(r"^([a-z-]+):(.*)$")
_LABEL = re.compile(r"^\s+(<\w+>):\s*(\|?)(.*)$")


class Case(NamedTuple):
    """A case: the state it begins with, as constraints, labelled blocks of pseudo C, and what must be complained of."""

    file: str
    name: str
    pre: tuple[str, ...]
    code: tuple[tuple[str, tuple[str, ...]], ...]
    messages: tuple[str, ...]
    options: tuple[str, ...]


def read_cases(directory: Path) -> Iterator[Case]:
    for path in sorted(directory.glob("*.yaml")):
        for document in re.split(r"(?m)^---.*$", path.read_text()):
            sections = _sections(document)
            if "test-case" in sections:
                yield Case(
                    path.name, " ".join(" ".join(sections["test-case"]).split()), _items(sections.get("pre", [])),
                    _blocks(sections.get("code", [])), _items(sections.get("messages", [])),
                    _items(sections.get("options", [])),
                )  # fmt: skip


def _sections(document: str) -> dict[str, list[str]]:
    """The lines of each key, what stands behind the colon first."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in document.splitlines():
        key = _KEY.match(line)
        if key:
            lines = found[key[1]] = [key[2]]
        elif not line.startswith("#"):
            lines.append(line)
    return found


def _items(lines: list[str]) -> tuple[str, ...]:
    """The elements of a list of either style."""
    text = "\n".join(lines).strip()
    if text.startswith("["):
        return tuple(a or b.strip() for a, b in re.findall(r'"([^"]*)"|([^\s,"\]\[][^,"\]]*)', text[1:]))
    return tuple(item.strip().strip("\"'") for item in re.findall(r"(?m)^\s*- (.*)$", text))


def _blocks(lines: list[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        label = _LABEL.match(line)
        if label:
            blocks.append((label[1][1:-1], [label[3]] if label[3].strip() else []))
        elif line.strip() and blocks:
            blocks[-1][1].append(line.strip())
    return tuple((label, tuple(code)) for label, code in blocks)
