"""Worker: gives hostile files to all readers; prints each case that does not end well, and what the worst ones took.

hostile_run.py DIRECTORY SEED COUNT [CASE | --every N]. The directory has the files that make sense (`hostile_samples`).
With a count of 0 every case of the table is run once, else so many are drawn; with the number of a case only that one
is. A case ends well within 5 seconds of CPU time and 512 MiB of memory, with a result or an error that the reader's
documentation names.
"""

import ctypes
import functools
import gc
import io
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

from support.files import hostile_files as hostile
from support.files.hostile_readers import EXPECTED, NAMES, OF_ELF, Readers

SECONDS, MEMORY = 5, 512 << 20
PROCESSES = 4096


class Hang(BaseException):
    """Not an Exception, so that nothing takes it for damage."""


def hang(*_):
    raise Hang


def table(samples):
    """All cases of which none is drawn: a name, the reader, and what makes the file, False if it cannot be made."""
    objects = {name: data for name, data in samples.items() if data[:4] == b"\x7fELF"}
    for reader in NAMES:
        for kind in hostile.KINDS:
            yield f"{kind}", reader, lambda path, kind=kind: hostile.make(kind, path)
        yield "512 GiB of nothing", reader, lambda path: (hostile.write(path, b""), os.truncate(path, hostile.SPARSE))
        for name, data in samples.items():
            yield f"{name}, behind it 512 GiB", reader, lambda path, data=data: (
                hostile.write(path, data), os.truncate(path, hostile.SPARSE))  # fmt: skip
        for number, text in enumerate(hostile.texts()):
            yield f"text {number}", reader, lambda path, text=text: hostile.write(path, text())
    name, data = next(iter(objects.items()))
    for reader in OF_ELF:
        for section in hostile.DIRECT:
            for size in hostile.SIZES:
                yield f"{section} of {size:#x} bytes", reader, lambda path, section=section, size=size: (
                    hostile.with_size(path, data, section, size))  # fmt: skip
            for field in (4, 8, 40, 56):
                for value in (0, 1, 7, 0x800, 0xFFFFFFFF):
                    change = functools.partial(hostile.with_field, data=data, name=section, field=field, value=value)
                    yield f"{section}, {value:#x} at {field}", reader, change
        for section in (".note.gnu.build-id", ".note.stapsdt"):
            for sizes in ((4, 0xFFFFFFF0), (0xFFFFFFF0, 4), (0xFFFFFFFF, 0xFFFFFFFF), (4, 1 << 31)):
                yield f"{section}, a note of {sizes}", reader, lambda path, section=section, sizes=sizes: (
                    hostile.with_note(path, data, section, sizes))  # fmt: skip
        for number, (section, content, flags) in enumerate(hostile.bombs()):
            other = with_flags(data, section, flags)
            change = functools.partial(hostile.with_content, data=other, name=section, content=content)
            yield f"{section}, content {number}", reader, change


def with_flags(data, section, flags):
    at = hostile.header_of(data, section)
    if at is None:
        return data
    return data[: at + 8] + flags.to_bytes(8, "little") + data[at + 16 :]


def truncated(data, chance):
    """At the end of a structure, or near it."""
    places = [end for start, size in hostile.areas(data) for end in (start, start + size)]
    return data[: max(chance.choice(places) + chance.choice((-8, -1, 0, 0, 1, 4)), 0)]


def drawn(samples, chance):
    """A case by chance: its name, the reader, what makes the file, and what is around the reading."""
    name, data = chance.choice(list(samples.items()))
    reader = chance.choice(OF_ELF if data[:4] == b"\x7fELF" and chance.random() < 0.8 else NAMES)
    kind = chance.choice(("mutated", "mutated", "mutated", "truncated", "growing", "shrinking", "swapped"))
    if kind == "swapped":
        other = chance.choice(hostile.KINDS)
        return f"{name}, swapped for {other}", reader, lambda path: hostile.write(path, data), (
            lambda path: hostile.swapped(other, path))  # fmt: skip
    if kind in ("growing", "shrinking"):
        return f"{name}, {kind}", reader, lambda path: hostile.write(path, data), (
            lambda path: hostile.changing(path, kind == "growing"))  # fmt: skip
    if kind == "truncated":
        return f"{name}, truncated", reader, lambda path: hostile.write(path, truncated(data, chance)), None
    return f"{name}, mutated", reader, lambda path: hostile.mutated(path, data, chance), None


def peak():
    """The most memory since the last time, in bytes."""
    text = Path("/proc/self/status").read_text()
    found = next(int(line.split()[1]) << 10 for line in text.split("\n") if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return found


def outcome(readers, reader, path, around):
    """ "" if all is well, else what happened."""
    # Time of the CPU, as others may want it too; and enough of any other to tell who waits for ever.
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(12 * SECONDS)
    try:
        if around is None:
            getattr(readers, reader)(path)
        else:
            with around(path):
                getattr(readers, reader)(path)
    except EXPECTED:
        return ""
    except Hang:
        return f"more than {SECONDS} s, in {innermost()}"
    except BaseException:
        return traceback.format_exc(limit=-6)
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def innermost():
    frames = traceback.extract_tb(sys.exc_info()[2])
    return " < ".join(f"{Path(each.filename).stem}.{each.name}" for each in reversed(frames[-5:]))


class Run:
    """The cases of one run, and what the worst of them took."""

    def __init__(self, directory, readers):
        self._path = os.path.join(directory, "hostile")
        self._readers = readers
        self.cases = self.faults = 0
        self.slowest = self.largest = (0, "")

    def case(self, number, name, reader, make, around=None):
        hostile.clear(self._path)
        if make(self._path) is False:
            return
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        peak()
        began = time.process_time()
        found = outcome(self._readers, reader, self._path, around)
        took, memory = time.process_time() - began, peak()
        self.cases += 1
        what = f"{number}: {reader}: {name}"
        if memory > MEMORY and not found:
            found = f"{memory >> 20} MiB"
        if found:
            self.faults += 1
            print(f"case {what}: {found}", flush=True)
        self.slowest, self.largest = max(self.slowest, (took, what)), max(self.largest, (memory, what))


def chosen(arguments):
    """What tells whether the case of a number and a name is to be run."""
    if arguments[:1] == ["--every"]:
        every = int(arguments[1])
        return lambda number, name: name in hostile.KINDS or not number % every
    if arguments:
        return lambda number, name: number == int(arguments[0])
    return lambda number, name: True


def main():
    directory, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    wanted = chosen(sys.argv[4:])
    facts = json.loads(Path(directory, "facts.json").read_text())
    samples = {each.name: each.read_bytes() for each in sorted(Path(directory, "samples").iterdir())}
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + (256 << 20), MEMORY + (256 << 20)))
    os.environ["XDG_CACHE_HOME"] = directory
    signal.signal(signal.SIGALRM, hang)
    signal.signal(signal.SIGPROF, hang)
    chance = random.Random(seed)
    run = Run(directory, Readers(facts["good"], facts["function"], facts["address"]))
    cases = (drawn(samples, random.Random(chance.random())) for _ in range(count)) if count else table(samples)
    for number, case in enumerate(cases):
        if wanted(number, case[0]):
            run.case(number, *case)
    found = {"cases": run.cases, "faults": run.faults, "slowest": run.slowest}
    print(json.dumps({**found, "largest": (run.largest[0] >> 20, run.largest[1])}))


if __name__ == "__main__":
    # What the commands say goes nowhere.
    sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), line_buffering=True)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    main()
