"""The BPF helpers in Python, one file a subject, each with the kernel's results."""
