//! A C library with the interface of libseccomp 2.6.1 that compiles filters with Callgate.
//!
//! Programs that link `libseccomp.so.2` run with this library unchanged, and programs that include `seccomp.h` compile
//! with the header in `include/`.
//!
//! | module | what it does |
//! |---|---|
//! | `abi` | the functions, and the only `unsafe` code besides `kernel` |
//! | `context` | rules, attributes and transactions of a filter context; its program |
//! | `kernel` | what the kernel supports; loading of filters; notifications |
//! | `names` | numbers and names of syscalls, with libseccomp's pseudo numbers |
//! | `pfc` | the readable form of `seccomp_export_pfc(3)` |
//!
//! The rules of a context are a `RuleSet` of `callgate-formats`, like those of container profiles: one implementation of
//! libseccomp's rule combination serves both. Each program is proved equal to its rules before it is exported or loaded.
//!
//! Sources: seccomp_init(3) and the other man pages of libseccomp 2.6.1, and observation of that library.

pub mod abi;
mod arch;
mod context;
mod error;
mod kernel;
pub mod names;
mod pfc;
