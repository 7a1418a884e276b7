"""Programs of bpftrace's language: compiled, run, listed, saved and laid out."""
