"""Flags of allocations of memory, gfp_t, by their names (include/linux/gfp_types.h)."""

from __future__ import annotations

_BITS = (
    "GFP_DMA", "__GFP_HIGHMEM", "GFP_DMA32", "", "", "__GFP_HIGH", "__GFP_IO", "__GFP_FS", "__GFP_ZERO", "",
    "__GFP_DIRECT_RECLAIM", "__GFP_KSWAPD_RECLAIM", "__GFP_WRITE", "__GFP_NOWARN", "__GFP_RETRY_MAYFAIL",
    "__GFP_NOFAIL", "__GFP_NORETRY", "__GFP_MEMALLOC", "__GFP_COMP", "__GFP_NOMEMALLOC", "__GFP_HARDWALL",
    "__GFP_THISNODE", "__GFP_ACCOUNT", "__GFP_ZEROTAGS", "__GFP_SKIP_ZERO", "__GFP_SKIP_KASAN", "__GFP_NO_OBJ_EXT",
)  # fmt: skip
"""By their bits, from the lowest; "" of those that have no name of their own here."""

_BIT = {name: 1 << number for number, name in enumerate(_BITS) if name}
_MOVABLE = 1 << 3
_NOIO = _BIT["__GFP_DIRECT_RECLAIM"] | _BIT["__GFP_KSWAPD_RECLAIM"]
_NOFS = _NOIO | _BIT["__GFP_IO"]
_KERNEL = _NOFS | _BIT["__GFP_FS"]
_USER = _KERNEL | _BIT["__GFP_HARDWALL"]
_HIGHUSER = _USER | _BIT["__GFP_HIGHMEM"]
_HIGHUSER_MOVABLE = _HIGHUSER | _MOVABLE | _BIT["__GFP_SKIP_KASAN"]
_TRANSHUGE_LIGHT = (
    _HIGHUSER_MOVABLE | _BIT["__GFP_COMP"] | _BIT["__GFP_NOMEMALLOC"] | _BIT["__GFP_NOWARN"]
) & ~_NOIO  # fmt: skip

_WHOLE = (
    ("GFP_TRANSHUGE", _TRANSHUGE_LIGHT | _BIT["__GFP_DIRECT_RECLAIM"]),
    ("GFP_TRANSHUGE_LIGHT", _TRANSHUGE_LIGHT),
    ("GFP_HIGHUSER_MOVABLE", _HIGHUSER_MOVABLE),
    ("GFP_HIGHUSER", _HIGHUSER),
    ("GFP_USER", _USER),
    ("GFP_KERNEL_ACCOUNT", _KERNEL | _BIT["__GFP_ACCOUNT"]),
    ("GFP_KERNEL", _KERNEL),
    ("GFP_NOFS", _NOFS),
    ("GFP_ATOMIC", _BIT["__GFP_HIGH"] | _BIT["__GFP_KSWAPD_RECLAIM"]),
    ("GFP_NOIO", _NOIO),
    ("GFP_NOWAIT", _BIT["__GFP_KSWAPD_RECLAIM"] | _BIT["__GFP_NOWARN"]),
    *_BIT.items(),
)
"""What has a name, the largest sets first: the kernel shows them so (include/trace/events/mmflags.h)."""


def flags_text(flags: int) -> str:
    """The names, and what has none as a number."""
    found = []
    for name, bits in _WHOLE:
        if flags & bits == bits:
            found.append(name)
            flags &= ~bits
    if flags or not found:
        found.append(f"0x{flags:x}" if flags else "0")
    return "|".join(found)
