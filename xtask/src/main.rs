//! Generators and comparisons for development: `cargo xtask help`.

fn main() {}
