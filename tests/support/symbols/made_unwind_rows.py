"""The table of an object in one step."""

from sonde.symbols.dwarf.unwind_rows import make_rows


def unwind_rows(file):
    """All rows of an object at once."""
    making = make_rows(file)
    while True:
        try:
            next(making)
        except StopIteration as end:
            return end.value
