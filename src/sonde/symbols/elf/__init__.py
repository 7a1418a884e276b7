"""Files of programs and libraries: what they hold, and what other files go with them."""
