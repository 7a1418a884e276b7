"""Programs made ready to run, and what one type of program calls another by."""
