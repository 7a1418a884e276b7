"""Whole programs: their texts read, their mistakes told."""
