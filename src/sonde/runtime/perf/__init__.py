"""The perf side of the embedded engine: events and their rings, raw records, packets, and probes of any kind."""
