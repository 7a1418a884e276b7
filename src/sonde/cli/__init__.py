"""The command line: what sonde(1) and dtrace(1) accept, and what they say about it."""
