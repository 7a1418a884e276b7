"""Worker: damages an object over and over, lists its variables and looks for probes at its lines; prints each case that
does not end well.

hostile_objects.py OBJECT DIRECTORY SEED COUNT [SUFFIX]. With a suffix it is the file beside the object with that at the
end of its name that is damaged: a package of split units, or separate debug information. A case ends well with a list
or one message, within 5 seconds, in 500 MiB of memory.
"""

import contextlib
import io
import os
import random
import resource
import shutil
import signal
import sys

from sonde.cli.vars import show_variables
from sonde.library.errors import Error
from sonde.model.errors import SourceError
from sonde.model.probe import Probe, Uprobe
from sonde.providers.source_lines import addresses, source_line
from sonde.providers.user_variables import UserVariables
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import Loaded
from sonde.symbols.functions import PROGRAM, CodeObject
from support.files.damage import damaged

SECONDS = 5
PLACES = ("loop", "twice", "main", "program.c@38", "program.c@25", "largest", "shop::total", "program.cc@17")
NAMES = ("total", "value", "doubled", "request", "counter", "sum", "item")


class Hang(BaseException):
    """Not an Exception, so that nothing takes it for damage."""


def interesting(data):
    """Where damage is likely to matter: the sections with debug information, frames, and the tables of ELF."""
    elf = ElfFile(data)
    # Of relocatable files what relocates them as well.
    names = (".debug_", ".eh_frame", *((".rela", ".symtab") if elf.kind == 1 else ()))
    wanted = [each for each in elf.sections if each.name.startswith(names) and each.kind != 8]
    debug = [(each.offset, each.size) for each in wanted if each.size]
    return [(0, 64), (len(data) - 64 * 40, 64 * 40), *debug * 3]


def hang(*_):
    raise Hang


def probe_lines(path, place):
    """What a program does that has a probe there and names variables."""
    elf = ElfFile.open(path)
    home = CodeObject(PROGRAM, path, Loaded(elf, 0), (elf,))
    line = source_line(place)
    where = addresses([home], PROGRAM, line) if line else [(home, each.address) for each in home.find(place)]
    for _, address in where:
        probe = Probe(1, "pid1", PROGRAM, place, "", Uprobe(1, path, address, "offset"))
        for name in NAMES:
            for scope in ("locals", "args", "globals"):
                with contextlib.suppress(SourceError):
                    UserVariables().find(probe, home, address, scope, name)


def outcome(path, place, is_probe):
    """ "" if all is well, else what happened."""
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if is_probe:
                probe_lines(path, place)
            else:
                show_variables(["--struct", path, place] if len(place) % 2 else [path, place])
    except (SourceError, ElfError, OSError) as error:
        return "" if is_probe else f"{type(error).__name__}: {error}"
    except Error as error:
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
    suffix = sys.argv[5] if len(sys.argv) > 5 else ""
    limit = 500 << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGALRM, hang)
    with open(path + suffix, "rb") as file:
        data = file.read()
    areas, chance = interesting(data), random.Random(seed)
    program = os.path.join(directory, os.path.basename(path) if suffix else "mutated")
    target = program + suffix
    if suffix:
        shutil.copy(path, program)
    for number in range(count):
        # A file of its own each time: the one before may still be mapped.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(target)
        with open(target, "wb") as file:
            file.write(damaged(data, areas, chance))
        result = outcome(program, chance.choice(PLACES), chance.random() < 0.4)
        if result:
            print(f"mutation {number} of seed {seed}: {result}", flush=True)
    print("done", count)


if __name__ == "__main__":
    sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), line_buffering=True)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
    main()
