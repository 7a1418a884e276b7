"""Compiles the programs that come in, one after another, within bounds of time and memory, and says how each ended.

A process of its own, because what is to be found out is whether it survives.
"""

import gc
import resource
import signal
import struct
import sys
import traceback

from sonde.frontends.d.errors import in_d
from sonde.model.errors import SourceError
from support.d.compiled import spec

SECONDS = 5.0
"""Of CPU time for one program: what takes longer hangs. A neighbour on the same core makes of 1 s some 3."""
MEMORY = 200 << 20
"""Bytes that one program may take."""


class TooSlow(BaseException):
    """The time is over."""


def _over(_signal, _frame):
    raise TooSlow


def outcome(text):
    """ "" where the program compiles or has one error with a text, else what went wrong."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        spec(text)
    except SourceError as error:
        told = in_d(error)
        return "" if told.tag.startswith("D_") and told.text else f"no text: {told.tag}"
    except TooSlow:
        return f"more than {SECONDS} s of CPU:\n{traceback.format_exc()[-1500:]}"
    except BaseException:
        return traceback.format_exc()[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ""


def main():
    signal.signal(signal.SIGVTALRM, _over)
    in_use = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    # The address space is larger than what is in use by what libraries map; that does not grow.
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (max(mapped, in_use) + MEMORY,) * 2)
    while header := sys.stdin.buffer.read(4):
        text = sys.stdin.buffer.read(*struct.unpack("<I", header)).decode("utf-8", "surrogatepass")
        answer = outcome(text).encode(errors="backslashreplace")
        gc.collect()
        sys.stdout.buffer.write(struct.pack("<I", len(answer)) + answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
