"""Values that all floors share: pure, printable, comparable; nothing here reads or writes."""
