//! gVisor rules in Go (`pkg/seccomp`), and their reader: lists of the form
//!
//! ```go
//! var allowed = seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{
//!     unix.SYS_READ: seccomp.MatchAll{},
//!     unix.SYS_FUTEX: seccomp.Or{
//!         seccomp.PerArg{seccomp.AnyValue{}, seccomp.EqualTo(linux.FUTEX_WAIT)},
//!         seccomp.PerArg{seccomp.AnyValue{}, seccomp.BitsAllowlist(linux.FUTEX_WAKE | linux.FUTEX_PRIVATE_FLAG)},
//!     },
//! })
//! ```
//!
//! also `seccomp.SyscallRules{…}` of older versions, where `{}` is any call and a list of arguments needs no type, and
//! `seccomp.NewSyscallRules().Add(unix.SYS_READ, …)`. Of several lists in a file, one is chosen by the name of its variable or
//! function.
//!
//! A list is taken to say what is allowed. Everything else gets KILL_PROCESS, which is the default of gVisor's programs
//! (`saneDefaultAction`). A list in a `RuleSet` is read if its action is `seccomp.Allow`; of others, a warning says that the
//! action is not known. Refused are lists named as denying, arguments of `Remove`, empty lists, which are filled elsewhere,
//! and lists whose elements are assigned or deleted. A list is usually one of several that a program merges.
//!
//! Read is what is literal: numbers, constants of `unix`, `linux` and `syscall` that the kernel's headers have, and operators.
//! Constants are exact, as in Go: what overflows or is negative is refused. A value
//! that is computed, such as a parameter of the function, is an error with its line.
//!
//! Sources: `seccomp_rules.go` and `seccomp.go` in `pkg/seccomp` of gVisor. `PerArg` has six arguments and the instruction pointer, and
//! arguments that are missing may have any value. Comparisons are of 64 bits and unsigned. `NonNegativeFD` is a value below
//! 2^31. `MaskedEqual(mask, value)` compares the bits of the mask with the value, `BitsAllowlist(bits)` allows no others.
//!
//! Limits: x86_64 and aarch64; rules nest at most 16 deep; a list has at most 4096 rules, a text at most 10 MiB.

mod cursor;
mod expression;
mod language;
mod lexer;
mod read;
mod rules;
mod surroundings;

#[cfg(test)]
mod tests;

pub use language::LANGUAGE;
pub use read::{ReadOptions, read};
