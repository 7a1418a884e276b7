"""Subprograms that generated code calls."""
