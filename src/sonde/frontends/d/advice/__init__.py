"""What helps with a mistake: where it stands, and a change of the program that was tried and compiles.

Nothing here is imported before a program has failed to compile.
"""
