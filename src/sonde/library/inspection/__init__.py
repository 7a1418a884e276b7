"""What can be told without tracing: probes, variables, types, and what can be done here."""
