"""Worker: damages an object over and over and lists its variables; prints each case that does not end well.

hostile_objects.py OBJECT DIRECTORY SEED COUNT. A case ends well with a list or one message, within 5 seconds, in 500
MiB of memory (which the test that starts this one has set as a limit).
"""

import contextlib
import io
import os
import random
import resource
import signal
import sys

from sonde.cli.messages import FatalError
from sonde.cli.vars import show_variables
from sonde.symbols.elf import ElfFile

SECONDS = 5
PLACES = ("loop", "twice", "main", "program.c@38", "program.c@25", "largest", "total", "program.cc@17")


class Hang(BaseException):
    """Not an Exception, so that nothing takes it for damage."""


def interesting(data):
    """Where damage is likely to matter: the sections with debug information, frames, and the tables of ELF."""
    elf = ElfFile(data)
    wanted = [each for each in elf.sections if each.name.startswith((".debug_", ".eh_frame")) and each.kind != 8]
    debug = [(each.offset, each.size) for each in wanted if each.size]
    return [(0, 64), (len(data) - 64 * 40, 64 * 40), *debug * 3]


def mutated(data, areas, chance):
    kind = chance.random()
    if kind < 0.04:
        return data[: chance.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        start, size = chance.choice(areas)
        at = start + chance.randrange(size)
        if at >= len(changed):
            continue
        if chance.random() < 0.5:
            changed[at] ^= 1 << chance.randrange(8)
        else:
            width = chance.choice((1, 2, 4, 8))
            changed[at : at + width] = chance.choice((b"\xff", b"\0", b"\x7f", b"\x80")) * width
    return bytes(changed)


def hang(*_):
    raise Hang


def outcome(path, place):
    """ "" if all is well, else what happened."""
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            show_variables(["--struct", path, place] if len(place) % 2 else [path, place])
    except FatalError as error:
        return "a message of more than one line" if "\n" in error.text.strip() else ""
    except Hang:
        return f"more than {SECONDS} s"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return ""


def main():
    path, directory, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    limit = 500 << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGALRM, hang)
    with open(path, "rb") as file:
        data = file.read()
    areas, chance = interesting(data), random.Random(seed)
    target = os.path.join(directory, "mutated")
    for number in range(count):
        # A file of its own each time: the one before may still be mapped.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(target)
        with open(target, "wb") as file:
            file.write(mutated(data, areas, chance))
        result = outcome(target, chance.choice(PLACES))
        if result:
            print(f"mutation {number} of seed {seed}: {result}", flush=True)
    print("done", count)


if __name__ == "__main__":
    sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), line_buffering=True)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
    main()
