"""The options that change what is compiled."""

from __future__ import annotations

from sonde.model.known_options import default_number
from sonde.model.units import whole_words
from sonde.typed import NamedTuple

_LEAST_PRINTED = default_number("printsize")
_MOST_PRINTED = 24576
"""What fits a record beside other values: 32 KiB is the most that per-CPU memory holds of one."""


class Settings(NamedTuple):
    """Sizes in bytes, counts of frames; the names and defaults are those of options.

    `packet_bufsize` is the `bufsize` of rings that packets go through. `scope` says whose perf events are counted:
    `processes`, those traced and what they start, `system`, or, where it is empty, what is usual for each provider.
    `callchain`: samples that are let through have one. `times`: every record has the time of its firing; `names`: each
    layout has what the source calls its values. `marks_images`: addresses of processes tell what these have
    executed, beside their numbers. `records`: programs record their firings instead of what they trace
    (`codegen/basis/firing_records.py`); `record_reads`: with stacks, and strings that arguments point to, and with
    `packet_bytes` of each packet at most, and `record_stack` bytes of the process's stack. `has_whole_stacks`: what the
    helper gives of a process's stack is as it is to be shown. `python`: stacks of processes show functions of Python.
    `longest_text` are the bytes of the longest text of a probe (`Program.probe_texts`). `has_whole_literals`: a record
    has the numbers of literals in place of their characters.
    """

    strsize: int = default_number("strsize")
    bufsize: int = default_number("bufsize")
    packet_bufsize: int = default_number("bufsize")
    aggsize: int = default_number("aggsize")
    dynvarsize: int = default_number("dynvarsize")
    stackframes: int = default_number("stackframes")
    ustackframes: int = default_number("ustackframes")
    maxframes: int = default_number("maxframes")
    printsize: int = default_number("printsize")
    scratchsize: int = default_number("scratchsize")
    rings_per_cpu: bool = False
    pcapsize: int = whole_words(default_number("pcapsize"))
    cpu: int | None = None
    nspec: int = default_number("nspec")
    maxloop: int = default_number("maxloop")
    specsize: int = default_number("specsize")
    unwinds_by_tables: bool = True
    has_whole_stacks: bool = False
    python: bool = True
    output: str = "auto"
    scope: str = ""
    xdp: str = ""
    callchain: bool = False
    times: bool = False
    names: bool = False
    marks_images: bool = True
    records: bool = False
    record_reads: bool = False
    record_stack: int = 0
    packet_bytes: int = 0xFFFF
    longest_text: int = 0
    has_whole_literals: bool = False

    @property
    def printed_size(self) -> int:
        """Bytes of an object that print() records, so that setopt() can have more shown than at the beginning."""
        return min(max(self.printsize, _LEAST_PRINTED), _MOST_PRINTED)

    @property
    def scratch_region(self) -> int:
        """Bytes of scratch memory for each clause: whole words."""
        return whole_words(self.scratchsize)

    @property
    def string_capacity(self) -> int:
        """Bytes of the longest string with its NUL, rounded up to whole words."""
        return whole_words(self.strsize + 1)
