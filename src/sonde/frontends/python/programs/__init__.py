"""Whole programs: read as they were captured, their mistakes told."""
