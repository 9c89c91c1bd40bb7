//! Policies of minijail, the sandbox of ChromeOS and Android, and their reader.
//!
//! A policy has a statement per line: `name: filter`, or `{a, b}: filter` for several syscalls.
//!
//! ```text
//! @include ./common.policy
//! @frequency ./common.frequency
//! @default trap
//! read: 1
//! {mmap, mprotect}: arg2 in ~PROT_EXEC || arg2 in ~PROT_WRITE
//! ioctl[arch=x86_64]: {arg1 == TIOCGWINSZ, arg1 == 0x5401 && arg0 <= 2; return ENOTTY, kill}
//! ```
//!
//! The language and its meaning are those of minijail's compiler in Python (`tools/parser.py`, `tools/compiler.py`,
//! `tools/bpf.py`), which accepts more than the parser in C (`syscall_filter.c`). [`ReadOptions::semantics`] chooses the latter,
//! with what it refuses; without a choice, a warning says where the two give different meanings:
//!
//! - A filter is one of `allow` (or `1`), `kill`, `kill-process`, `kill-thread`, `trap`, `trace`, `log`, `user-notify`,
//!   `return ERRNO`; or conditions, with such an action after `;` (otherwise `allow`); or several of both in braces.
//! - Conditions are `argN OP value`, joined by `&&`, then by `||`. The operators compare unsigned: `== != < <= > >=`; `&`: a
//!   bit of the value is set; `in`: no other bits are set. On 32-bit architectures they compare 32 bits.
//! - Values are numbers as in C, [constants](callgate_bpf::constants) and `(…)`, with `~` before them and `|` between them.
//! - The filters of a syscall are tested in the order of the text, also those of several statements. What matches none gets
//!   the action of `@default`, otherwise `kill`, which is KILL_THREAD. Nothing may follow an action without a condition.
//! - If the last action of a syscall is `allow`, the compiler ignores the conditions before it. This is a warning.
//! - With `@denylist`, which every file must then have, `kill` is `return EPERM`, syscalls without a statement are
//!   allowed, and every action must be `return`. The compiler needs the option `--denylist` for such a policy.
//! - Syscalls of other architectures get `kill`, numbers of x32 the same as other numbers without a statement.
//! - `@frequency` names a file of lines `name: count`. They do not affect the meaning.
//!
//! The architectures are x86, x86-64, arm, arm64, riscv64 and loongarch64. Groups of syscalls (`name@group`) come from a
//! file that minijail does not have, so they are errors.
//!
//! Limits: 10 MiB of text with all included files, 1,000 inclusions, 8 of them inside each other as in minijail,
//! 1,000,000 words and signs per statement, 150,000 comparisons (counted for each syscall), 100 levels of parentheses.

mod c_parser;
mod language;
mod lexer;
mod operands;
mod parse;
mod read;
mod semantics;
mod statements;
mod write;

pub use crate::included::{Included, Includes};
pub use language::{LANGUAGE, is_policy};
pub use read::{read, read_with_includes};
pub use semantics::Semantics;
pub use statements::{Frequency, MinijailPolicy, ReadOptions};
