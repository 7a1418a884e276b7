"""Python's functions in the stacks of processes: what programs write in the place of the interpreter's own frames, and
the maps by which they find out (`codegen/routines/python_frames.py`, `symbols/python/`)."""

from __future__ import annotations

import struct

from sonde.typed import NamedTuple

PYTHON_RUNTIMES, PYTHON_KNOWN, PYTHON_CODES, PYTHON_LINES, PYTHON_STATE, PYTHON_THREADS = (
    "python_runtime", "python_known", "python_code", "python_lines", "python_state", "python_thread"
)  # fmt: skip
"""The first is filled by the session, by number: what `RUNTIME` has of each object with an interpreter in it. The
second has the number of each function that a program has met, by u64 process, u64 address of the code object and u64
sum of what stands there; a number that is SKIPPED is that of code which the interpreter itself makes. The third has
what was in memory when a program met a function (`CODE`), by u32 number, until the session takes it; the fourth what
follows of a long table of lines, in parts of LINES_SIZE bytes, by u32 number * LINES_PARTS and the part. The fifth
counts functions and those for which there was no room, u64 each; the last has the thread state of threads, by u64
process and u64 thread pointer."""

MOST_RUNTIMES, MOST_KNOWN, MOST_CODES, MOST_PARTS, MOST_THREADS = 256, 16384, 1024, 512, 4096

RUNTIME = struct.Struct("<q8Q22I")
"""The distance of _PyRuntime from where the beginning of the file would be mapped; the start and end of up to four
pieces of the function that interprets, in the file; what follows is described in `symbols/python/layouts.py`, whose
`Layout` has these u32 in their order."""

LAYOUT = 72
"""Where in RUNTIME the layout begins."""

IS_FLAGGED, IS_OWNED, IS_FRAME_OBJECT, IS_UNKNOWN = 1, 2, 3, 4
"""How the frames of a version tell that the interpreter was called once more: by a flag in the first frame (3.11), by a
frame of the interpreter's own around (3.12), or at each frame (3.9); the last is a version that is not known."""

FILE, NAME, MODULE, LINES = 64, 64 + 256, 64 + 256 + 160, 64 + 256 + 320
"""Where CODE has the beginnings of four objects as they were in memory: the file's name, the function's, the module's,
and the table of lines."""

FILE_SIZE, NAME_SIZE, LINES_SIZE = 256, 160, 2048
"""How many bytes of them, of the module as of the function."""

LINES_PARTS = 4
"""The parts of a table of lines that programs copy, the first of them with the function."""

CODE = struct.Struct(f"<6QII{8}x{FILE_SIZE}s{NAME_SIZE}s{NAME_SIZE}s{LINES_SIZE}s")
"""Process, code object, and the addresses of the file's name, the function's, the module's and the table of lines;
the first line, the version as the high half of PY_VERSION_HEX; what was there."""

KNOWN_KEY = 24
"""Bytes of a key of PYTHON_KNOWN."""

SKIPPED = 1 << 32

FRAME = 1 << 63
"""The bit of a word in a stack that is no address: behind it stand the number of the function, in NUMBER_BITS, and how
many bytes of its code lie before the instruction, UNKNOWN_PLACE if not known. Number 0 is a remark on the stack: the
place is one of the reasons below, and above REASON_BITS the version."""

PLACE_BITS, REASON_BITS = 24, 8
UNKNOWN_PLACE = (1 << PLACE_BITS) - 1

NO_THREAD, UNREADABLE, NO_ROOM, OTHER_VERSION, FREE_THREADED, RUNNING = range(1, 7)


def is_python(word: int) -> bool:
    return word >= FRAME


def parts_of(word: int) -> tuple[int, int]:
    """The number of the function and the place in its code; of a remark 0, and its reason and version."""
    return (word & FRAME - 1) >> PLACE_BITS, word & UNKNOWN_PLACE


class PythonFrame(NamedTuple):
    """A function of Python's as stacks show it: its module and qualified name, the file of its source and the line that
    it was at. Of a remark there is only the text, in brackets."""

    name: str
    file: str = ""
    line: int = 0


_REMARKS = {
    NO_THREAD: "this thread has no state of Python's",
    UNREADABLE: "its memory cannot be read",
    NO_ROOM: "too many new functions",
    OTHER_VERSION: "a version that is not known",
    RUNNING: "the thread has run on since",
    FREE_THREADED: "builds without the global lock are not known",
}


def remark(place: int) -> PythonFrame:
    """What stands in the place of functions that could not be found out."""
    reason, version = place & ((1 << REASON_BITS) - 1), place >> REASON_BITS
    which = f" {version >> 8}.{version & 255}" if version else ""
    return PythonFrame(f"[functions of Python{which} are missing: {_REMARKS.get(reason, 'not told why')}]")


NOT_KNOWN = PythonFrame("[a function of Python whose name is not known]")
"""Where a stack has the number of a function alone."""
