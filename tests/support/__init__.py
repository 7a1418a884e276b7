"""Everything that tests share: programs, oracles, generators of inputs, and the running of commands."""
