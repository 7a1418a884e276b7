"""Files of perf's format that a session writes beside its text, and their way back to text."""
