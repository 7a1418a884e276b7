"""Worker: damages an object over and over and loads it into the embedded engine; prints each case that ends badly.

hostile_embedded_objects.py OBJECT DIRECTORY SEED COUNT. A case ends well with maps and programs that are ready, or with
one message, within 20 seconds, in 700 MiB of memory.
"""

import sys

from sonde.engines.embedded.engine import EmbeddedEngine
from sonde.library.bpf_object import Words, load_words
from sonde.library.errors import Error
from sonde.model.errors import EngineError
from support.bpf.hostile_bpf_objects import ended, work

SECONDS = 20


def loaded(path, seen):
    try:
        EmbeddedEngine().load(load_words(path, Words(), 1, "embedded").spec).close()
        seen["ready"] = seen.get("ready", 0) + 1
    except (Error, EngineError) as error:
        text = str(error.text)
        seen["refused"] = seen.get("refused", 0) + 1
        return "" if text.strip() else "no message"
    return ""


if __name__ == "__main__":
    counts: dict[str, int] = {}
    path, directory, seed, count = sys.argv[1:]
    work(
        path, directory, int(seed), int(count), 700 << 20, lambda victim: ended(SECONDS, lambda: loaded(victim, counts))
    )
    print(f"ready {counts.get('ready', 0)}, refused {counts.get('refused', 0)}", file=sys.stderr)
