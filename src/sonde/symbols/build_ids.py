"""Build ids of what runs: of the kernel and of its modules, from the notes that the kernel shows in /sys."""

from __future__ import annotations

from sonde.symbols.elf.notes import note_of
from sonde.untrusted import read_kernel


def notes_of_kernel(sys: str = "/sys") -> str:
    """Where the running kernel shows its notes."""
    return f"{sys}/kernel/notes"


def notes_of_module(name: str, sys: str = "/sys") -> str:
    """Where it shows those of a loaded module."""
    return f"{sys}/module/{name}/notes/.note.gnu.build-id"


def build_id(notes: str) -> str:
    """The build id that a file of notes has, in hexadecimal digits; "" where it has none or may not be read."""
    try:
        return note_of(read_kernel(notes)).hex()
    except OSError:
        return ""
