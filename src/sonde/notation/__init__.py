"""What numbers and memory of system calls mean, as strace(1) writes them."""
