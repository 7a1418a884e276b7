"""D programs as users give them: read, preprocessed, compiled in their order, and their mistakes in words."""
