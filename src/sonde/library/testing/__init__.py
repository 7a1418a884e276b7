"""Scripts as tests: files of cases, each a script, what it is run over, and what must come of it."""
