"""The functions of D, by subject."""
