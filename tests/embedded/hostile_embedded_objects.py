"""Worker: damages an object over and over and loads it into the embedded engine; prints each case that ends badly.

hostile_embedded_objects.py OBJECT DIRECTORY SEED COUNT. A case ends well with maps and programs that are ready, or with
one message, within 20 seconds, in 700 MiB of memory.
"""

import signal
import sys
import traceback

from hostile_bpf_objects import Hang, work

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


if __name__ == "__main__":
    counts: dict[str, int] = {}
    path, directory, seed, count = sys.argv[1:]
    work(path, directory, int(seed), int(count), 700 << 20, lambda victim: outcome(victim, counts))
    print(f"ready {counts.get('ready', 0)}, refused {counts.get('refused', 0)}", file=sys.stderr)
