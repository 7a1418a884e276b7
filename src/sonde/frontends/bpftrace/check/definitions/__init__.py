"""C definitions of a program: their text preprocessed, parsed and laid out."""
