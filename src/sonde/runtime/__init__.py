"""BPF in Python: the machine, its verifier, maps, helpers and programs, with which an engine traces."""
