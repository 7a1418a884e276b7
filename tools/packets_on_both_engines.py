#!/usr/bin/env python3
"""Give the same random packets to both engines, and compare what they capture: lengths, bytes and values of headers.

Usage: packets_on_both_engines.py [--count N] [--seed S] [--xdp native|generic] [--direction ingress|egress]

The kernel engine sees them on a cable between two namespaces, the embedded one in a pcapng file. As root. Without
options 100,000 packets that arrive, at tcx. The status is 1 if any packet differs, or is missing on one side.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [f"{ROOT}/src", f"{ROOT}/tests"]

from support.packets.network import network  # noqa: E402 - of the tests
from support.packets.replayed_packets import compare  # noqa: E402

SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--xdp", choices=("native", "generic"))
    parser.add_argument("--direction", choices=("ingress", "egress"), default="ingress")
    given = parser.parse_args()
    options = [f"-xxdp={given.xdp}"] if given.xdp else []
    with network("pb") as net, tempfile.TemporaryDirectory() as directory:
        seen, fed, different = compare(net, Path(directory), given.count, given.seed, given.direction, *options)
    print(
        f"of {given.count} packets the kernel engine captured {seen}, the embedded one {fed}; {len(different)} differ"
    )
    if different:
        print("different:", *different[:SHOWN])
    return int(bool(different) or not seen)


if __name__ == "__main__":
    sys.exit(main())
