"""Names of symbols as the source of C++ and Rust has them."""
