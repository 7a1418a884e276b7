"""Programs of bpftrace's language in one layout (--fmt)."""
