"""How each kind of firing becomes a probe's arguments, and which probes share a program."""
