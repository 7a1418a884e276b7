"""Python's own functions in the memory of processes that CPython runs in."""
