"""What stands in a process's stack in the place of callers that could not be found: a word that is no address."""

from __future__ import annotations

from sonde.model.python_frames import FRAME, PLACE_BITS, REASON_BITS, PythonFrame, parts_of, remark

STACK_ENDS, NO_OBJECT, NO_RULE, NO_CODE, NO_POINTER, TOO_MANY, WIDTH = range(32, 39)
"""The reasons, beside those that functions of Python are missing for."""

_MOST = (1 << PLACE_BITS - REASON_BITS) - 1

_REASONS = {
    STACK_ENDS: "the stack could not be read",
    NO_OBJECT: "the file of this code is not here, or has another build id",
    NO_RULE: "the unwinding table of this code cannot be followed",
    NO_CODE: "the return address is not in code",
    NO_POINTER: "this code has no unwinding table and keeps no frame pointer",
    TOO_MANY: "the stack has too many frames",
    WIDTH: "the process has 32 bits",
}


def remark_word(reason: int, size: int = 0) -> int:
    """The word; `size` is how many bytes of the stack are kept."""
    return FRAME | min(size, _MOST) << REASON_BITS | reason


def remark_of(word: int) -> PythonFrame | None:
    """What a word of a stack says, None unless it is a remark."""
    number, place = parts_of(word)
    if word < FRAME or number:
        return None
    reason, size = place & (1 << REASON_BITS) - 1, place >> REASON_BITS
    text = _REASONS.get(reason)
    if text is None:
        return remark(place)
    if reason == STACK_ENDS and size:
        text = f"{size} bytes of the stack are kept"
    return PythonFrame(f"[callers are missing: {text}]")
