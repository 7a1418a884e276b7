"""eBPF functions to Python source, for translator.py: control flow, values, statements."""
