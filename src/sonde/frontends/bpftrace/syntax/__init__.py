"""Text to the syntax tree."""
