"""A checked program laid out for a kernel, with the options that code generation needs."""

from __future__ import annotations

import os

from sonde.codegen.basis import generation
from sonde.codegen.basis.return_places import ReturnPlace
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.model.known_options import default_number
from sonde.model.options import OptionTable
from sonde.model.program import Program
from sonde.model.target import Target
from sonde.model.units import whole_words
from sonde.session.registry import Registry
from sonde.session.replay_inputs import recording_of
from sonde.symbols import return_addresses
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.return_addresses import ReturnAddresses

_PACKETS, _ALL_PACKETS = 16 << 20, 256 << 20
"""Bytes for packets on their way, without option bufsize: for each CPU, and about as much for all of many. Packets
come faster than other records: 400,000 a second with 64 bytes of each fill 4 MiB in 70 ms, which a disk may take."""


_FIRINGS, _SHARE = 64 << 20, 128
"""Bytes for firings on their way into a recording, without option bufsize, and of how much memory that is a part at
most: 250,000 of a system call, which a busy machine may make before sonde gets a CPU."""


def settings_of(options: OptionTable) -> Settings:
    """The options that the code generator needs."""
    return Settings(
        strsize=options.number("strsize"),
        bufsize=options.number("bufsize"),
        packet_bufsize=options.number("bufsize", _packet_ring()),
        aggsize=options.number("aggsize"),
        dynvarsize=options.number("dynvarsize"),
        stackframes=options.number("stackframes"),
        ustackframes=options.number("ustackframes"),
        maxframes=options.number("maxframes"),
        printsize=options.number("printsize"),
        pcapsize=whole_words(options.number("pcapsize")),
        scratchsize=options.number("scratchsize"),
        rings_per_cpu=options.text("rings") == "cpu",
        cpu=options.number("cpu") if options.is_set("cpu") else None,
        maxloop=options.number("maxloop"),
        nspec=options.number("nspec"),
        specsize=options.number("specsize"),
        unwinds_by_tables=options.text("unwind") != "frames",
        python=options.on("python") and not options.on("noresolve"),
        output=options.text("output"),
        scope=options.text("scope"),
        xdp=options.text("xdp"),
        callchain=options.on("callchain"),
    )


def _recording_ring() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(default_number("bufsize"), min(_FIRINGS, memory // _SHARE))


def _packet_ring() -> int:
    return max(default_number("bufsize"), min(_PACKETS, _ALL_PACKETS // (os.cpu_count() or 1)))


def compile_session(
    program: Program, options: OptionTable, target: Target, registry: Registry, sources: dict[str | None, list[str]],
    for_values: bool = False, records: bool = False,
) -> Compilation:  # fmt: skip
    """A checked program, laid out for this target. `for_values`: its records have their times, and their values the
    names that the source gives them. `records`: its programs record their firings, and nothing else."""
    settings = settings_of(options)
    if options.text("record") or recording_of(options):
        # What is recorded of a stack is what a helper has found.

        is_embedded = not records and generation.REPLAYS not in target.features
        settings = settings._replace(
            unwinds_by_tables=False, has_whole_stacks=is_embedded and settings.unwinds_by_tables
        )
    if records:
        most = options.number("pcapsize") if options.is_set("pcapsize") else settings.packet_bytes
        stack = options.number("recordstacks") if options.is_set("recordstacks") else 0
        settings = settings._replace(
            bufsize=options.number("bufsize", _recording_ring()), records=True,
            record_reads=options.on("recordreads"), record_stack=whole_words(stack), output="auto",
            rings_per_cpu=False, packet_bytes=most,
        )  # fmt: skip
        for_values = False
    return Compilation(
        program,
        settings._replace(times=for_values, names=for_values),
        target,
        registry.tagged_type,
        registry.fields,
        sources,
        registry.signature,
        _return_place(registry),
    )


def _return_place(registry: Registry) -> ReturnPlace:
    known: ReturnAddresses | None = None

    def distance(path: str, offset: int) -> int | None:
        nonlocal known
        if known is None:
            known = return_addresses.ReturnAddresses()
        found = registry.file(path)
        return known.distance(found, offset) if found else None

    return distance
