"""What recordings of `--record-reads` keep besides what a script asks for, as D has it: the documented arguments of
probes that follow from others; of the thread its command line, its working directory and its root.

Each value is an expression that is evaluated for the memory that it reads, in a clause of its own behind those of the
script (`Clause.keeps`).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.frontends.d.check.derived import aside
from sonde.frontends.d.check.operands import TRANSLATED_POINTER, Operand, TranslatorValue, value_of
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.frontends.d.parser import parse_expression
from sonde.model.errors import Position, SourceError
from sonde.model.kinds import is_string
from sonde.model.probe import Internal, Packet, Probe
from sonde.model.program import Evaluate, Expr, Statement
from sonde.model.types import Array, Pointer, Struct, Type, resolve, size_of

_OF_THREADS = ("curpsinfo->pr_psargs", "cwd", "root")
"""What is long to find out, and often asked for. All members of `curpsinfo` and `curlwpsinfo` would be several times as
long as all else in a record."""

_DEPTH = 2
"""Structures within structures that are gone through."""

_LARGEST = 256
"""Bytes of a structure of the kernel's own that is kept: siginfo_t is half as long."""

_MOST_BYTES = 64
"""Bytes of it that are, and of an array: there is nothing behind in what the kernel has of siginfo_t."""

_MOST = 160
"""Values of one probe."""


def kept(scope: Scope, probes: tuple[Probe, ...], position: Position) -> tuple[Statement, ...]:
    """The values of the probes being checked for (`scope.enabling`), those that are known."""
    found: dict[str, Statement] = {}
    for text, value in _values(scope, probes):
        if len(found) < _MOST:
            found[text] = Evaluate(position, value)
    return tuple(found.values())


def _values(scope: Scope, probes: tuple[Probe, ...]) -> Iterator[tuple[str, Expr]]:
    enabling = scope.enabling
    derivation = enabling.derivation if enabling is not None else None
    numbers = range(len(derivation.values)) if derivation is not None else range(0)
    texts = [f"arg{number}" for number in numbers] + [f"args[{number}]" for number in numbers]
    if not all(isinstance(each.firing, (Internal, Packet)) for each in probes):
        texts += _OF_THREADS
    for text in texts:
        yield from _within(text, scope, 0)


def _within(text: str, scope: Scope, depth: int) -> Iterator[tuple[str, Expr]]:
    """A value, or those of its members."""
    try:
        operand = _operand(text, scope)
        names, operator = _members(operand)
        if not names and not isinstance(operand, TranslatorValue):
            kind = resolve(operand.type)
            if isinstance(kind, Array) and not is_string(kind):
                yield from _words(text, size_of(kind), scope)
            elif isinstance(kind, Pointer) and _is_kept_whole(kind.to):
                yield from _words(text, size_of(kind.to), scope)
            elif not isinstance(kind, Struct):
                yield text, value_of(operand)
    except (DError, SourceError):
        # The probe has no such argument, or Linux nothing that the member would tell.
        return
    if depth < _DEPTH:
        for name in names:
            yield from _within(f"{text}{operator}{name}", scope, depth + 1)


def _operand(text: str, scope: Scope) -> Operand:
    """An expression that the program did not write. Raises DError, SourceError."""
    with aside(scope, scope.enabling):
        return scope.evaluate(parse_expression(text, is_type_name=scope.is_type_name), scope)


def _members(operand: Operand) -> tuple[tuple[str, ...], str]:
    """The members of the structure that it is, or leads to, which are kept, and what stands before their names."""
    if isinstance(operand, TranslatorValue):
        return tuple(operand.translator.members), "->" if operand.type is TRANSLATED_POINTER else "."
    kind = resolve(operand.type)
    base = resolve(kind.to) if isinstance(kind, Pointer) else kind
    if not isinstance(base, Struct) or not base.complete or isinstance(kind, Pointer):
        return (), ""
    return tuple(each.name for each in base.members if each.name), "."


def _is_kept_whole(kind: Type) -> bool:
    """Whether what a pointer leads to is a structure of the kernel's own that is short."""
    base = resolve(kind)
    return isinstance(base, Struct) and base.complete and base.size <= _LARGEST


def _words(text: str, size: int, scope: Scope) -> Iterator[tuple[str, Expr]]:
    """An array, or what a pointer leads to, word by word. Raises DError."""
    step = next(each for each in (8, 4, 2, 1) if size % each == 0)
    for at in range(0, min(size, _MOST_BYTES), step):
        word = f"*(uint{8 * step}_t *)((char *){text} + {at})"
        yield word, value_of(_operand(word, scope))
