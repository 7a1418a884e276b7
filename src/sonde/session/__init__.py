"""Tracing as a whole: the engine, the processes, the probes, and one session of them all."""
