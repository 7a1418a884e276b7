"""The constants of lquantize and llquantize: their ranges, and that all uses of one aggregation agree.

Messages count the constants from 1, without the value before them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.d.errors import DError
from sonde.model.errors import Position

_INT32 = 1 << 31
_INT16 = 1 << 16


def _agree(
    function: str,
    names: Sequence[tuple[str, str]],
    current: Sequence[int],
    previous: Sequence[int],
    position: Position,
) -> None:
    """`names` are the words for each constant in messages and tags."""
    for number, ((word, tag), found, expected) in enumerate(zip(names, current, previous, strict=True), 1):
        if found != expected:
            told = f"{word} (argument #{number}) doesn't match previous declaration"
            tag = f"D_{function.partition('ize')[0].upper()}_MATCH{tag}"
            raise DError(tag, f"{function} {told}: expected {expected}, found {found}", position)


def lquantize_parameters(
    constants: Sequence[int | None], previous: tuple[int, ...] | None, position: Position
) -> tuple[int, ...]:
    """Base, limit and step; `constants` are the values of all arguments, None for what is no constant."""

    def fail(tag: str, text: str) -> DError:
        return DError(f"D_LQUANT_{tag}", f"lquantize( ) {text}", position)

    base, limit = constants[1], constants[2]
    step = constants[3] if len(constants) > 3 else 1
    if base is None:
        raise fail("BASETYPE", "argument #1 must be an integer constant")
    if not -_INT32 <= base < _INT32:
        raise fail("BASEVAL", "argument #1 must be a 32-bit quantity")
    if limit is None:
        raise fail("LIMTYPE", "argument #2 must be an integer constant")
    if not -_INT32 <= limit < _INT32:
        raise fail("LIMVAL", "argument #2 must be a 32-bit quantity")
    if limit <= base:
        raise fail("MISMATCH", "base (argument #1) must be less than limit (argument #2)")
    if step is None or step <= 0:
        raise fail("STEPTYPE", "argument #3 must be a non-zero positive integer constant")
    if step >= _INT16:
        raise fail("STEPVAL", "argument #3 must be a 16-bit quantity")
    levels = (limit - base) // step
    if levels == 0:
        raise fail("STEPLARGE", "step (argument #3) too large: must have at least one quantization level")
    if levels >= _INT16:
        text = "step (argument #3) too small: number of quantization levels must be a 16-bit quantity"
        raise fail("STEPSMALL", text)
    found = (base, limit, step)
    names = (("base", "BASE"), ("limit", "LIM"), ("step", "STEP"))
    _agree("lquantize( )", names, _reached(found), _reached(previous or found), position)
    return found


def _reached(parameters: tuple[int, ...]) -> tuple[int, int, int]:
    """The parameters with the limit that whole steps reach."""
    base, limit, step = parameters
    return base, base + (limit - base) // step * step, step


def llquantize_parameters(
    constants: Sequence[int | None], previous: tuple[int, ...] | None, position: Position
) -> tuple[int, ...]:
    """Factor, lowest and highest magnitude and steps a magnitude."""
    factor = _half_word(constants, 1, "FACTOR", position, 2)
    low = _half_word(constants, 2, "LMAG", position)
    high = _half_word(constants, 3, "HMAG", position)
    if high < low:
        text = "argument #3 (high magnitude) must be at least argument #2 (low magnitude)"
        raise DError("D_LLQUANT_HMAGVAL", f"llquantize( ) {text}", position)
    if factor ** (high + 1) >= 1 << 64:
        text = "argument #3 (high magnitude) will cause overflow of 64 bits"
        raise DError("D_LLQUANT_HMAGVAL", f"llquantize( ) {text}", position)
    steps = constants[4]
    if steps is None or steps <= 0:
        text = "llquantize( ) argument #4 must be a non-zero positive integer constant"
        raise DError("D_LLQUANT_STEPTYPE", text, position)
    _half_word(constants, 4, "STEP", position)
    if wrong := _indivisible(factor, low, steps):
        raise DError("D_LLQUANT_STEPVAL", f"llquantize() argument #4 (steps) must {wrong}", position)
    found = (factor, low, high, steps)
    names = (("factor", "FACTOR"), ("lmag", "LMAG"), ("hmag", "HMAG"), ("steps", "STEPS"))
    _agree("llquantize()", names, found, previous or found, position)
    return found


def _half_word(constants: Sequence[int | None], number: int, tag: str, position: Position, least: int = 0) -> int:
    """One of the constants, of 16 bits and not below `least`."""
    value = constants[number]
    if value is None:
        text = f"llquantize( ) argument #{number} must be an integer constant"
        raise DError(f"D_LLQUANT_{tag}TYPE", text, position)
    if not least <= value < _INT16:
        bound = f" greater than or equal to {least}" if least else ""
        text = f"llquantize( ) argument #{number} must be an unsigned 16-bit quantity{bound}"
        raise DError(f"D_LLQUANT_{tag}VAL", text, position)
    return value


def _indivisible(factor: int, low: int, steps: int) -> str:
    """Why the buckets of the magnitudes would not all be of whole width, "" if they are."""
    if steps < factor and factor % steps:
        return "evenly divide argument #1 (factor) when steps<factor"
    if steps > factor and steps % factor:
        return "be a multiple of argument #1 (factor) when steps>factor"
    if steps > factor and not low and factor * factor % steps:
        return "evenly divide the square of argument #1 (factor) when steps>factor and lmag==0"
    if steps > factor and low and factor ** (low + 1) % steps:
        return "evenly divide pow(argument #1 (factor), lmag (argument #2) + 1) when steps>factor and lmag>0"
    return ""
