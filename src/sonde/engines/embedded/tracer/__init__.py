"""What ptrace(2) and seccomp(2) do: threads followed by a guardian, which outlives sonde."""
