"""Expressions of D: values, strings, places, and the variables that keep them."""
