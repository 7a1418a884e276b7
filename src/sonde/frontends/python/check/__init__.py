"""What Python means where D means something else: expressions that are checked by these rules."""
