"""Clauses: their statements in order, loops, and firings that go on later."""
