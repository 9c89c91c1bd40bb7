//! Architectures and their syscalls: numbers, names, the kernel that introduced a syscall, and the names
//! and widths of its arguments.
//!
//! The tables are generated from the kernel's own headers, the man pages and the kernel's trace
//! events by `cargo xtask syscalls`, and committed in `generated/`; the header of each file
//! names the versions of its sources.
//!
//! ```
//! use callgate_bpf::syscalls::{SyscallTable, facts};
//! use callgate_core::Arch;
//!
//! assert_eq!(Arch::X86_64.number("execve"), Some(59));
//! assert_eq!(Arch::X32.number("execve"), Some(0x4000_0208));
//! assert_eq!(Arch::Aarch64.syscall_name(221), Some("execve"));
//! assert_eq!(Arch::X86.multiplexed("accept"), Some(("socketcall", 5)));
//!
//! let openat2 = facts("openat2").ok_or("no such syscall")?;
//! assert!(openat2.introduced > "5.5".parse().ok());
//! let first = openat2.args.get(0).ok_or("no argument")?;
//! assert_eq!((first.name, first.ctype, first.bits), ("dfd", "int", 32));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod facts;
mod generated;
mod of_arch;
mod siblings;
mod table;

pub use facts::{ArgFacts, Args, KernelVersion, KernelVersionError, SyscallFacts};
pub use of_arch::{Argument, ArgumentError, SyscallTable, list_syscalls};
pub use siblings::{instead, siblings};
pub use table::KnownSyscall;
pub use table::{facts, is_known_name, known_name, known_names, name_in_constant, nearest_name};
