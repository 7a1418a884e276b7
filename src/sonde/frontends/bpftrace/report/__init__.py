"""What a program has recorded, as bpftrace shows it."""
