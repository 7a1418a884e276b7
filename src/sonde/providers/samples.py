"""`args[0]` of probes that perf events fire: the sample, whose members the library sample.d has."""

from __future__ import annotations

from sonde.model.catalog import TypedArgument
from sonde.model.types import Pointer, Struct, Typedef

CONTEXT = "__perf_sample"
"""The tag of the structure that the program is given."""

ARGUMENTS = (
    TypedArgument(Pointer(Struct("struct", CONTEXT, 0)), Pointer(Typedef("sampleinfo_t", Struct("struct", "", 0))), 0),
)
"""Both types are known by name alone: what they are the library says."""
