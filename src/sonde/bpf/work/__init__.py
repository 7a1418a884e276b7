"""How many steps a firing of a program takes at most."""
