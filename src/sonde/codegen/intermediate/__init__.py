"""The intermediate form, one step above eBPF, and the passes that make eBPF of it."""
