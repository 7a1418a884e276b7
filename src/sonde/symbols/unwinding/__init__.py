"""Tables by which programs walk user stacks."""
