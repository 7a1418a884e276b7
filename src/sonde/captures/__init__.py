"""The packets that programs capture, as a pcapng file."""
