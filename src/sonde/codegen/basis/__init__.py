"""What the files that generate a program's parts stand on."""
