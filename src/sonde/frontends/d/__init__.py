"""D: from its text to a syntax tree; the checker, the advice and the reports lie in rooms of their own."""
