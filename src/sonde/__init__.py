"""sonde: DTrace for Linux. D programs compiled to eBPF and run in the live kernel."""

__version__ = "0.1.0"
