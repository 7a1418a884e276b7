"""Run inside gdb: at each point, when it is first reached, what can be named and gdb's values, a JSON line each.

gdb -batch -nx -ex "python points = [...]" -x gdb_points.py PROGRAM; points are link-time addresses.
"""

import json

import gdb  # type: ignore[import-not-found]

MOST = 4
"""Elements of an array that are looked at."""


def leaves(value, kind, path, start=0):
    """The integers, pointers and enumerations in a value: the path that C and D have to each, the bits it has, gdb's
    number, and how many bits from the variable's start on it is (None behind a reference)."""
    kind = kind.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        if number(value, kind) is not None:
            yield from leaves(value.referenced_value(), kind.target(), path, None)
    elif kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        for field in kind.fields():
            if hasattr(field, "bitpos") and not field.artificial:
                named = path if field.is_base_class or not field.name else f"{path}.{field.name}"
                where = None if start is None else start + field.bitpos
                if field.bitsize:
                    yield named, field.bitsize, number(value[field], field.type.strip_typedefs()), where
                else:
                    yield from leaves(value[field], field.type, named, where)
    elif kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        for index in range(low, min(high, low + MOST - 1) + 1):
            where = None if start is None else start + 8 * index * kind.target().sizeof
            yield from leaves(value[index], kind.target(), f"{path}[{index}]", where)
    else:
        yield path, kind.sizeof * 8, number(value, kind), start


def number(value, kind):
    """None for what is not there, or no number."""
    try:
        shown = value.format_string()
        if value.is_optimized_out or "optimized out" in shown or "synthetic pointer" in shown:
            return None
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            return int(value.referenced_value().address)
        return None if kind.code == gdb.TYPE_CODE_FLT else int(value)
    except (gdb.error, ValueError, OverflowError):
        return None


def variables(frame):
    """What a name means in the innermost function, or inlined copy, that has one: a symbol, None if a block has several
    of the name."""
    found, block = {}, frame.block()
    while block is not None:
        here = {}
        for symbol in block:
            if symbol.is_variable or symbol.is_argument:
                here[symbol.name] = None if symbol.name in here else symbol
        found = {**here, **found}
        if block.function is not None:
            return block.function.name, found
        block = block.superblock
    return "", found


def show(address):
    frame = gdb.selected_frame()
    try:
        function, found = variables(frame)
    except RuntimeError:
        return
    result = []
    for name, symbol in found.items():
        try:
            if symbol is None:
                value = frame.read_var(name)
            else:
                value = symbol.value(frame) if symbol.needs_frame else symbol.value()
            result += list(leaves(value, value.type, name))
        except (gdb.error, gdb.MemoryError, ValueError):
            continue
    shown = [(path, bits, None if found is None else found & (1 << bits) - 1, at) for path, bits, found, at in result]
    stack = int(frame.read_register("rsp")) & (1 << 64) - 1
    print("=" + json.dumps({"address": address, "function": function, "values": shown, "stack": stack}))


def base():
    """What is added to link-time addresses where the program is loaded."""
    for row in gdb.execute("info proc mappings", to_string=True).splitlines():
        words = row.split()
        if words and words[-1] == gdb.current_progspace().filename:
            return int(words[0], 16) - int(words[3], 16)
    return 0


def main():
    gdb.execute("set startup-with-shell off")
    gdb.execute("unset environment LINES")
    gdb.execute("unset environment COLUMNS")
    gdb.execute("starti", to_string=True)
    bias = base()
    breakpoints = {point + bias: gdb.Breakpoint(f"*{point + bias:#x}") for point in points}  # noqa: F821
    gdb.execute("continue", to_string=True)
    while gdb.selected_inferior().pid:
        pc = int(gdb.selected_frame().pc())
        if pc in breakpoints:
            # Some values end gdb 13 with an internal error.
            print(f"@{pc - bias}", flush=True)
            show(pc - bias)
            breakpoints.pop(pc).delete()
        gdb.execute("continue", to_string=True)


main()
print("=done")
