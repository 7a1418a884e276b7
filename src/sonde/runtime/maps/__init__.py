"""BPF maps in the process's own memory: one file a kind, each with the kernel's results (kernel/bpf)."""
