"""From the syntax tree of a D program to a checked one; `checker.check` is the way in."""
