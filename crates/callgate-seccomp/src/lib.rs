//! A C library with the interface of libseccomp 2.6.1 that compiles filters with Callgate.
//!
//! Programs that link `libseccomp.so.2` run with this library unchanged, and programs that include `seccomp.h` compile
//! with the header in `include/`.

pub mod names;
