"""eBPF functions to Python source, for runtime/machine/translation/translator.py: control flow, values, statements."""
