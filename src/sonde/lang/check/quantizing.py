"""The constants of lquantize and llquantize: their ranges, and that all uses of one aggregation agree."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.lang.errors import DError, Position

_INT32 = 1 << 31
_INT16 = 1 << 16


def _agree(
    function: str,
    names: Sequence[tuple[str, str]],
    current: tuple[int, ...],
    previous: tuple[int, ...] | None,
    position: Position,
) -> None:
    """`names` are the words for each constant in messages and tags."""
    for number, ((word, tag), now, before) in enumerate(zip(names, current, previous or current, strict=True), 2):
        if now != before:
            what = f"{function}( ) {word} (argument #{number})"
            text = f"{what} doesn't match previous declaration: expected {before}, got {now}"
            raise DError(f"D_{function.upper()[:-3]}_MATCH{tag}", text, position)


def lquantize_parameters(
    constants: Sequence[int | None], previous: tuple[int, ...] | None, position: Position
) -> tuple[int, ...]:
    """Base, limit and step; `constants` are the values of all arguments, None for what is no constant."""

    def fail(tag: str, text: str) -> DError:
        return DError(f"D_LQUANT_{tag}", f"lquantize( ) {text}", position)

    base, limit = constants[1], constants[2]
    step = constants[3] if len(constants) > 3 else 1
    if base is None:
        raise fail("BASETYPE", "argument #2 must be an integer constant")
    if not -_INT32 <= base < _INT32:
        raise fail("BASEVAL", "argument #2 must be a 32-bit quantity")
    if limit is None:
        raise fail("LIMTYPE", "argument #3 must be an integer constant")
    if not -_INT32 <= limit < _INT32:
        raise fail("LIMVAL", "argument #3 must be a 32-bit quantity")
    if limit < base:
        raise fail("MISMATCH", "base (argument #2) must be less than limit (argument #3)")
    if step is None or step <= 0:
        raise fail("STEPTYPE", "argument #4 must be a non-zero positive integer constant")
    if step >= _INT16:
        raise fail("STEPVAL", "argument #4 must be a 16-bit quantity")
    levels = (limit - base) // step
    if levels == 0:
        raise fail("STEPLARGE", "step (argument #4) too large: must have at least one quantization level")
    if levels >= _INT16:
        text = "step (argument #4) too small: number of quantization levels must be a 16-bit quantity"
        raise fail("STEPSMALL", text)
    found = (base, limit, step)
    _agree("lquantize", (("base", "BASE"), ("limit", "LIM"), ("step", "STEP")), found, previous, position)
    return found


def llquantize_parameters(
    constants: Sequence[int | None], previous: tuple[int, ...] | None, position: Position
) -> tuple[int, ...]:
    """Factor, lowest and highest magnitude and steps a magnitude."""

    def fail(tag: str, text: str) -> DError:
        return DError(f"D_LLQUANT_{tag}", f"llquantize( ) {text}", position)

    names = (("factor", "FACTOR"), ("low magnitude", "LMAG"), ("high magnitude", "HMAG"), ("steps", "STEP"))
    found: list[int] = []
    for number, ((word, tag), constant) in enumerate(zip(names, constants[1:5], strict=True), 2):
        if constant is None:
            raise fail(f"{tag}TYPE", f"{word} (argument #{number}) must be an integer constant")
        if not 0 <= constant < _INT16:
            raise fail(f"{tag}VAL", f"{word} (argument #{number}) must be an unsigned 16-bit quantity")
        found.append(constant)
    factor, low, high, steps = found
    if factor < 2:
        raise fail("FACTORVAL", "factor (argument #2) must be two or more")
    if high < low:
        raise fail("HMAGVAL", "high magnitude (argument #4) must not be below low magnitude (argument #3)")
    if factor ** (high + 1) >= 1 << 63:
        raise fail("HMAGVAL", "high magnitude (argument #4) makes values of more than 64 bits")
    if not _divides(factor, low, steps):
        raise fail("STEPVAL", "steps (argument #5) must divide each magnitude into buckets of whole width")
    words = (*names[:3], ("steps", "STEPS"))
    _agree("llquantize", words, (factor, low, high, steps), previous, position)
    return factor, low, high, steps


def _divides(factor: int, low: int, steps: int) -> bool:
    """A magnitude from factor**n to factor**(n+1) has `steps` buckets counted from 0, each of whole width.

    Magnitudes smaller than the steps have buckets of width one, so the first that counts is the first not smaller.
    """
    if steps < factor:
        return steps > 0 and factor % steps == 0
    top = factor ** (low + 1)
    while top < steps:
        top *= factor
    return steps % factor == 0 and top % steps == 0
