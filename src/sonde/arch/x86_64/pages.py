"""Pages of memory: the smallest, which the kernel maps and protects one by one."""

from __future__ import annotations

PAGE_BITS = 12
PAGE = 1 << PAGE_BITS
