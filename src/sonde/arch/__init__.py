"""Facts about processors, a folder each; nothing outside names a processor's register."""
