"""Functions that are generated as Python, for loops over records: their source consists of fixed fragments and numbers
that count names. Nothing that a program, a file or a record has chosen becomes source: it is a constant, which the
function finds by a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sonde.typed import Any, NamedTuple


class BoundConstant(NamedTuple):
    """A value that the source has a name for."""

    value: Any


class GeneratedExpression(NamedTuple):
    """An expression: `parts` stand between the `fragments`, of which there is one more. Made by the functions here."""

    fragments: tuple[str, ...]
    parts: tuple[GeneratedExpression | BoundConstant, ...] = ()


def code(template: str, *parts: GeneratedExpression | BoundConstant) -> GeneratedExpression:
    """The expression with `parts` in the places of `{}`. `template` is a literal wherever this is called."""
    fragments = tuple(template.split("{}"))
    if len(fragments) != len(parts) + 1:
        raise ValueError(f"{template} has places for {len(fragments) - 1} parts, not for {len(parts)}")
    return GeneratedExpression(fragments, parts)


def constant(value: Any) -> GeneratedExpression:
    """The expression of a value that is known when the function is made."""
    return GeneratedExpression(("", ""), (BoundConstant(value),))


def variable(number: int) -> GeneratedExpression:
    """A local variable of the function."""
    return GeneratedExpression((f"v{number:d}",))


def tuple_of(parts: Iterable[GeneratedExpression]) -> GeneratedExpression:
    """The expression of a tuple, or its variables where it is taken apart."""
    found = tuple(parts)
    return (
        GeneratedExpression(("(", *[", "] * (len(found) - 1), ", )"), found) if found else GeneratedExpression(("()",))
    )


def function(parameters: str, body: GeneratedExpression, names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of `parameters` that gives what `body` comes to. `parameters` is a literal, as templates are;
    `names` is what else the fragments may name."""
    constants: list[Any] = []
    source = source_of(body, constants)
    known = {**names, **{f"k{number}": value for number, value in enumerate(constants)}}
    # compile() would make the classes of all syntax trees first, which takes as long as a hundred such functions.
    made: Callable[..., Any] = eval(f"lambda {parameters}: {source}", known)
    return made


def source_of(part: GeneratedExpression | BoundConstant, constants: list[Any]) -> str:
    """The source of an expression. The value of each constant in it, in their order, is appended to `constants`."""
    if isinstance(part, BoundConstant):
        constants.append(part.value)
        return f"k{len(constants) - 1}"
    pieces = [part.fragments[0]]
    for each, fragment in zip(part.parts, part.fragments[1:], strict=True):
        pieces += (source_of(each, constants), fragment)
    return "".join(pieces)
