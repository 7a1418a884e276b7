"""Worker: damages an object over and over and loads it into the embedded engine; prints each case that ends badly.

hostile_embedded_objects.py OBJECT DIRECTORY SEED COUNT. A case ends well with maps and programs that are ready, or with
one message, within 20 seconds, in 700 MiB of memory.
"""

import random
import resource
import signal
import sys
import traceback

from damage import damaged
from hostile_bpf_objects import Hang, areas, hang

from sonde.engines.embedded.engine import EmbeddedEngine
from sonde.library.bpf_object import Words, load_words
from sonde.library.errors import Error
from sonde.model.errors import EngineError

SECONDS = 20


def outcome(path, seen):
    """ "" if all is well, else what happened."""
    signal.alarm(SECONDS)
    try:
        loaded = load_words(path, Words(), 1, "embedded")
        EmbeddedEngine().load(loaded.spec).close()
        seen["ready"] = seen.get("ready", 0) + 1
    except (Error, EngineError) as error:
        text = str(error.text)
        seen["refused"] = seen.get("refused", 0) + 1
        return "" if text.strip() else "no message"
    except Hang:
        return "hang"
    except MemoryError:
        return "memory"
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    return ""


def work(path, directory, seed, count):
    resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
    signal.signal(signal.SIGALRM, hang)
    chance = random.Random(seed)
    with open(path, "rb") as file:
        data = file.read()
    places, victim, seen = areas(data), f"{directory}/damaged.o", {}
    for number in range(count):
        with open(victim, "wb") as file:
            file.write(damaged(data, places, chance))
        if found := outcome(victim, seen):
            print(f"case {number}: {found}")
    print(f"ready {seen.get('ready', 0)}, refused {seen.get('refused', 0)}", file=sys.stderr)
    print(f"done {count}")


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
