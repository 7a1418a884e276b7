"""The embedded engine: eBPF programs run in this process, without privilege."""
