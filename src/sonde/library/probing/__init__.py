"""Probes written in Python: what functions are made of, and how they are run."""
