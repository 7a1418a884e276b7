"""The `vminfo` provider: page faults, pages that are read and written, and how memory is found again.

Page faults are those of the processor (`arch/`: page_faults). Pages that are read and written are those of
transfers to block devices, which the kernel counts at the same place for pgpgin and pgpgout of /proc/vmstat
(submit_bio(), block/blk-core.c).
"""

from __future__ import annotations

from sonde.arch import page_faults
from sonde.providers.derived.counters import grows
from sonde.providers.derived.definition import Absent, Definition, Definitions

_USER, _KERNEL = page_faults.USER, page_faults.KERNEL
_OF_PROCESS, _DENIED = page_faults.OF_PROCESS, page_faults.DENIED

_READS = "(args->bio->bi_opf & 0xff) == REQ_OP_READ"
_WRITES = "(args->bio->bi_opf & 0xff) == REQ_OP_WRITE"
_OF_FILE = "io_file[args->bio] != NULL"
_PAGES = "(args->bio->bi_iter.bi_size + 4095) >> 12"

_ZEROED = "(args->gfp_flags & 0x10a) == 0x10a"
"""__GFP_HIGHMEM, __GFP_MOVABLE and __GFP_ZERO: asked for with vma_alloc_zeroed_movable_folio() alone
(include/linux/highmem.h, gfp_types.h)."""

_RECLAIMED = "mm_vmscan_lru_shrink_inactive"
_ANONYMOUS, _FILES = "!args->file", "args->file"
_SOME = "args->nr_reclaimed != 0"


def _faults(*conditions: str) -> tuple[Definition, ...]:
    condition = " && ".join(conditions)
    return (grows(_USER, condition, "1", grows(_KERNEL, condition)),)


def _transfers(*conditions: str, by: str) -> tuple[Definition, ...]:
    return (grows("block_bio_queue", " && ".join(conditions), by),)


def _freed(*conditions: str) -> tuple[Definition, ...]:
    return (grows(_RECLAIMED, " && ".join(conditions), "args->nr_reclaimed"),)


DEFINITIONS: Definitions = {
    "anonfree": _freed(_SOME, _ANONYMOUS),
    "as_fault": _faults(_OF_PROCESS),
    "dfree": _freed(_SOME),
    "fsfree": _freed(_SOME, _FILES),
    "fspgin": _transfers(_READS, _OF_FILE, by=_PAGES),
    "fspgout": _transfers(_WRITES, _OF_FILE, by=_PAGES),
    "kernel_asflt": (grows(_KERNEL, "(long)args->address < 0"),),
    "maj_fault": (grows("perf:major-faults-1"),),
    "pgin": _transfers(_READS, by="1"),
    "pgout": _transfers(_WRITES, by="1"),
    "pgpgin": _transfers(_READS, by=_PAGES),
    "pgpgout": _transfers(_WRITES, by=_PAGES),
    "pgrrun": (grows("mm_vmscan_kswapd_wake"),),
    "prot_fault": _faults(_OF_PROCESS, _DENIED),
    "scan": (grows(_RECLAIMED, "", "args->nr_scanned"),),
    "zfod": (grows("mm_page_alloc", f"args->page != NULL && {_ZEROED}", "(uint64_t)1 << args->order"),),
}

_COUNTED = "Linux counts pages that are swapped in /proc/vmstat, pswpin and pswpout, and has no tracepoint for them"
_NO_SWAP = "Linux swaps pages, never whole processes"
_NO_LIST = "Linux frees pages at once: there is no list from which a page could be taken back"
_NO_EXEC = "Linux does not tell pages of programs from those of other files: fspgin, fspgout and fsfree have both"

ABSENT: Absent = {
    "anonpgin": _COUNTED,
    "anonpgout": _COUNTED,
    "cow_fault": "Linux has no tracepoint where it copies a page; prot_fault has the faults that lead to it",
    "exec*": _NO_EXEC,
    "hat_fault": "Linux has no layer of address translation with faults of its own: as_fault",
    "pgfrec": _NO_LIST,
    "pgrec": _NO_LIST,
    "pgswap*": _COUNTED,
    "rev": "Linux's lists of pages have no hand that goes round: pgrrun and scan",
    "softlock": "Linux does not fault pages in to lock them for a transfer",
    "swap*": _NO_SWAP,
}
