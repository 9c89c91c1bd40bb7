//! strace logs: one line per syscall, `name(arguments) = result`.
//!
//! Before the name there may be the process (`1234`, `1234<comm>`, `[pid 1234]`), a time, a time difference (`-t -r`),
//! and brackets (`-n`, `-i`). A syscall during which another process logs one has two lines, which are matched by the
//! process:
//!
//! ```text
//! 12 wait4(-1,  <unfinished ...>
//! 13 exit_group(0)     = ?
//! 12 <... wait4 resumed>NULL, 0, NULL) = 13
//! ```
//!
//! A syscall is counted when it starts, so one that never returns is counted too. Lines about signals and exits of
//! processes, stack frames (`-k`) and notices of strace are skipped; the number of other lines that are not syscalls is
//! reported. Memory is bounded by the number of processes, of which a kernel has at most 4,194,304, and by the limits
//! of [`UnfinishedSyscalls`](unfinished::UnfinishedSyscalls).
//!
//! Lines are parsed one by one ([`ParsedLine`]), in any order and in any thread. [`StraceLog`] takes the parsed lines in
//! their order: what a line means may depend on the lines before.
//!
//! Sources: strace(1), and the output of strace 6.1.

mod args;
mod calls;
mod line;
mod log;
mod names;
mod processes;
mod unfinished;

pub(crate) use args::{split_args, value_of_number, without_note};
pub(crate) use calls::{LogLine, LoggedSyscall, SyscallLog};
pub(crate) use line::ParsedLine;
pub(crate) use log::StraceLog;
