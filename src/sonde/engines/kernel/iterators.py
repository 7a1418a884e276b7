"""Iterators: programs that the kernel runs for each task, file or element of a map when somebody reads (Linux 5.8,
Documentation/bpf/bpf_iterators.rst)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sonde.engines.kernel import commands
from sonde.engines.kernel.failures import explain
from sonde.engines.kernel.programs import LoadedProgram

_CHUNK = 1 << 16


def written(program: LoadedProgram, map_descriptor: int) -> Iterator[bytes]:
    """What the program writes in one run over all there is; `map_descriptor` is the map whose elements it goes through,
    0 for none. Raises EngineError."""
    try:
        link = commands.link_iterator(program.descriptor, map_descriptor)
        try:
            opened = commands.create_iterator(link)
        finally:
            os.close(link)
        try:
            while chunk := os.read(opened, _CHUNK):
                yield chunk
        finally:
            os.close(opened)
    except OSError as error:
        raise explain(error, f"cannot run iterator {program.spec.name}") from None
