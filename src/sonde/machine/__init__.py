"""Facts about this computer, as the kernel tells them."""
