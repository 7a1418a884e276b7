"""The syntax tree to a checked program: names, types, probes."""
