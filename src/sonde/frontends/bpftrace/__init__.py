"""The front end of bpftrace's language: text to a checked program, and output as bpftrace has it."""
