"""Files for --replay with lies in their frames: what says how long, how many, where, when and of which kind things are.

`changed` takes a file apart as far as its format goes, tells a few lies, and puts it together again, so that readers
come to the lie and are not stopped before it by a checksum or a length.
"""

import struct

from support.files.hostile_capture_frames import PCAPNG, pcap_changed, pcapng_changed
from support.files.hostile_parts import ANY, flipped, spliced
from support.files.hostile_perf_frames import perf_changed
from support.files.hostile_recording_frames import RECORDING, recording_changed

PERF = b"PERFILE2"


def changed(draw, data, other):
    """`data` with a few lies; `other` is one that parts may come from."""
    if data[:8] == PERF:
        own = perf_changed
    elif data[:8] == RECORDING:
        own = recording_changed
    else:
        own = pcapng_changed if data[:4] == PCAPNG else pcap_changed
    kind = draw.random()
    if kind < 0.05:
        return spliced(draw, data, other)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        try:
            data = own(draw, data) if draw.random() < 0.8 else draw.choice(ANY)(draw, data)
        except (struct.error, IndexError, ValueError):
            # It was torn already.
            data = flipped(draw, data)
    return data
