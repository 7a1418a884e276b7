"""Static probes (USDT) of all processes, while a session lasts: found, attached to, and told of."""
