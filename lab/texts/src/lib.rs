//! The C library of `callgate-seccomp` with one function more, which exports the rules of a context as a policy text.
//! `cargo lab libseccomp-suite --verify` links the programs of the suite with it.

pub mod export;
