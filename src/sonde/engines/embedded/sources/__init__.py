"""What fires programs: stops of traced threads, and timers."""
