"""Languages, each from its text to a checked program and to the layout of its reports."""
