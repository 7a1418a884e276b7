"""Functions of Python to the syntax tree that D's checker takes."""
