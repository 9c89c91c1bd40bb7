//! Architectures and their system calls: numbers, names, the kernel that introduced a call, and
//! what its arguments are called and how wide they are.

mod arch;

pub use arch::{Arch, X32_SYSCALL_BIT};
