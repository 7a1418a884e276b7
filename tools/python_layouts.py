"""Print the `RuntimeLayout` of a CPython interpreter by its debug information, as `symbols/python/layouts.py` has it.

    python tools/python_layouts.py FILE...

FILE is a libpython, or a python that is linked with it, with debug information. Needs gdb.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from sonde.model.python_frames import IS_FLAGGED, IS_FRAME_OBJECT, IS_OWNED
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.python.layouts import RuntimeLayout
from sonde.symbols.python.runtimes import version_of

FLAGGED, OWNED, TOLD = 0x030B, 0x030C, 0x030D

COMMON = {
    "interpreters": ("_PyRuntimeState", "interpreters.head"), "following": ("PyInterpreterState", "next"),
    "next": ("PyThreadState", "next"), "thread": ("PyThreadState", "thread_id"),
    "file": ("PyCodeObject", "co_filename"), "line": ("PyCodeObject", "co_firstlineno"),
}  # fmt: skip

OF_FRAME_OBJECTS = {
    "threads": ("PyInterpreterState", "tstate_head"), "frame": ("PyThreadState", "frame"),
    "current": ("_PyRuntimeState", "gilstate.tstate_current"), "code": ("PyFrameObject", "f_code"),
    "previous": ("PyFrameObject", "f_back"), "place": ("PyFrameObject", "f_lasti"),
    "function": ("PyFrameObject", "f_globals"),
}  # fmt: skip

OF_FRAMES = {
    "threads": ("PyInterpreterState", "threads.head"), "previous": ("_PyInterpreterFrame", "previous"),
    "lines": ("PyCodeObject", "co_linetable"), "start": ("PyCodeObject", "co_code_adaptive"),
    "module": ("PyFunctionObject", "func_module"),
}  # fmt: skip

BY_VERSION = {
    0x0309: (IS_FRAME_OBJECT, {**OF_FRAME_OBJECTS, "lines": ("PyCodeObject", "co_lnotab")}),
    0x030A: (IS_FRAME_OBJECT, {**OF_FRAME_OBJECTS, "lines": ("PyCodeObject", "co_linetable")}),
    FLAGGED: (IS_FLAGGED, {
        **OF_FRAMES, "current": ("_PyRuntimeState", "gilstate.tstate_current"), "frame": ("PyThreadState", "cframe"),
        "through": ("_PyCFrame", "current_frame"), "code": ("_PyInterpreterFrame", "f_code"),
        "place": ("_PyInterpreterFrame", "prev_instr"), "mark": ("_PyInterpreterFrame", "is_entry"),
        "function": ("_PyInterpreterFrame", "f_func"),
    }),
    OWNED: (IS_OWNED, {
        **OF_FRAMES, "frame": ("PyThreadState", "cframe"), "through": ("_PyCFrame", "current_frame"),
        "code": ("_PyInterpreterFrame", "f_code"), "place": ("_PyInterpreterFrame", "prev_instr"),
        "mark": ("_PyInterpreterFrame", "owner"), "function": ("_PyInterpreterFrame", "f_funcobj"),
    }),
    TOLD: (IS_OWNED, {
        **OF_FRAMES, "frame": ("PyThreadState", "current_frame"), "code": ("_PyInterpreterFrame", "f_executable"),
        "place": ("_PyInterpreterFrame", "instr_ptr"), "mark": ("_PyInterpreterFrame", "owner"),
        "function": ("_PyInterpreterFrame", "f_funcobj"),
    }),
}  # fmt: skip
"""How frames tell of calls of the interpreter, and the structure and member that each offset is of."""


def layout_by_debug_information(path: str) -> RuntimeLayout | None:
    """None where the file has no debug information of the interpreter, or its version is not known."""
    version = version_of(ElfFile.open(path))
    kind, members = BY_VERSION.get(min(version, TOLD), (0, None))
    if members is None:
        return None
    members = {**COMMON, **members}
    questions = [f'printf "%ld\\n", (long)&(({each} *)0)->{member}' for each, member in members.values()]
    words = [word for each in questions for word in ("-ex", each)]
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", *words, path], capture_output=True, text=True)
    answers = [line for line in done.stdout.split("\n") if line.isdigit()]
    if len(answers) != len(questions):
        return None
    found = dict(zip(members, map(int, answers), strict=True))
    if "through" in found:
        found["through"] += 1
    return RuntimeLayout(kind, version, **found)


def main() -> int:
    for path in sys.argv[1:]:
        print(path, layout_by_debug_information(path) or "has no debug information of an interpreter that is known")
    return 0


if __name__ == "__main__":
    sys.exit(main())
