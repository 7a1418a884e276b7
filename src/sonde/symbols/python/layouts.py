"""Where CPython keeps what leads from a thread to the functions that it executes, version by version.

Numbers are offsets in bytes, made from the debug information of each version by `tools/python_layouts.py`. From 3.13 on
the interpreter says most of it itself (`_Py_DebugOffsets`, Include/internal/pycore_debug_offsets.h), and only what that
does not have is taken from here.
"""

from __future__ import annotations

from sonde.model.python_frames import IS_FLAGGED, IS_FRAME_OBJECT, IS_OWNED
from sonde.typed import NamedTuple


class RuntimeLayout(NamedTuple):
    """The u32 of `model/python_frames.RUNTIME`, in their order.

    `kind` is how frames tell of calls of the interpreter, `version` the high half of PY_VERSION_HEX, `remark` what is
    said where functions are not read. `interpreters`, `current` (0: there is none): in _PyRuntime, the first
    interpreter, and the state of the thread that holds the lock. `following`, `threads`: in an interpreter, the next
    one and its first thread. `next`, `thread`, `frame`: in a thread's state, the next one, pthread_self(), and the
    innermost frame, or with `through` a structure that has the frame at `through` - 1. `code`, `previous`, `place`,
    `mark`, `function`: in a frame, the code object, the caller's frame, the instruction, what `kind` looks at, and the
    function, or of frame objects the global variables. `file` (behind which are the names), `line`, `lines`, `start`:
    in a code object. `module`: in a function.
    """

    kind: int
    version: int
    remark: int = 0
    interpreters: int = 0
    current: int = 0
    following: int = 0
    threads: int = 0
    next: int = 0
    thread: int = 0
    frame: int = 0
    through: int = 0
    code: int = 0
    previous: int = 0
    place: int = 0
    mark: int = 0
    function: int = 0
    file: int = 0
    line: int = 0
    lines: int = 0
    start: int = 0
    module: int = 0


LAYOUTS = {
    0x0309: RuntimeLayout(
        IS_FRAME_OBJECT, 0x0309, interpreters=32, current=568, following=0, threads=8, next=8, thread=176, frame=24,
        code=32, previous=24, place=104, function=48, file=104, line=40, lines=120,
    ),
    0x030A: RuntimeLayout(
        IS_FRAME_OBJECT, 0x030A, interpreters=32, current=568, following=0, threads=8, next=8, thread=176, frame=24,
        code=32, previous=24, place=96, function=48, file=104, line=40, lines=120,
    ),
    0x030B: RuntimeLayout(
        IS_FLAGGED, 0x030B, interpreters=40, current=576, following=0, threads=16, next=8, thread=152, frame=56,
        through=9, code=32, previous=48, place=56, mark=68, function=0, file=112, line=72, lines=136, start=184,
        module=104,
    ),
    0x030C: RuntimeLayout(
        IS_OWNED, 0x030C, interpreters=40, following=0, threads=72, next=8, thread=136, frame=56, through=1, code=0,
        previous=8, place=56, mark=70, function=16, file=112, line=68, lines=136, start=192, module=104,
    ),
    0x030D: RuntimeLayout(
        IS_OWNED, 0x030D, interpreters=632, following=7264, threads=7344, next=8, thread=152, frame=72, code=0,
        previous=8, place=56, mark=70, function=16, file=112, line=68, lines=136, start=200, module=104,
    ),
    # Of this version only the function's own members stand here, which it does not tell itself.
    0x030E: RuntimeLayout(IS_OWNED, 0x030E, function=16, module=104),
}  # fmt: skip
"""By version, as the high half of PY_VERSION_HEX."""

TOLD_SINCE = 0x030D
"""From this version on the interpreter says where things are."""
