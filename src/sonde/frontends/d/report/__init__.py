"""What dtrace(1) prints, byte for byte."""
