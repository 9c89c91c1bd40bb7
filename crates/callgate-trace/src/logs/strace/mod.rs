//! Logs of strace: one line for each call, `name(arguments) = result`.
//!
//! In front of the name there may be the process (`1234`, `1234<comm>`, `[pid 1234]`), a time, how much later
//! that is (`-t -r`), and brackets (`-n`, `-i`). A call during which another process is logged has two lines, which belong
//! together by the process:
//!
//! ```text
//! 12 wait4(-1,  <unfinished ...>
//! 13 exit_group(0)     = ?
//! 12 <... wait4 resumed>NULL, 0, NULL) = 13
//! ```
//!
//! A call counts when it starts, so one that never ends counts too. Lines about signals and the end of
//! processes, stack frames (`-k`) and strace's own notices are skipped; how many others there were is
//! said. Memory is bounded by the number of processes, of which no kernel has more than 4,194,304, and by
//! [`MAX_UNFINISHED`] and [`MAX_KEPT`].
//!
//! Sources: strace(1), and the output of strace 6.1.

mod args;
mod line;
mod log;
mod names;
mod processes;

pub(crate) use log::Log;
