"""The eBPF machine: memory, and two executions that check each other."""
