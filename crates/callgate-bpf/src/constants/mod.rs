//! Constants of the kernel's interface by name, and the names of argument values.
//!
//! [`value`] returns the value of a constant such as `AF_ALG` on an architecture, [`Family::of`] the constants that
//! an argument of a syscall takes. A [`Family`] names a value: `AF_ALG`, or `PROT_READ|PROT_WRITE`.
//!
//! The table is generated from the kernel's headers by `cargo xtask constants`. It is text that is searched in place,
//! so it costs nothing at the start of a program. The families are collected by hand from the man pages of the
//! syscalls.
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_bpf::constants::{Family, value};
//!
//! assert_eq!(value(Arch::X86_64, "AF_ALG"), Some(38));
//! assert_eq!(value(Arch::X86_64, "TIOCSTI"), Some(0x5412));
//! assert_eq!(value(Arch::Mips, "TIOCSTI"), Some(0x5472));
//!
//! let prot = Family::of(Arch::X86_64, "mmap", 2).ok_or("no constants")?;
//! assert_eq!(prot.name(Arch::X86_64, 6), Some("PROT_WRITE|PROT_EXEC".to_owned()));
//! # Ok::<(), &str>(())
//! ```

mod families;
mod family;
mod table;

pub use family::{ConstantUse, Family, uses};
pub use table::{is_name, names, nearest_name, value, value_of_bit_or};
