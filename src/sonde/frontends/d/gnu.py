"""Words of C11 and GNU C that D has none for, as the system's headers use them in declarations.

They come in through the preprocessor. Some are other spellings of D's own words; some say nothing about a type and are
passed over, with the parentheses that follow them. `__attribute__((packed))` alone changes what D sees.
"""

from __future__ import annotations

SPELLINGS = {
    "__complex__": "_Complex", "__const": "const", "__const__": "const", "__inline": "inline", "__inline__": "inline",
    "__restrict": "restrict", "__restrict__": "restrict", "__signed": "signed", "__signed__": "signed",
    "__volatile": "volatile", "__volatile__": "volatile",
    "_Complex": "_Complex", "_Static_assert": "_Static_assert", "__int128": "__int128",
}  # fmt: skip
"""The kind of token that each is read as."""

BARE = frozenset({"__extension__", "_Noreturn"})
"""Passed over alone."""

WITH_PARENTHESES = frozenset({"__asm", "__asm__", "__attribute", "__attribute__", "_Alignas"})
"""Passed over with what is in the parentheses behind them."""

WORDS = frozenset(SPELLINGS) | BARE | WITH_PARENTHESES
PACKED = frozenset({"packed", "__packed__"})
