"""Worker: damages a BPF object over and over and prepares it to be loaded; prints each case that does not end well.

hostile_bpf_objects.py OBJECT DIRECTORY SEED COUNT. A case ends well with what could be loaded or with one message,
within 5 seconds, in 500 MiB of memory (which the test that starts this one has set as a limit).
"""

import contextlib
import io
import random
import resource
import signal
import sys
import traceback

from sonde.cli.main import main
from sonde.symbols.elf.file import ElfFile
from support.files.damage import damaged

SECONDS = 5


class Hang(BaseException):
    """Not an Exception, so that nothing takes it for damage."""


def areas(data):
    """Where damage is likely to matter: the tables of ELF, and all sections, those of BTF more often."""
    sections = [each for each in ElfFile(data).sections if each.size and each.kind not in (0, 8)]
    found = [(each.offset, each.size) for each in sections]
    important = (".BTF", ".maps", "config", ".symtab", ".rel")
    again = [(each.offset, each.size) for each in sections if each.name.startswith(important)]
    return [(0, 64), (len(data) - 64 * 12, 64 * 12), *found, *again * 2]


def hang(*_):
    raise Hang


def ended(seconds, try_):
    """What `try_` says, "" if all is well, else what happened."""
    signal.alarm(seconds)
    try:
        return try_()
    except Hang:
        return "hang"
    except MemoryError:
        return "memory"
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.alarm(0)


def prepared(path):
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(["sonde", "--object", path, "-e"])
    return "" if status in (0, 1) else f"status {status}"


def outcome(path):
    return ended(SECONDS, lambda: prepared(path))


def work(path, directory, seed, count, memory, try_):
    """Print the cases of which `try_` has something to say."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    signal.signal(signal.SIGALRM, hang)
    chance = random.Random(seed)
    with open(path, "rb") as file:
        data = file.read()
    places, victim = areas(data), f"{directory}/damaged.o"
    for number in range(count):
        with open(victim, "wb") as file:
            file.write(damaged(data, places, chance))
        if found := try_(victim):
            print(f"case {number}: {found}")
    print(f"done {count}")


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), 500 << 20, outcome)
